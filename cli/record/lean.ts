import { isRecord } from "../../runtime/base/json";
import { DOMAIN, ENGINE_CONDITIONS, OWN_STATUS_FIELDS, TRUNCATED_ANNOTATION } from "../../runtime/base/names";
import {
  type Json,
  type JsonObject,
  type KubernetesObject,
  type ObjectMeta,
  withoutLastApplied,
} from "../../runtime/base/objects";

/**
 * How much of an object a fixture has. "lean": the fields that a field manager has set, and the status. "identified": also its uid
 * and times. "whole": everything except `managedFields`.
 */
export type Extent = "lean" | "identified" | "whole";

/** The extents, the leanest first. */
export const EXTENTS: readonly Extent[] = ["lean", "identified", "whole"];

/** The API server's counters. `generation` stays, because handlers compare it with a status. */
const COUNTED = ["uid", "resourceVersion", "creationTimestamp", "selfLink", "deletionGracePeriodSeconds"];

/**
 * An object for a fixture, without the additions of the API server, of controllers and of Argosy.
 * @param object with its `managedFields`, which distinguish defaults from fields that a client has set
 * @param isOurs whether it is a custom resource of the operator's own, whose status the engine writes
 */
export function recorded(object: KubernetesObject, extent: Extent, isOurs: boolean): JsonObject {
  const { managedFields = [], ...metadata } = withoutLastApplied(object.metadata);
  if (extent === "whole") return { ...object, metadata } as unknown as JsonObject;
  const owned = managedFields.flatMap(({ fieldsV1 }) => (fieldsV1 ? [fieldsV1] : []));
  const { apiVersion, kind, metadata: _, status, ...content } = object;
  const set = owned.length > 0 ? ownedPart(content as JsonObject, owned) : (content as JsonObject);
  const told = isOurs ? statusIn(status) : status;
  return {
    ...{ apiVersion, kind },
    metadata: metadataIn(metadata, extent) as unknown as JsonObject,
    ...(isRecord(set) ? (set as JsonObject) : {}),
    ...(told !== undefined && { status: told as Json }),
  };
}

function metadataIn(metadata: ObjectMeta, extent: Extent): Record<string, unknown> {
  const { name, namespace, ...others } = metadata;
  const fields = Object.entries(others).flatMap(([key, value]): [string, unknown][] => {
    if (COUNTED.includes(key) && (extent === "lean" || key === "resourceVersion")) return [];
    if (key === "ownerReferences" && extent === "lean") return [];
    if (key === "labels" || key === "annotations") return filled(key, withoutOurs(value as object));
    if (key === "finalizers") return filled(key, (value as string[]).filter(isForeign));
    return [[key, value]];
  });
  return { name, ...(namespace !== undefined && { namespace }), ...Object.fromEntries(fields) };
}

function filled(key: string, value: object): [string, unknown][] {
  return Object.keys(value).length > 0 ? [[key, value]] : [];
}

/** A map without what the engine writes into the cluster, and without the counters of Deployments. */
function withoutOurs(map: object): object {
  const isNoise = (key: string) =>
    (!isForeign(key) && key !== TRUNCATED_ANNOTATION) || key === "deployment.kubernetes.io/revision";
  return Object.fromEntries(Object.entries(map).filter(([key]) => !isNoise(key)));
}

/** Whether the name of a label, an annotation or a finalizer is not Argosy's. */
function isForeign(name: string): boolean {
  return !(name.split("/")[0] ?? "").endsWith(DOMAIN);
}

/** A status without the engine's own fields. Undefined if there are no other fields. */
function statusIn(status: unknown): JsonObject | undefined {
  if (!isRecord(status)) return undefined;
  const own = Object.entries(status as JsonObject).flatMap(([key, value]): [string, Json][] => {
    if (key !== "conditions" || !Array.isArray(value))
      return OWN_STATUS_FIELDS.includes(key) ? [] : [[key, value]];
    const handlers = value.filter(
      (each) => !isRecord(each) || !ENGINE_CONDITIONS.includes(String(each.type)),
    );
    return handlers.length > 0 ? [[key, handlers]] : [];
  });
  return own.length > 0 ? Object.fromEntries(own) : undefined;
}

/**
 * The part of a value that some field manager owns. Fields without an owner are defaults of the API server.
 * @param owned the `fieldsV1` of all managers at this place
 * @see https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
 */
function ownedPart(value: Json, owned: readonly JsonObject[]): Json {
  const keys = new Set(owned.flatMap((fields) => Object.keys(fields)).filter((key) => key !== "."));
  if (keys.size === 0) return value;
  const below = (key: string) =>
    owned.map((fields) => fields[key]).filter((each): each is JsonObject => isRecord(each));
  if (Array.isArray(value)) {
    return value.flatMap((entry) => {
      const own = [...keys].filter((key) => isEntry(entry, key));
      return own.length > 0 ? [ownedPart(entry, own.flatMap(below))] : [];
    });
  }
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value as JsonObject)
      .filter(([name]) => keys.has(`f:${name}`))
      .map(([name, inner]) => [name, ownedPart(inner, below(`f:${name}`))]),
  );
}

/** Whether an entry of a list is the one that a key of `fieldsV1` names, by some of its fields (`k:`) or as it is (`v:`). */
function isEntry(entry: Json, key: string): boolean {
  const named = JSON.parse(key.slice(2)) as Json;
  if (!key.startsWith("k:") || !isRecord(named)) return entry === named;
  return isRecord(entry) && Object.entries(named).every(([field, value]) => entry[field] === value);
}
