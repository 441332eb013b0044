// The types of Kubernetes objects. resource.ts and kinds.ts: their kinds.
import { isRecord } from "./json";
import { LAST_APPLIED_ANNOTATION } from "./names";

/** Any value that JSON can carry. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A JSON object. */
export type JsonObject = { [key: string]: Json };

/** One entry of `metadata.managedFields`: which fields a field manager owns. */
export interface ManagedFieldsEntry {
  manager?: string;
  /** The version of the object in which the fields are named. */
  apiVersion?: string;
  operation?: "Apply" | "Update";
  subresource?: string;
  time?: string;
  fieldsV1?: JsonObject;
}

/** An entry of `metadata.ownerReferences`. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** The metadata that every Kubernetes object has, as far as the engine reads or writes it. */
export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
  managedFields?: ManagedFieldsEntry[];
}

/** The fields of metadata that only the API server writes. */
export const SERVER_METADATA: readonly string[] = [
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "managedFields",
  "selfLink",
];

/** A manifest as an author writes it or a handler answers it: identity and content, without the server's fields. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
}

/** An object as the API server gives it, with the server's fields. */
export interface KubernetesObject extends Manifest {
  metadata: ObjectMeta & { uid: string; resourceVersion: string };
}

/** A condition as the engine or a handler states it, without the fields that the engine adds to each. */
export interface Statement {
  type: string;
  status: "True" | "False" | "Unknown";
  reason: string;
  message: string;
}

/** A standard condition (`metav1.Condition`). */
export interface Condition extends Statement {
  /** RFC 3339. Changes only when `status` does. */
  lastTransitionTime: string;
  /** The `metadata.generation` that this condition is about. */
  observedGeneration?: number;
}

/**
 * The conditions of a status. Any client that may write the status may have written anything there, so entries that are no
 * conditions are left out.
 */
export function conditionsIn(status: unknown): Condition[] {
  const { conditions } = (status ?? {}) as { conditions?: unknown };
  return Array.isArray(conditions) ? conditions.filter(isCondition) : [];
}

/** Whether a status has a condition of that type that is True. */
export function isTrue(status: unknown, type: string): boolean {
  return conditionsIn(status).some((condition) => condition.type === type && condition.status === "True");
}

function isCondition(value: unknown): value is Condition {
  const { type, status, reason = "", message = "" } = (value ?? {}) as Record<string, unknown>;
  return [type, status, reason, message].every((text) => typeof text === "string");
}

/** The name of one object within its kind. */
export interface ObjectName {
  namespace?: string | undefined;
  name: string;
}

/** The longest name (kubernetes, pkg/api/validation). Some kinds allow 63 characters only. */
export const LONGEST_OBJECT_NAME = 253;

/** The form of a name that becomes part of a URL path. The API server checks each kind's own rule. */
const OBJECT_NAME = /^(?!\.{1,2}$)[^/%\p{Cc}\p{Cs}]{1,253}$/u;

/** Whether a text can be the name of an object, of whatever kind. */
export function isObjectName(text: string): boolean {
  return OBJECT_NAME.test(text);
}

/** RFC 1123: a DNS subdomain of any length. */
const DNS_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/**
 * Whether a text has the form of a DNS name (RFC 1123), as the API server requires of the names of custom resources and of most
 * other kinds.
 */
export function isDnsName(text: string): boolean {
  return text.length <= LONGEST_OBJECT_NAME && DNS_NAME.test(text);
}

/** "namespace/name", or "name" for an object without a namespace. */
export function formatName({ namespace, name }: ObjectName): string {
  return namespace ? `${namespace}/${name}` : name;
}

/** An object as messages name it: "ConfigMap shop/settings". */
export function kindAndName(kind: string, name: ObjectName): string {
  return `${kind} ${formatName(name)}`;
}

/** The key of a custom resource in the queue: "namespace/name". Without a namespace there is nothing before the slash. */
export function keyOf({ namespace = "", name }: ObjectName): string {
  return `${namespace}/${name}`;
}

/** The name of which {@link keyOf} made the key. */
export function nameOf(key: string): ObjectName {
  const slash = key.indexOf("/");
  const [namespace, name] = [key.slice(0, slash), key.slice(slash + 1)];
  return namespace ? { namespace, name } : { name };
}

/** The group of an apiVersion: "apps" of "apps/v1", "" of "v1". */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}

/** An apiVersion: "apps/v1" of the group "apps", "v1" of the core group "". */
export function apiVersionOf({
  group,
  version,
}: {
  readonly group: string;
  readonly version: string;
}): string {
  return group === "" ? version : `${group}/${version}`;
}

/** An object without `metadata.managedFields`, which no handler gets and which may be as long as everything else. */
export function withoutManagedFields(object: KubernetesObject): KubernetesObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Whether a value that was read as JSON is an object. */
export function isJsonObject(value: unknown): value is JsonObject {
  return isRecord(value);
}

/**
 * Whether one resourceVersion is later than another of the same resource. Both are decimal integers that grow
 * (https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/5504-comparable-resource-version). Objects of some
 * aggregated APIs have none, such as PodMetrics: none of these is later.
 */
export function isNewer(a = "", b = ""): boolean {
  return a.length === b.length ? a > b : a.length > b.length;
}

/** The latest of some times in RFC 3339, in milliseconds since 1970. Undefined if there is none. */
export function latestOf(times: readonly (string | undefined)[]): number | undefined {
  const known = times.map((time) => Date.parse(time ?? "")).filter((time) => !Number.isNaN(time));
  return known.length > 0 ? Math.max(...known) : undefined;
}

/** When an object was last written to, by the API server's clock, in milliseconds since 1970. 0 if the object does not say. */
export function writtenAt({ metadata: { creationTimestamp, managedFields = [] } }: KubernetesObject): number {
  return latestOf([creationTimestamp, ...managedFields.map(({ time }) => time)]) ?? 0;
}

/** A moment as Kubernetes writes it (`metav1.Time`): RFC 3339, whole seconds. */
export function timeOf(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, "Z");
}

/** The same with microseconds (`metav1.MicroTime`). We know only milliseconds. */
export function microTimeOf(date: Date): string {
  return date.toISOString().replace("Z", "000Z");
}

/** The same metadata without the annotation of `kubectl apply`. */
export function withoutLastApplied<Metadata extends Pick<ObjectMeta, "annotations">>(
  metadata: Metadata,
): Metadata {
  if (metadata.annotations?.[LAST_APPLIED_ANNOTATION] === undefined) return metadata;
  const { [LAST_APPLIED_ANNOTATION]: _, ...annotations } = metadata.annotations;
  return { ...metadata, annotations };
}
