import { ReconcileFailure } from "../failure";
import { applyManifest } from "../kubernetes/applyManifest";
import type { KubernetesClient } from "../kubernetes/client";
import { Conflicts, isRace } from "../kubernetes/conflicts";
import {
  ApiError,
  denialIn,
  isApiError,
  isBusy,
  isMisfit,
  isNamespaceMissing,
  isTooLarge,
} from "../kubernetes/errors";
import { conditionsIn, type KubernetesObject, type Manifest } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { clearingOf, composeStatus, type Status, type StatusChange } from "./composeStatus";

/** How often a write is tried for an object that others write meanwhile. */
const MOST_TRIES = 10;

/** What a {@link StatusWriter} needs of a client. */
export type StatusClient = Pick<KubernetesClient, "apply" | "get" | "jsonPatch">;

/** Where a {@link StatusWriter} writes. */
export interface StatusWriterOptions {
  readonly resource: Resource;
  readonly fieldManager: string;
  /** @default the machine's clock */
  readonly now?: () => Date;
}

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
  private readonly now: () => Date;

  constructor(private readonly options: StatusWriterOptions) {
    this.now = options.now ?? (() => new Date());
  }

  /** Whether a write would change anything. */
  wouldChange(object: KubernetesObject, change: StatusChange): boolean {
    return this.compose(object, change) !== undefined;
  }

  /**
   * Writes the status if it differs from that of `object`.
   * @param object the newest that is known
   * @returns the object as it is then, whether or not there was anything to write. Undefined if it is gone
   * @throws ReconcileFailure `StatusRefused` if the API server does not accept the status, or drops a part of it
   * @throws ApiError 409 if somebody else writes the object all the time
   */
  async write(
    client: StatusClient,
    object: KubernetesObject,
    change: StatusChange,
  ): Promise<KubernetesObject | undefined> {
    const { resource } = this.options;
    let newest: KubernetesObject | undefined;
    const conflicts = new Conflicts(MOST_TRIES);
    let isCleared = false;
    for (;;) {
      const before = newest ?? object;
      const status = this.compose(before, change);
      if (!status) return before;
      try {
        const written = await this.apply(client, before, status);
        const dropped = written && Object.keys(status).filter((field) => isMissing(field, status, written));
        if (dropped && dropped.length > 0) throw droppedBy(resource, dropped);
        return written;
      } catch (error) {
        if (!isCleared && isMisfitOfStatus((error as Error).cause)) {
          newest = await this.clear(client, before);
          isCleared = true;
          continue;
        }
        if (!isApiError(error, 409)) throw error;
        newest = await client.get(resource, object.metadata);
        if (newest?.metadata.uid !== object.metadata.uid) return undefined;
        try {
          conflicts.met(error, before.metadata.resourceVersion, newest.metadata.resourceVersion);
        } catch (standing) {
          throw isRace(standing) ? standing : refusedBy(standing as ApiError);
        }
      }
    }
  }

  private clear(client: StatusClient, object: KubernetesObject): Promise<KubernetesObject> {
    const { resource, fieldManager } = this.options;
    const operations = clearingOf(object, fieldManager);
    return client.jsonPatch(resource, object.metadata, operations, { subresource: "status" });
  }

  private compose(object: KubernetesObject, change: StatusChange): Status | undefined {
    return composeStatus(object, change, this.options.fieldManager, this.now());
  }

  private async apply(
    client: StatusClient,
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
      return (await applyManifest(client, resource, manifest, options)).object;
    } catch (error) {
      // An object may outlive its namespace if somebody ended that by force. Nothing can be written on it.
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

/** Whether a value of the status does not fit the schema. If another one does not, no status can be applied either. */
function isMisfitOfStatus(error: unknown): boolean {
  return isMisfit(error) && /\s\.status\b/.test(error.message);
}

function refusedBy(cause: ApiError): ReconcileFailure {
  const remedy = isTooLarge(cause)
    ? ". Make the status smaller: an object has room for about 1.5 MB in all"
    : "";
  return new ReconcileFailure(
    "StatusRefused",
    `the API server refused the status: ${cause.message}${remedy}`,
    { cause },
  );
}

const REMEDY =
  "somebody changed it by hand, or `pulumi up` has not taken it over from another operator: deploy the operator again";

function noStatusOf({ plural, apiVersion }: Resource): ReconcileFailure {
  return new ReconcileFailure(
    "StatusRefused",
    `the CustomResourceDefinition of ${plural} (${apiVersion}) has no status subresource, so that no status can be written: ${REMEDY}.`,
  );
}

function droppedBy({ plural, apiVersion }: Resource, fields: readonly string[]): ReconcileFailure {
  const names = fields.map((field) => `status.${field}`).join(" and ");
  return new ReconcileFailure(
    "StatusRefused",
    `the API server dropped ${names}: the CustomResourceDefinition of ${plural} (${apiVersion}) does not define this, or a mutating webhook removes it. If the CustomResourceDefinition is the cause: ${REMEDY}.`,
  );
}

/**
 * Whether the API server did not store a field of a status that was applied, or one of the conditions. It may leave out a field
 * that is null.
 */
function isMissing(field: string, applied: Status, { status }: KubernetesObject): boolean {
  const stored = (status ?? {}) as Status;
  if (field !== "conditions") return !Object.hasOwn(stored, field) && applied[field] !== null;
  const types = conditionsIn(stored).map(({ type }) => type);
  return conditionsIn(applied).some(({ type }) => !types.includes(type));
}
