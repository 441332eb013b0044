import { isDeepStrictEqual } from "node:util";
import { ReconcileFailure } from "../failure";
import { applyManifest, pointerOf } from "../kubernetes/applyManifest";
import type { KubernetesClient } from "../kubernetes/client";
import { Conflicts, isRace } from "../kubernetes/conflicts";
import { ApiError, isApiError, isBusy, isMisfit, isNamespaceMissing } from "../kubernetes/errors";
import {
  type Condition,
  conditionsIn,
  type JsonObject,
  type KubernetesObject,
  type ManagedFieldsEntry,
  type Manifest,
  timeOf,
} from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { ENGINE_CONDITIONS, OWN_STATUS_FIELDS } from "../names";
import { conditionsOf, type Statement, type Verdict, written } from "./conditions";

type Status = Record<string, unknown>;

/** How often a write is tried for an object that others write meanwhile. */
const MOST_TRIES = 10;

/** A change of a status. Parts that are left out stay as they are. */
export interface StatusChange {
  /** All of the handler's fields. Earlier fields that are not among them are removed. */
  readonly fields?: Readonly<Status> | undefined;
  /** All of the handler's own conditions. Earlier conditions that are not among them are removed. */
  readonly conditions?: HandlersConditions | undefined;
  /** The engine's memory, as `remembered` gives it. */
  readonly memory?: JsonObject | undefined;
  readonly verdict?: StatusVerdict | undefined;
}

/** The conditions of a handler for one generation of an object. */
export interface HandlersConditions {
  readonly statements: readonly Statement[];
  /** The generation that was handled. */
  readonly generation: number;
}

/** A verdict about one generation of an object. */
export interface StatusVerdict {
  readonly verdict: Verdict;
  /** The generation that was handled. */
  readonly generation: number;
  /** The name of the Workflow that records the run. */
  readonly run?: string | undefined;
}

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
 * conditions. Fields of other writers survive, and earlier fields of ours are removed.
 *
 * Guarantees, each with a test in tests/unit/statusWriter.test.ts:
 * - Nothing is written that is there already.
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
   * @returns the object with its status. Undefined if nothing was to be written, or if the object is gone
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
      if (!status) return newest;
      try {
        const written = await this.apply(client, before, status);
        const dropped = written && OWN_STATUS_FIELDS.filter((field) => isMissing(field, status, written));
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

  /**
   * Removes the handler's fields, whatever type they have. It is no apply: of an object that does not fit its schema, the API server
   * refuses every one. With any other write it forgets who wrote what, so all that is not known as another's is taken for ours.
   */
  private clear(client: StatusClient, object: KubernetesObject): Promise<KubernetesObject> {
    const { resource, fieldManager } = this.options;
    const { uid, managedFields = [] } = object.metadata;
    const others = managedFields.filter(({ manager }) => manager !== fieldManager);
    const theirs = others.flatMap(({ fieldsV1 }) => fieldsIn((fieldsV1?.["f:status"] ?? {}) as JsonObject));
    const fields = Object.keys(handlersFields((object["status"] ?? {}) as Status));
    const removals = fields
      .filter((field) => !theirs.includes(field))
      .map((field) => ({ op: "remove" as const, path: pointerOf(["status", field]) }));
    const operations = [{ op: "test" as const, path: "/metadata/uid", value: uid }, ...removals];
    return client.jsonPatch(resource, object.metadata, operations, { subresource: "status" });
  }

  /** The status to apply. Undefined if the object has it. */
  private compose(object: KubernetesObject, change: StatusChange): Status | undefined {
    const { fields, conditions: own, memory, verdict } = change;
    const current = (object["status"] ?? {}) as Status;
    const entry = ownedStatus(object, this.options.fieldManager);
    const owned = fieldsIn(entry);
    const kept = pick(current, owned);
    const given = handlersFields(fields ?? pick(current, owned));
    const observed = current["observedGeneration"];
    // A number beyond the object's own is not ours: a backup restored the status of a former object of this name.
    const isReached = typeof observed === "number" && observed <= (object.metadata.generation ?? observed);
    const isOld = verdict && isReached && observed > verdict.generation;
    const isStated = verdict !== undefined && !isOld;
    const conditions = this.conditions(current, entry, own, isStated ? verdict : undefined);
    const status: Status = {
      ...given,
      ...(memory !== undefined || "argosy" in kept ? { argosy: memory ?? kept["argosy"] } : {}),
      ...(isStated
        ? { observedGeneration: verdict.generation }
        : "observedGeneration" in kept && { observedGeneration: kept["observedGeneration"] }),
      ...(conditions.length > 0 && { conditions }),
    };
    const isLeft = ({ type }: Condition) => !conditions.some((condition) => condition.type === type);
    const isLess =
      !owned.every((field) => Object.hasOwn(status, field)) || ownedConditions(current, entry).some(isLeft);
    // After a rename of the operator nothing is ours yet.
    const isOurs = Object.keys(status).every((field) => owned.includes(field));
    return isWithin(status, current) && isOurs && !isLess ? undefined : status;
  }

  private conditions(
    current: Status,
    entry: JsonObject,
    own: HandlersConditions | undefined,
    verdict: StatusVerdict | undefined,
  ): Condition[] {
    const previous = conditionsIn(current);
    const there = ownedConditions(current, entry);
    const now = timeOf(this.now());
    const engines = verdict
      ? conditionsOf(verdict.verdict, previous, verdict.generation, now, verdict.run)
      : there.filter(({ type }) => ENGINE_CONDITIONS.includes(type));
    const handlers = own
      ? own.statements.map((statement) => written(statement, previous, own.generation, now))
      : there.filter(({ type }) => !ENGINE_CONDITIONS.includes(type));
    return [...engines, ...handlers];
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
      if (error instanceof ApiError && !isBusy(error) && [400, 413, 422, 500].includes(error.code)) {
        throw refusedBy(error);
      }
      throw error;
    }
  }
}

/** Whether a value of the status does not fit the schema. If another one does not, no status can be applied either. */
function isMisfitOfStatus(error: unknown): boolean {
  return isMisfit(error) && /\s\.status\b/.test(error.message);
}

function refusedBy(cause: ApiError): ReconcileFailure {
  return new ReconcileFailure("StatusRefused", `the API server refused the status: ${cause.message}`, {
    cause,
  });
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
    `the API server dropped ${names}: the CustomResourceDefinition of ${plural} (${apiVersion}) does not have that, or a mutating webhook takes it away. If it is the CustomResourceDefinition: ${REMEDY}.`,
  );
}

/** Whether the API server did not store a field of a status that was applied. A list of conditions may have become empty. */
function isMissing(field: string, applied: Status, { status }: KubernetesObject): boolean {
  if (!Object.hasOwn(applied, field)) return false;
  const stored = (status ?? {}) as Status;
  return field === "conditions" ? conditionsIn(stored).length === 0 : !Object.hasOwn(stored, field);
}

/** The fields of the status that we have written and still own, as `managedFields` has them. */
function ownedStatus(object: KubernetesObject, fieldManager: string): JsonObject {
  const ours = (entry: ManagedFieldsEntry) =>
    entry.manager === fieldManager && entry.operation === "Apply" && entry.subresource === "status";
  return (object.metadata.managedFields?.find(ours)?.fieldsV1?.["f:status"] ?? {}) as JsonObject;
}

/** The names of the fields of a `managedFields` entry. */
function fieldsIn(entry: JsonObject): string[] {
  return Object.keys(entry)
    .filter((key) => key.startsWith("f:"))
    .map((key) => key.slice(2));
}

/** The conditions that we have written. If we wrote another's condition, it would become ours as well. */
function ownedConditions(status: Status, entry: JsonObject): Condition[] {
  if (!entry["f:conditions"]) return [];
  const keys = Object.keys(entry["f:conditions"]).filter((key) => key.startsWith("k:"));
  // A list that the author's schema does not key by type is owned as a whole.
  const isOurs = ({ type }: Condition) => keys.length === 0 || keys.includes(`k:${JSON.stringify({ type })}`);
  return conditionsIn(status).filter(isOurs);
}

/** Whether every field of `part` is in `whole` with the same value. Conditions are compared by their type. */
function isWithin(part: Status, whole: Status): boolean {
  return Object.entries(part).every(([key, value]) => {
    if (key !== "conditions") return isDeepStrictEqual(value, whole[key]);
    const there = conditionsIn(whole);
    return (value as Condition[]).every((one) =>
      there.some((other) => other.type === one.type && isDeepStrictEqual(one, other)),
    );
  });
}

/** The fields of a status that are the handler's to write. */
function handlersFields(status: Readonly<Status>): Status {
  return Object.fromEntries(Object.entries(status).filter(([field]) => !OWN_STATUS_FIELDS.includes(field)));
}

function pick(status: Readonly<Status>, fields: readonly string[]): Status {
  return Object.fromEntries(
    fields.filter((field) => Object.hasOwn(status, field)).map((field) => [field, status[field]]),
  );
}
