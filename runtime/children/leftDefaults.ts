import { isRecord, ownValue } from "../json/json";
import type { ApiError } from "../kubernetes/errors";
import { applyEntry } from "../kubernetes/managedFields";
import type { KubernetesObject, Manifest } from "../kubernetes/objects";
import { ownedValues } from "../kubernetes/ownedValues";

/** The name of a field that is in no list: "spec.strategy.rollingUpdate". */
const FIELD = /^[A-Za-z]\w*(\.[A-Za-z]\w*)+$/;

/** Fields that a manifest leaves out, and about which the API server refuses it nevertheless. Empty if it refuses anything else. */
export function fieldsLeftOut({ causes }: ApiError, manifest: Manifest): string[] {
  const fields = causes.map(({ field = "" }) => field);
  const isLeftOut = (field: string) => FIELD.test(field) && valueAt(manifest, field) == null;
  return fields.every(isLeftOut) ? fields : [];
}

/**
 * The manifest with which we own these fields of an object too, and that changes nothing else. The API server filled them in as
 * defaults of what we applied before, and removes them from then on if we leave them out. It does not remove what nobody owns, so a
 * Deployment that gets the strategy Recreate would keep the `rollingUpdate` of its former strategy, and be refused.
 * @returns undefined if somebody owns one of the fields, or if there is no such field
 */
export function withDefaults(
  object: KubernetesObject,
  fields: readonly string[],
  fieldManager: string,
): Manifest | undefined {
  const { apiVersion, kind, metadata } = object;
  const entry = applyEntry(object, fieldManager);
  const isDefault = (field: string) =>
    valueAt(object, field) !== undefined &&
    !metadata.managedFields?.some(({ fieldsV1 }) => valueAt(fieldsV1, `f:${field.replaceAll(".", ".f:")}`));
  if (entry?.apiVersion !== apiVersion || !fields.every(isDefault)) return undefined;
  const owned = ownedValues(object, entry) as Manifest;
  const { name, namespace } = metadata;
  const ours = {
    ...owned,
    apiVersion,
    kind,
    metadata: { ...owned.metadata, name, ...(namespace && { namespace }) },
  };
  return fields.reduce<Manifest>(
    (manifest, field) => withValue(manifest, field.split("."), valueAt(object, field)) as Manifest,
    ours,
  );
}

function valueAt(whole: unknown, field: string): unknown {
  return field
    .split(".")
    .reduce<unknown>((value, step) => (isRecord(value) ? ownValue(value, step) : undefined), whole);
}

function withValue(whole: unknown, [step, ...rest]: readonly string[], value: unknown): unknown {
  if (step === undefined) return value;
  const map = isRecord(whole) ? whole : {};
  return { ...map, [step]: withValue(map[step], rest, value) };
}
