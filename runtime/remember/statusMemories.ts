// Where it is kept: for objects of our own in `status.argosy`.
import { isDeepStrictEqual } from "node:util";
import { ReconcileFailure } from "../base/failure";
import { KeyedMutex } from "../base/limits";
import {
  conditionsIn,
  type JsonObject,
  type KubernetesObject,
  type Manifest,
  type ObjectName,
} from "../base/objects";
import type { Resource } from "../base/resource";
import { applyManifest } from "../kubernetes/applyManifest";
import type { KubernetesClient } from "../kubernetes/client";
import {
  ApiError,
  Conflicts,
  denialIn,
  isApiError,
  isBusy,
  isMisfit,
  isNamespaceMissing,
  isRace,
  isTooLarge,
} from "../kubernetes/errors";
import type { CustomResources } from "../observe/customResources";
import {
  clearingOf,
  composeStatus,
  isSaidElsewhere,
  type Status,
  type StatusChange,
  type StatusVerdict,
  saidElsewhere,
} from "./composeStatus";
import { type Memories, type Memory, memoryIn, memoryOf, writtenMemory } from "./memory";

/** Custom resources of our own, as they are known. */
type RememberedObjects = Pick<CustomResources, "read" | "learn" | "invalidate"> & {
  readonly lastMemoryOf?: CustomResources["lastMemoryOf"];
};

/**
 * The memories of custom resources of our own, in their status. A reconcile writes fields and memory, the `Teller` writes
 * verdicts.
 *
 * Guarantee (tests/unit/statusMemories.test.ts): the writes to one object follow one another, each onto the result of the one before.
 * So a verdict never brings back a field that a reconcile has just changed.
 */
export class StatusMemories implements Memories {
  private readonly mutex = new KeyedMutex();
  /** The verdicts that went along, by the objects as they were written: a report of the same verdict has nothing to write. */
  private readonly said = new WeakMap<KubernetesObject, StatusVerdict>();

  constructor(
    private readonly writer: StatusWriter,
    private readonly objects: RememberedObjects,
  ) {}

  async of(object: KubernetesObject): Promise<Memory> {
    const last = writtenMemory(object) ? undefined : this.objects.lastMemoryOf?.(object);
    return last ? memoryIn(last) : memoryOf(object);
  }

  /** @throws ReconcileFailure, ApiError, ApiUnreachableError: see `StatusWriter.write` */
  write(
    client: KubernetesClient,
    { uid, namespace, name: ownName }: ObjectName & { readonly uid: string },
    { memory, ...change }: StatusChange,
    along?: StatusVerdict,
  ): Promise<KubernetesObject | undefined> {
    const name = { namespace, name: ownName };
    return this.mutex.runAlone(uid, async () => {
      const { objects, writer } = this;
      const newest = await objects.read(name);
      if (newest?.metadata.uid !== uid) return undefined;
      if (!memory && isDeepStrictEqual(change, { verdict: this.said.get(newest) })) return newest;
      const about = memory && { memory: { ...memory, uid } };
      const written = await writer.write(client, newest, { ...change, ...about }, along);
      if (written === newest) return newest;
      if (written) objects.learn(written);
      else objects.invalidate(name);
      if (written && along) this.said.set(written, along);
      return written;
    });
  }
}

/** How often a write is tried for an object that other clients write at the same time. */
const MOST_TRIES = 10;

/**
 * Writes statuses by server-side apply: the handler's own fields, the engine's memory, `observedGeneration` and the standard
 * conditions. Fields of other writers survive, and our earlier fields are removed.
 *
 * Guarantees, each with a test in tests/unit/statusWriter.test.ts:
 * - Nothing is written that exists already.
 * - A verdict is written with the generation that was handled, even if there is a newer one. It never lowers
 *   `observedGeneration`, unless that is more than the object's own generation.
 * - A write is for one uid: never for an object that has taken the name since.
 * - An object that others write gets its status: the write is composed again for their result.
 *
 * Assumption: writes to one object follow one another, each with the result of the one before. So few of them meet another
 * version.
 *
 * Caveat: for the status of a custom resource, the API server ignores the uid of an apply (apiextensions-apiserver,
 * pkg/registry/customresource/status_strategy.go), but not the version. So each write names the version that it is for.
 */
export class StatusWriter {
  constructor(
    private readonly options: {
      readonly resource: Resource;
      readonly fieldManager: string;
      /** The schema of the status, as the author gave it. @default any content */
      readonly schema?: JsonObject | undefined;
      /** @default the machine's clock */
      readonly now?: () => Date;
    },
  ) {}

  /**
   * Writes the status if it differs from that of `object`.
   * @param object the newest that is known
   * @param along a verdict that is written only together with the change
   * @returns the object as it is then, whether or not there was anything to write. Undefined if it is gone
   * @throws ReconcileFailure `StatusRefused` if the API server does not accept the status, or drops a part of it
   * @throws ApiError 409 if another client keeps writing the object, or if a former leader's write came after the handler was asked
   */
  async write(
    client: KubernetesClient,
    object: KubernetesObject,
    change: StatusChange,
    along?: StatusVerdict,
  ): Promise<KubernetesObject | undefined> {
    const { resource, fieldManager, schema, now } = this.options;
    let newest: KubernetesObject | undefined;
    let conflicts: Conflicts | undefined;
    let isCleared = false;
    for (;;) {
      const before = newest ?? object;
      const { asked } = change;
      if (asked && isSaidElsewhere(before, asked.object, fieldManager)) throw saidElsewhere();
      const status = composeStatus(before, change, along, {
        fieldManager,
        now: now?.() ?? new Date(),
        schema,
      });
      if (!status) return before;
      try {
        const written = await this.apply(client, before, status);
        const dropped = written ? droppedFrom(status, written) : [];
        if (dropped.length > 0) throw droppedBy(resource, dropped);
        return written;
      } catch (error) {
        const { cause } = error as Error;
        // If a value does not fit the schema, but is not of the status, no status can be applied either.
        if (!isCleared && isMisfit(cause) && /\s\.status\b/.test(cause.message)) {
          const operations = clearingOf(before, fieldManager);
          newest = await client.jsonPatch(resource, before.metadata, operations, { subresource: "status" });
          isCleared = true;
          continue;
        }
        if (!isApiError(error, 409)) throw error;
        newest = await client.get(resource, object.metadata);
        if (newest?.metadata.uid !== object.metadata.uid) return undefined;
        try {
          conflicts ??= new Conflicts(MOST_TRIES);
          conflicts.met(error, before.metadata.resourceVersion, newest.metadata.resourceVersion);
        } catch (standing) {
          throw isRace(standing) ? standing : refusedBy(standing as ApiError);
        }
      }
    }
  }

  private async apply(
    client: KubernetesClient,
    object: KubernetesObject,
    status: Status,
  ): Promise<KubernetesObject | undefined> {
    const { resource, fieldManager } = this.options;
    const { name, namespace, uid, resourceVersion } = object.metadata;
    const manifest: Manifest = {
      apiVersion: resource.apiVersion,
      kind: resource.kind,
      metadata: { name, uid, resourceVersion, ...(namespace && { namespace }) },
      status,
    };
    try {
      const options = { fieldManager, force: true, subresource: "status" };
      return (await applyManifest(client, resource, manifest, options, object)).object;
    } catch (error) {
      // An object may outlive its namespace if a user removed the namespace by force. Nothing can be written on it.
      if (isNamespaceMissing(error, namespace)) return undefined;
      if (isApiError(error, 404)) {
        // There is no such object, or the object has no such subresource.
        const there = await client.get(resource, object.metadata);
        if (there?.metadata.uid === uid) throw noStatusOf(resource);
        return undefined;
      }
      throw isRefusal(error) ? refusedBy(error) : error;
    }
  }
}

/** Whether the status was refused for its content. If a right is missing, the content is not at fault. */
function isRefusal(error: unknown): error is ApiError {
  if (!(error instanceof ApiError) || isBusy(error)) return false;
  const isDenied = error.code === 403 && denialIn(error.message) !== undefined;
  return isDenied || [400, 413, 422, 500].includes(error.code);
}

function refusedBy(cause: ApiError): ReconcileFailure {
  const remedy = isTooLarge(cause)
    ? ". Make the status smaller: an object has room for about 1.5 MB in all"
    : "";
  return statusRefused(`the API server refused the status: ${cause.message}${remedy}`, cause);
}

function statusRefused(message: string, cause?: ApiError): ReconcileFailure {
  return new ReconcileFailure("StatusRefused", message, { cause });
}

const REMEDY =
  "it was changed by hand, or `pulumi up` has not taken it over from another operator: deploy the operator again";

function noStatusOf({ plural, apiVersion }: Resource): ReconcileFailure {
  return statusRefused(
    `the CustomResourceDefinition of ${plural} (${apiVersion}) has no status subresource, so that no status can be written: ${REMEDY}.`,
  );
}

function droppedBy({ plural, apiVersion }: Resource, fields: readonly string[]): ReconcileFailure {
  const names = fields.map((field) => `status.${field}`).join(" and ");
  return statusRefused(
    `the API server dropped ${names}: the CustomResourceDefinition of ${plural} (${apiVersion}) does not define this, or a mutating webhook removes it. If the CustomResourceDefinition is the cause: ${REMEDY}.`,
  );
}

/**
 * The fields of a status that was applied, or of its conditions, that the API server did not store. It may leave out a field that is
 * null.
 */
function droppedFrom(applied: Status, { status }: KubernetesObject): string[] {
  const stored = (status ?? {}) as Status;
  const types = conditionsIn(stored).map(({ type }) => type);
  return Object.keys(applied).filter((field) =>
    field === "conditions"
      ? conditionsIn(applied).some(({ type }) => !types.includes(type))
      : !Object.hasOwn(stored, field) && applied[field] !== null,
  );
}
