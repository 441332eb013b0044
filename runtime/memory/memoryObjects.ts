import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../json/json";
import { MUST_NOT_EXIST } from "../kubernetes/applyManifest";
import type { KubernetesClient } from "../kubernetes/client";
import { Conflicts } from "../kubernetes/conflicts";
import { type ApiError, isApiError } from "../kubernetes/errors";
import {
  type JsonObject,
  type KubernetesObject,
  type Manifest,
  type ObjectName,
  timeOf,
} from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { KeyedMutex } from "../limits/keyedMutex";
import { fieldManagerOf, identityOf, memoryPrefixOf, OPERATOR_LABEL, type OperatorIdentity } from "../names";
import type { StatusChange, StatusVerdict } from "../status/composeStatus";
import { conditionsOf } from "../status/conditions";
import type { Memories } from "./memories";
import { type Memory, memoryIn, NOTHING } from "./memory";
import { conditionsOfObject, memoryResourceOf, memoryStatus, uidIn } from "./memoryKind";

/** The Memory objects of operators, as far as one of them knows them. */
export interface KnownMemoryObjects {
  /** The Memory objects about the object with that uid: the operator's own first, then those of its former names. */
  read(uid: string): Promise<readonly KubernetesObject[]>;
  /** The uids of all remembered objects that have, or had, this name. */
  uidsOf(name: ObjectName): Promise<readonly string[]>;
  /** We wrote a Memory object. */
  learn(memory: KubernetesObject): void;
  /** We deleted a Memory object. */
  drop(memory: KubernetesObject): void;
  /** The operator's own Memory about the object with that uid may have been written unseen: it is read when it is needed. */
  invalidate(uid: string): void;
}

/** What {@link MemoryObjects} work with. */
export interface MemoryObjectsOptions {
  readonly operator: OperatorIdentity;
  /** The kind of the objects that are remembered. */
  readonly resource: Resource;
  /** The namespace of the Memory objects: the platform's, in which tenants have no rights. */
  readonly namespace: string;
  readonly known: KnownMemoryObjects;
  /** Whether the object with that uid exists, as far as we know. */
  readonly isThere: (uid: string) => boolean;
}

/**
 * The memories of objects that we do not own, which have no room for them. Each memory is an object of the kind Memory, named by
 * the operator's identity and the object's uid. It has the last verdict as well.
 *
 * Guarantees, each with a test in tests/unit/memoryObjects.test.ts:
 * - Nothing is written that exists already.
 * - Writes about one object follow one another, each onto the result of the one before. If a former leader's write comes late, it
 *   is refused.
 * - If the answer to a write is lost, nobody gets the memory from before: it is read first.
 * - A verdict never lowers the generation that it is about, and never brings back the Memory of an object that is gone.
 */
export class MemoryObjects implements Memories {
  private readonly mutex = new KeyedMutex();
  private readonly kind: Resource;

  constructor(private readonly options: MemoryObjectsOptions) {
    this.kind = memoryResourceOf(options.operator);
  }

  async of({ metadata: { uid } }: KubernetesObject): Promise<Memory> {
    return this.ofUid(uid);
  }

  /** The memory of the object with that uid. */
  async ofUid(uid: string): Promise<Memory> {
    const [memory] = await this.options.known.read(uid);
    return memory ? memoryIn(memory["memory"]) : NOTHING;
  }

  /** The uids of all remembered objects that have, or had, this name. */
  uidsOf(name: ObjectName): Promise<readonly string[]> {
    return this.options.known.uidsOf(name);
  }

  /**
   * Writes the memory of an object, if that changes anything.
   * @returns undefined: the object itself is never written
   * @throws ApiError 409 if somebody else has changed the memory since it was last known: the newest one is known from then on
   */
  write(
    client: KubernetesClient,
    object: ObjectName & { readonly uid: string },
    { memory, verdict }: StatusChange,
    along: StatusChange = {},
  ): Promise<undefined> {
    return this.mutex.run(object.uid, async () => {
      const { known, operator, isThere } = this.options;
      const conflicts = new Conflicts();
      // What has the name of the Memory, if that is not known as a Memory: somebody has written something else there.
      let found: KubernetesObject | undefined;
      for (;;) {
        const there = await known.read(object.uid);
        const [newest] = there;
        // If the object is gone, nobody would delete a Memory that is written now.
        if (!newest && !isThere(object.uid)) return undefined;
        const wanted = this.compose(object, newest, memory, verdict);
        if (!newest || !isWithin(wanted, newest)) {
          const own = there.find((each) => uidIn(each, operator) !== undefined) ?? found;
          const composed = this.compose(object, newest, memory, verdict ?? along.verdict);
          const refusal = await this.apply(client, object.uid, composed, own);
          if (refusal) {
            found = await this.look(client, composed, own);
            const [latest] = await known.read(object.uid);
            // The memory has changed since this run read it.
            if (memory && latest && !isDeepStrictEqual(latest["memory"], newest?.["memory"])) throw refusal;
            conflicts.met(refusal, own?.metadata.resourceVersion, found?.metadata.resourceVersion);
            continue;
          }
        }
        const former = there.filter((each) => uidIn(each, operator) === undefined);
        for (const each of former) await this.delete(client, each);
        return undefined;
      }
    });
  }

  /**
   * Writes a Memory onto the one that is known, and onto no other. So a write of a former leader that comes late is refused, and
   * does not bring back what the handler remembered before.
   * @returns the API server's refusal if there is another one
   */
  private async apply(
    client: KubernetesClient,
    uid: string,
    memory: Manifest,
    own: KubernetesObject | undefined,
  ): Promise<ApiError | undefined> {
    const { operator, known } = this.options;
    const { resourceVersion } = own?.metadata ?? MUST_NOT_EXIST;
    const options = { fieldManager: fieldManagerOf(operator), force: true };
    const conditional = { ...memory, metadata: { ...memory.metadata, resourceVersion } };
    try {
      known.learn((await client.apply(this.kind, conditional, options)).object);
      return undefined;
    } catch (error) {
      if (isApiError(error, 409)) return error;
      // It may have been written all the same.
      known.invalidate(uid);
      throw error;
    }
  }

  /** Reads the Memory with that name. */
  private async look(
    client: KubernetesClient,
    { metadata }: Manifest,
    own: KubernetesObject | undefined,
  ): Promise<KubernetesObject | undefined> {
    const { known } = this.options;
    const now = await client.get(this.kind, metadata);
    if (now) known.learn(now);
    else if (own) known.drop(own);
    return now;
  }

  /** Deletes the memory of an object. */
  forget(client: KubernetesClient, uid: string): Promise<void> {
    return this.mutex.run(uid, async () => {
      for (const memory of await this.options.known.read(uid)) await this.delete(client, memory);
    });
  }

  /** @throws ApiError 409 if a webhook refuses the deletion by a conflict: the Memory is still there, and stays known */
  private async delete(client: KubernetesClient, memory: KubernetesObject): Promise<void> {
    const { uid } = memory.metadata;
    let { resourceVersion } = memory.metadata;
    const conflicts = new Conflicts();
    for (;;) {
      try {
        await client.deleteVersion(this.kind, memory.metadata, { uid, resourceVersion });
        return this.options.known.drop(memory);
      } catch (error) {
        if (!isApiError(error, 409)) throw error;
        const now = await this.look(client, memory, memory);
        if (now?.metadata.uid !== uid) return;
        conflicts.met(error, resourceVersion, now.metadata.resourceVersion);
        ({ resourceVersion } = now.metadata);
      }
    }
  }

  private compose(
    { uid, namespace, name }: ObjectName & { readonly uid: string },
    newest: KubernetesObject | undefined,
    memory: JsonObject | undefined,
    verdict: StatusVerdict | undefined,
  ): Manifest {
    const { operator, resource, namespace: home } = this.options;
    const { apiVersion, kind } = resource;
    const conditions = this.conditions(newest, verdict);
    return {
      apiVersion: this.kind.apiVersion,
      kind: this.kind.kind,
      metadata: {
        name: `${memoryPrefixOf(operator)}${uid}`,
        namespace: home,
        labels: { [OPERATOR_LABEL]: identityOf(operator) },
      },
      object: { apiVersion, kind, ...(namespace !== undefined && { namespace }), name, uid },
      memory: memory ?? (isRecord(newest?.["memory"]) ? newest["memory"] : {}),
      ...(conditions.length > 0 && { status: memoryStatus(conditions) }),
    };
  }

  private conditions(newest: KubernetesObject | undefined, verdict: StatusVerdict | undefined) {
    const previous = conditionsOfObject(newest);
    const [first] = previous;
    if (!verdict || (first?.observedGeneration ?? 0) > verdict.generation) return previous;
    return conditionsOf(verdict.verdict, previous, verdict.generation, timeOf(new Date()), verdict.run);
  }
}

/** Whether everything that must be written exists. Others may have added labels and annotations of their own. */
function isWithin({ metadata, ...content }: Manifest, there: KubernetesObject): boolean {
  const isLabelled = Object.entries(metadata.labels ?? {}).every(
    ([label, value]) => there.metadata.labels?.[label] === value,
  );
  const { metadata: _, ...known } = there;
  return metadata.name === there.metadata.name && isLabelled && isDeepStrictEqual(content, known);
}
