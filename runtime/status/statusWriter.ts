import { isDeepStrictEqual } from "node:util";
import { ReconcileFailure } from "../failure";
import type { KubernetesClient } from "../kubernetes/client";
import { ApiError, isApiError } from "../kubernetes/errors";
import {
  type Condition,
  conditionsIn,
  type JsonObject,
  type KubernetesObject,
  type ManagedFieldsEntry,
  type Manifest,
} from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { timeOf } from "../kubernetes/time";
import { conditionsOf, type Verdict } from "./conditions";

/** What a {@link StatusWriter} works with. */
export interface StatusWriterOptions {
  readonly client: KubernetesClient;
  readonly resource: Resource;
  readonly fieldManager: string;
  /** Throws where we are no longer the leader. Called before every write. */
  readonly fence: () => void;
}

type Status = Record<string, unknown>;

/**
 * Writes what a reconcile found into an object's status: the handler's own fields, `observedGeneration` and the
 * standard conditions, by server-side apply, so that fields of other writers survive and our earlier ones go.
 */
export class StatusWriter {
  constructor(private readonly options: StatusWriterOptions) {}

  /**
   * Writes the status if it differs from what `object` has.
   * @param fields the handler's fields; undefined: it gave no answer, and its earlier fields stay
   * @param run the name of the Workflow that tells of the run, where one does
   * @returns the object with its new status; undefined where nothing was to be written, or the object has gone
   * @throws ApiError 409 where the object has changed since `object` was read: this verdict is about an older one
   * @throws ReconcileFailure `StatusRefused` where the API server does not accept the fields
   */
  async write(
    object: KubernetesObject,
    verdict: Verdict,
    fields: Status | undefined,
    run?: string,
  ): Promise<KubernetesObject | undefined> {
    const current = (object["status"] ?? {}) as Status;
    const entry = ownedStatus(object, this.options.fieldManager);
    const owned = fieldsIn(entry);
    const given = fields ?? { ...pick(current, owned), conditions: ownedConditions(current, entry) };
    const status = {
      ...given,
      observedGeneration: object.metadata.generation,
      conditions: this.conditions(object, verdict, given, run),
    };
    const isLeft = ({ type }: Condition) => !status.conditions.some((condition) => condition.type === type);
    const isLess =
      !owned.every((field) => Object.hasOwn(status, field)) || ownedConditions(current, entry).some(isLeft);
    if (isWithin(status, current) && !isLess) return undefined;
    return this.apply(object, status);
  }

  private conditions(
    object: KubernetesObject,
    verdict: Verdict,
    fields: Status,
    run: string | undefined,
  ): Condition[] {
    const previous = conditionsIn(object["status"]);
    const { generation = 1 } = object.metadata;
    const ours = conditionsOf(verdict, previous, generation, timeOf(new Date()), run);
    const ourTypes = new Set(ours.map(({ type }) => type));
    // A handler may keep conditions of its own beside ours.
    const theirs = conditionsIn(fields).filter(({ type }) => !ourTypes.has(type));
    return [...ours, ...theirs];
  }

  private async apply(object: KubernetesObject, status: Status): Promise<KubernetesObject | undefined> {
    const { client, resource, fieldManager, fence } = this.options;
    const { name, namespace, uid, resourceVersion } = object.metadata;
    const manifest: Manifest = {
      apiVersion: resource.apiVersion,
      kind: resource.kind,
      metadata: { name, uid, resourceVersion, ...(namespace && { namespace }) },
      status,
    };
    fence();
    try {
      const written = await client.apply(resource, manifest, {
        fieldManager,
        force: true,
        subresource: "status",
      });
      return written.object;
    } catch (error) {
      if (isApiError(error, 404)) return undefined;
      if (error instanceof ApiError && [400, 413, 422, 500].includes(error.code)) {
        throw new ReconcileFailure("StatusRefused", `the API server refused the status: ${error.message}`, {
          cause: error,
        });
      }
      throw error;
    }
  }
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

/** The conditions that we have written: to write another's would make it ours as well. */
function ownedConditions(status: Status, entry: JsonObject): Condition[] {
  if (!entry["f:conditions"]) return [];
  const keys = Object.keys(entry["f:conditions"]).filter((key) => key.startsWith("k:"));
  // A list that the author's schema does not key by type is owned as a whole.
  const isOurs = ({ type }: Condition) => keys.length === 0 || keys.includes(`k:${JSON.stringify({ type })}`);
  return conditionsIn(status).filter(isOurs);
}

/** Whether every field of `part` is in `whole`, with that very value; conditions by their type. */
function isWithin(part: Status, whole: Status): boolean {
  return Object.entries(part).every(([key, value]) => {
    if (key !== "conditions") return isDeepStrictEqual(value, whole[key]);
    const there = conditionsIn(whole);
    return (value as Condition[]).every((one) =>
      there.some((other) => other.type === one.type && isDeepStrictEqual(one, other)),
    );
  });
}

function pick(status: Status, fields: readonly string[]): Status {
  return Object.fromEntries(
    fields.filter((field) => Object.hasOwn(status, field)).map((field) => [field, status[field]]),
  );
}
