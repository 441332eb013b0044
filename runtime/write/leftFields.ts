import { isDeepStrictEqual } from "node:util";
import { fingerprintForName, isRecord, valueAlong, type Way } from "../base/json";
import type { KubernetesObject, Manifest } from "../base/objects";
import { ApiError, isUndecided } from "../kubernetes/errors";
import {
  applyEntry,
  fieldsThatStay,
  isOwned,
  type OwnedField,
  ownedValues,
} from "../kubernetes/managedFields";

/** The name of a field that is in no list: "spec.strategy.rollingUpdate". */
const FIELD = /^[A-Za-z]\w*(\.[A-Za-z]\w*)+$/;

/**
 * The fields that a manifest leaves out and because of which the API server still refuses it. Empty if it refuses anything else.
 */
export function fieldsLeftOut({ causes }: ApiError, manifest: Manifest): string[] {
  const fields = causes.map(({ field = "" }) => field);
  const isLeftOut = (field: string) => FIELD.test(field) && valueAlong(manifest, field.split(".")) == null;
  return fields.every(isLeftOut) ? fields : [];
}

/**
 * The fields that an apply of a manifest releases, and that the API server keeps as they were. It fills them in again from the old
 * object: from a deprecated twin (`serviceAccount` of a pod), or because they cannot be removed (`clusterIP: None` of a Service).
 * @param after the object after the apply. @default as before: then these are all fields that the apply releases
 * @param fresh what a new object would have instead: a field that is the same there is a default
 */
export function keptFields(
  wanted: Manifest,
  before: KubernetesObject,
  fieldManager: string,
  after: Manifest = before,
  fresh?: Manifest,
): OwnedField[] {
  const fields = applyEntry(before, fieldManager)?.fieldsV1 ?? {};
  const others = (after.metadata.managedFields ?? []).filter(
    ({ manager, operation }) => manager !== fieldManager || operation !== "Apply",
  );
  const owners = others.map(({ fieldsV1 = {} }) => fieldsV1);
  return fieldsThatStay(fields, { wanted, before, after, fresh }, owners);
}

/**
 * The refusal of an apply after which the API server would keep these fields. It names their twins too: fields of the same map
 * with the same value that have no owner and that a new object would not have.
 */
export function keptRefusal(
  fields: readonly OwnedField[],
  after: Manifest,
  fresh: Manifest = after,
): ApiError {
  const { kind } = after;
  const twins = fields.flatMap((field) => {
    const map = valueAlong(after, stepsOf(field.slice(0, -1)));
    const value = valueAlong(after, stepsOf(field));
    return Object.keys(isRecord(map) ? map : {})
      .map((name) => [...field.slice(0, -1), `f:${name}`])
      .filter((twin) => isDeepStrictEqual(valueAlong(after, stepsOf(twin)), value) && !isOwned(after, twin))
      .filter((twin) => valueAlong(fresh, stepsOf(twin)) === undefined);
  });
  const all = new Set([...fields, ...twins].map(nameOf));
  const causes = [...all].map((field) => ({ reason: "FieldValueForbidden", field }));
  const names = fields.map(nameOf).join(", ");
  const message = `it keeps ${names}, which the handler no longer returns: the field is immutable`;
  return new ApiError(422, { message, details: { causes } }, `PATCH ${kind}`);
}

/**
 * The manifest with which we own these fields of an object too, and that changes nothing else. The API server filled these fields
 * in as defaults, or as the twins of others. When we own them, it removes them as soon as an apply leaves them out. It does not
 * remove a field without an owner, so a Deployment that gets the strategy Recreate would keep the `rollingUpdate` of its former
 * strategy, and be refused.
 * @returns undefined if another manager owns one of the fields, if there is no such field, or if all of them are ours already
 */
export function withFields(
  object: KubernetesObject,
  fields: readonly string[],
  fieldManager: string,
): Manifest | undefined {
  const { apiVersion, kind, metadata } = object;
  const entry = applyEntry(object, fieldManager);
  if (entry?.apiVersion !== apiVersion) return undefined;
  const owned = ownedValues(object, entry) as Manifest;
  const { name, namespace, managedFields = [] } = metadata;
  const others = managedFields.filter((each) => each !== entry);
  let manifest: Manifest = {
    ...owned,
    apiVersion,
    kind,
    metadata: { ...owned.metadata, name, ...(namespace && { namespace }) },
  };
  let isMore = false;
  for (const field of fields) {
    const way = field.split(".");
    const value = valueAlong(object, way);
    const steps = way.map((step) => `f:${step}`);
    if (value === undefined || isOwned(object, steps, others)) return undefined;
    isMore ||= !isOwned(object, steps, [entry]);
    manifest = withValue(manifest, way, value) as Manifest;
  }
  return isMore ? manifest : undefined;
}

function withValue(whole: unknown, [step, ...rest]: Way, value: unknown): unknown {
  if (step === undefined) return value;
  const map = isRecord(whole) ? whole : {};
  return { ...map, [step]: withValue(map[step], rest, value) };
}

function stepsOf(field: OwnedField): string[] {
  return field.map((key) => key.slice(2));
}

/** A field as messages name it, and as {@link fieldsLeftOut} knows it: "spec.clusterIP", 'spec.ports[{"port":80}].nodePort'. */
function nameOf(field: OwnedField): string {
  const steps = field.map((key) => (key.startsWith("f:") ? `.${key.slice(2)}` : `[${key.slice(2)}]`));
  return steps.join("").slice(1);
}

/**
 * The manifest that is created by a dry run before a child is deleted and created again: the child under a free name. A Service
 * is rehearsed without the addresses and ports that the old Service holds, which are free as soon as it is gone.
 */
export function dryRunReplacementOf(manifest: Manifest): Manifest {
  const { apiVersion, kind, metadata, spec } = manifest;
  const isService = apiVersion === "v1" && kind === "Service" && isRecord(spec);
  return {
    ...manifest,
    metadata: { ...metadata, name: rehearsalName(metadata.name) },
    ...(isService && { spec: withoutAllocated(spec) }),
  };
}

/**
 * Whether a rehearsal was refused for its name. The name of a CustomResourceDefinition follows from its content, so the rehearsal's
 * name cannot be right.
 */
export function isRefusedName({ causes }: ApiError): boolean {
  return causes.some(({ field }) => field === "metadata.name");
}

/** The name of the rehearsal of a child: as valid as the child's own, and free. */
export function rehearsalName(name: string): string {
  return `${name.slice(0, 40).replace(/[^a-z0-9]+$/, "")}-${fingerprintForName(name).slice(0, 8)}`;
}

/**
 * The refusal of a child that cannot be changed, if the new one would be refused too, or if that is not known.
 * @param refused the refusal of the change
 * @param error what the rehearsal failed with. One that decides nothing is returned as it is
 */
export function replacementRefused(refused: ApiError, error: unknown): unknown {
  if (!(error instanceof ApiError) || isUndecided(error)) return error;
  const why = isRefusedName(error)
    ? "a dry run under another name cannot show whether the API server would accept the new one. Delete it yourself if nothing is lost with it: it is created again"
    : `the API server would refuse the new one: ${error.message}`;
  // The API server quotes all of a Job's template. Text after such a quotation would not be read.
  const message = `it must be deleted and created again, but it is not deleted, since ${why}. The change was refused: ${refused.message}`;
  return new ApiError(refused.code, { ...refused.status, message }, refused.request);
}

function withoutAllocated(spec: Record<string, unknown>): Record<string, unknown> {
  const { clusterIP, clusterIPs: _, healthCheckNodePort: __, ports, ...others } = spec;
  const freed = (port: unknown) => {
    if (!isRecord(port)) return port;
    const { nodePort: _, ...rest } = port;
    return rest;
  };
  return {
    ...others,
    ...(clusterIP === "None" && { clusterIP }),
    ...(ports !== undefined && { ports: Array.isArray(ports) ? ports.map(freed) : ports }),
  };
}
