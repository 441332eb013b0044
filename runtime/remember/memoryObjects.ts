// For objects of others: in Memory objects, as a watch shows them.
import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../base/json";
import { KeyedMutex } from "../base/limits";
import {
  allIdentitiesOf,
  fieldManagerOf,
  identityOf,
  memoryPrefixOf,
  OPERATOR_LABEL,
  type OperatorNames,
  OWNER_RANGE_LABEL,
  ownerRangeOf,
} from "../base/names";
import {
  formatName,
  type JsonObject,
  type KubernetesObject,
  type Manifest,
  type ObjectName,
  timeOf,
} from "../base/objects";
import type { Resource } from "../base/resource";
import { MUST_NOT_EXIST } from "../kubernetes/applyManifest";
import type { KubernetesClient, ObjectReader } from "../kubernetes/client";
import { type ApiError, Conflicts, isApiError } from "../kubernetes/errors";
import type { Emit } from "../observe/news";
import type { ReflectorSink } from "../observe/reflector";
import { type Change, Store } from "../observe/store";
import {
  conditionsOf,
  digestIn,
  type StatusChange,
  type StatusVerdict,
  saidElsewhere,
  withDigest,
} from "./composeStatus";
import { type Memories, type Memory, memoryIn, NOTHING } from "./memory";
import { conditionsOfObject, isWithin, memoryResourceOf, memoryStatus, nameIn, uidIn } from "./memoryKind";

/** What {@link MemoryObjects} work with, and who is called. */
export interface MemoryObjectsOptions {
  readonly client: ObjectReader;
  readonly operator: OperatorNames;
  /** The kind of the objects that are remembered. */
  readonly resource: Resource;
  /** The namespace of the Memory objects: the platform's, in which tenants have no rights. */
  readonly namespace: string;
  /** Whether the object with that uid exists, as far as we know. @default all do */
  readonly isThere?: (uid: string) => boolean;
  /** Throws if the Memory objects are not all known. A Memory that is not known must not count as missing. @default they are */
  readonly assertKnown?: () => void;
  /** @default nothing is reported */
  readonly emit?: Emit;
}

interface Facts {
  /** The object that the Memory is about. */
  readonly about: ObjectName & { readonly uid: string };
  /** The generation that was ready at the last verdict. Undefined: the object was not ready. */
  readonly readyGeneration: number | undefined;
}

/**
 * The memories of objects that we do not own, which have no room for them. Each memory is an object of the kind Memory, named by
 * the operator's identity and the object's uid. It has the last verdict as well. A watch shows them.
 *
 * Guarantees, each with a test in tests/unit/memoryObjects.test.ts:
 * - Nothing is written that exists already.
 * - Writes about one object follow one another, each onto the result of the one before. If a former leader's write comes late, it
 *   is refused.
 * - If the answer to a write is lost, no caller gets the memory from before: it is read first.
 * - A verdict never lowers the generation that it is about, and never brings back the Memory of an object that is gone.
 *
 * Assumption: only we write them. Any client that may write in the operators' namespace may make us forget an object, or remember
 * one that never existed.
 */
export class MemoryObjects implements Memories {
  private readonly mutex = new KeyedMutex();
  private readonly kind: Resource;
  private readonly store: Store<Facts>;
  /** The uids of the remembered objects that have, or had, a name. */
  private readonly uidsByName = new Map<string, ReadonlySet<string>>();
  /** The uids of the objects whose Memory may have been written unseen, each with a token of its latest invalidation. */
  private readonly outdated = new Map<string, symbol>();

  constructor(private readonly options: MemoryObjectsOptions) {
    const { client, operator } = options;
    this.kind = memoryResourceOf(operator);
    this.store = new Store<Facts>({
      client,
      factsOf: (memory) => this.factsOf(memory),
      onChange: (change) => this.changed(change),
    });
  }

  async of({ metadata: { uid } }: KubernetesObject): Promise<Memory> {
    return this.ofUid(uid);
  }

  /** The memory of the object with that uid. */
  async ofUid(uid: string): Promise<Memory> {
    const [memory] = await this.read(uid);
    return memory ? memoryIn(memory["memory"]) : NOTHING;
  }

  /** The Memory objects about the object with that uid: the operator's own first, then those of its former names. */
  async read(uid: string): Promise<readonly KubernetesObject[]> {
    this.options.assertKnown?.();
    if (this.outdated.has(uid)) await this.readOwn(uid);
    const read = await Promise.all(this.known(uid).map((known) => this.store.read(known)));
    return read.filter((memory) => memory !== undefined);
  }

  /** The uids of all remembered objects that have, or had, this name. */
  async uidsOf(name: ObjectName): Promise<readonly string[]> {
    this.options.assertKnown?.();
    return [...(this.uidsByName.get(formatName(name)) ?? [])];
  }

  /** The names of all objects that are remembered. */
  names(): ObjectName[] {
    return [...this.store.values()].map(({ facts }) => facts.about);
  }

  /** Whether the last verdict about the object was that this generation of it is ready. */
  isReady({ metadata: { uid, generation = 1 } }: KubernetesObject): boolean {
    return this.known(uid)[0]?.facts.readyGeneration === generation;
  }

  /** The operator's own Memory about the object with that uid may have been written unseen: it is read when it is needed. */
  invalidate(uid: string): void {
    this.outdated.set(uid, Symbol());
  }

  /** What is stored about the objects that have, or had, this name may be outdated: it is read again when it is needed. */
  invalidateAllOf(name: ObjectName): void {
    for (const uid of this.uidsByName.get(formatName(name)) ?? []) this.invalidate(uid);
  }

  /** Every stored Memory is outdated: it is read again when it is needed. */
  invalidateAll(): void {
    this.store.invalidateAll();
  }

  /** Stores what a reflector sees. */
  sink(namespace: string | undefined): ReflectorSink {
    return this.store.sink(this.kind, namespace);
  }

  /**
   * Writes the memory of an object, if that changes anything.
   * @returns undefined: the object itself is never written
   * @throws ApiError 409 if another client has changed the memory since it was last known: the newest one is known from then on
   */
  write(
    client: KubernetesClient,
    object: ObjectName & { readonly uid: string },
    { memory, verdict, asked }: StatusChange,
    along?: StatusVerdict,
  ): Promise<undefined> {
    return this.mutex.runAlone(object.uid, async () => {
      const { operator, isThere = () => true } = this.options;
      const conflicts = new Conflicts();
      // The object with the Memory's name, if it is not known as a Memory: another client has written something else there.
      let found: KubernetesObject | undefined;
      for (;;) {
        const there = await this.read(object.uid);
        const [newest] = there;
        if (!memory && verdict?.isOver?.()) return undefined;
        // If the object is gone, a Memory that is written now would never be deleted.
        if (!newest && !isThere(object.uid)) return undefined;
        const known = isRecord(newest?.["memory"]) ? (newest["memory"] as JsonObject) : {};
        const { state } = known;
        // One that another client has removed is written back.
        if (asked && state !== undefined && !isDeepStrictEqual(state, asked.state)) throw saidElsewhere();
        const digest = digestIn(known);
        const wanted = this.compose(object, newest, withDigest(memory ?? known, digest), verdict);
        if (!newest || !isWithin(wanted, newest)) {
          const own = there.find((each) => uidIn(each, operator) !== undefined) ?? found;
          const said = verdict ?? along;
          const kept = withDigest(memory ?? known, said ? said.digest : digest);
          const composed = this.compose(object, newest, kept, said);
          const refusal = await this.apply(client, object.uid, composed, own);
          if (refusal) {
            found = await this.look(client, composed.metadata);
            const [latest] = await this.read(object.uid);
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

  /** Deletes the memory of an object. */
  forget(client: KubernetesClient, uid: string): Promise<void> {
    return this.mutex.runAlone(uid, async () => {
      for (const memory of await this.read(uid)) await this.delete(client, memory);
    });
  }

  /** We wrote a Memory, or have read it. */
  protected learn(memory: KubernetesObject): void {
    this.store.set(this.kind, memory, "handled");
  }

  /** Reads the Memory with that name. */
  protected async look(client: ObjectReader, name: ObjectName): Promise<KubernetesObject | undefined> {
    const known = this.store.find(this.kind, name);
    const now = await client.get(this.kind, name);
    if (now) this.learn(now);
    // A watch may have brought another one while it was read.
    else if (known) this.store.remove(known, "handled");
    return now;
  }

  /** The names that Memory objects about the object with that uid have: see {@link read}. */
  protected memoryNames(uid: string): ObjectName[] {
    const { operator, namespace } = this.options;
    return allIdentitiesOf(operator).map((each) => ({ namespace, name: `${memoryPrefixOf(each)}${uid}` }));
  }

  private known(uid: string) {
    return this.memoryNames(uid).flatMap((name) => this.store.find(this.kind, name) ?? []);
  }

  /** Reads the operator's own Memory about an object, whether one is known or not. */
  private async readOwn(uid: string): Promise<void> {
    const token = this.outdated.get(uid);
    const [own] = this.memoryNames(uid);
    if (own) await this.look(this.options.client, own);
    // It may have been written unseen while it was read.
    if (this.outdated.get(uid) === token) this.outdated.delete(uid);
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
    const { resourceVersion } = own?.metadata ?? MUST_NOT_EXIST;
    const options = { fieldManager: fieldManagerOf(this.options.operator), force: true };
    const conditional = { ...memory, metadata: { ...memory.metadata, resourceVersion } };
    try {
      this.learn((await client.apply(this.kind, conditional, options)).object);
      return undefined;
    } catch (error) {
      if (isApiError(error, 409)) return error;
      // It may have been written.
      this.invalidate(uid);
      throw error;
    }
  }

  /** @throws ApiError 409 if a webhook refuses the deletion by a conflict: the Memory still exists, and stays known */
  private async delete(client: KubernetesClient, { metadata }: KubernetesObject): Promise<void> {
    const { uid } = metadata;
    let { resourceVersion } = metadata;
    const conflicts = new Conflicts();
    for (;;) {
      try {
        await client.deleteVersion(this.kind, metadata, { uid, resourceVersion });
        const known = this.store.find(this.kind, metadata);
        if (known?.uid === uid) this.store.remove(known, "handled");
        return;
      } catch (error) {
        if (!isApiError(error, 409)) throw error;
        const now = await this.look(client, metadata);
        if (now?.metadata.uid !== uid) return;
        conflicts.met(error, resourceVersion, now.metadata.resourceVersion);
        ({ resourceVersion } = now.metadata);
      }
    }
  }

  private compose(
    { uid, namespace, name }: ObjectName & { readonly uid: string },
    newest: KubernetesObject | undefined,
    memory: JsonObject,
    verdict: StatusVerdict | undefined,
  ): Manifest {
    const { operator, resource, namespace: home } = this.options;
    const { apiVersion, kind } = resource;
    let conditions = conditionsOfObject(newest);
    if (verdict && (conditions[0]?.observedGeneration ?? 0) <= verdict.generation)
      conditions = conditionsOf(
        verdict.verdict,
        conditions,
        verdict.generation,
        timeOf(new Date()),
        verdict.run,
      );
    return {
      apiVersion: this.kind.apiVersion,
      kind: this.kind.kind,
      metadata: {
        name: `${memoryPrefixOf(operator)}${uid}`,
        namespace: home,
        labels: { [OPERATOR_LABEL]: identityOf(operator), [OWNER_RANGE_LABEL]: ownerRangeOf(uid) },
      },
      object: { apiVersion, kind, ...(namespace !== undefined && { namespace }), name, uid },
      memory,
      ...(conditions.length > 0 && { status: memoryStatus(conditions) }),
    };
  }

  private factsOf(memory: KubernetesObject): Facts | undefined {
    const { operator, resource } = this.options;
    const name = nameIn(memory, resource);
    const [uid] = allIdentitiesOf(operator).flatMap((identity) => uidIn(memory, identity) ?? []);
    if (uid === undefined || !name) return undefined;
    const ready = conditionsOfObject(memory).find(
      ({ type, status }) => type === "Ready" && status === "True",
    );
    return { about: { ...name, uid }, readyGeneration: ready?.observedGeneration };
  }

  private changed({ source, before, after }: Change<Facts>): void {
    for (const { facts } of [before, after].flatMap((each) => each ?? [])) {
      const key = formatName(facts.about);
      const isKnown = this.known(facts.about.uid).some(({ facts: { about } }) => formatName(about) === key);
      const others = [...(this.uidsByName.get(key) ?? [])].filter((uid) => uid !== facts.about.uid);
      const uids = isKnown ? [...others, facts.about.uid] : others;
      if (uids.length > 0) this.uidsByName.set(key, new Set(uids));
      else this.uidsByName.delete(key);
    }
    if (source === "handled" || source === "initial" || (before && after)) return;
    const known = after ?? before;
    if (!known) return;
    this.options.emit?.({ kind: after ? "memory created" : "memory gone", name: known.facts.about });
  }
}
