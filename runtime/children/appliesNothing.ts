import { isDeepStrictEqual } from "node:util";
import type { JsonObject, Manifest } from "../kubernetes/objects";

/**
 * Whether a server-side apply of a manifest would change nothing: the object has every value of the manifest, and our
 * entry in its `managedFields` owns just the fields of the manifest. So nothing that was applied earlier is left over.
 *
 * It may say no where the API server would change nothing, since it knows no schema: then the apply is made.
 *
 * @param fields `fieldsV1` of our entry
 * @see https://github.com/kubernetes-sigs/structured-merge-diff for the form of `fieldsV1`
 */
export function appliesNothing(manifest: Manifest, observed: object, fields: JsonObject): boolean {
  const { apiVersion: _a, kind: _k, metadata, ...content } = manifest;
  const { name: _n, namespace: _ns, ...own } = metadata;
  const isEmpty = Object.keys(own).length === 0;
  return isSame({ ...content, ...(!isEmpty && { metadata: own }) }, observed, fields);
}

function isSame(wanted: unknown, there: unknown, fields: unknown): boolean {
  if (!isObject(fields)) return false;
  const keys = Object.keys(fields).filter((key) => key !== ".");
  // A leaf, or a map or list that is owned as a whole.
  if (keys.length === 0) return isDeepStrictEqual(wanted, there);
  if (Array.isArray(wanted)) return Array.isArray(there) && isSameList(wanted, there, fields, keys);
  if (!isObject(wanted) || !isObject(there)) return false;
  const names = Object.keys(wanted);
  return (
    names.length === keys.length &&
    names.every((name) => isSame(wanted[name], there[name], fields[`f:${name}`]))
  );
}

/** A list whose entries are owned each: `k:` names one by its keys, `v:` by its value. */
function isSameList(wanted: unknown[], there: unknown[], fields: JsonObject, keys: string[]): boolean {
  if (keys.length !== wanted.length) return false;
  return keys.every((key) => {
    const named: unknown = JSON.parse(key.slice(2));
    if (key.startsWith("v:")) return wanted.includes(named) && there.includes(named);
    if (!key.startsWith("k:") || !isObject(named)) return false;
    const inner = fields[key];
    const entry = wanted.find((candidate) => isNamed(candidate, named, true));
    const other = there.find((candidate) => isNamed(candidate, named, false));
    // The keys that the API server filled in are owned too.
    const filled = Object.fromEntries(
      Object.keys(named).flatMap((name) => (isObject(entry) && name in entry ? [] : [[`f:${name}`, {}]])),
    );
    return entry !== undefined && isSame(entry, other, without(inner, filled));
  });
}

/** Whether an entry of a list has these keys. @param mayLack a manifest may leave out what has a default */
function isNamed(entry: unknown, keys: Record<string, unknown>, mayLack: boolean): boolean {
  if (!isObject(entry)) return false;
  return Object.entries(keys).every(
    ([name, value]) => entry[name] === value || (mayLack && entry[name] === undefined),
  );
}

function without(fields: unknown, left: object): unknown {
  if (!isObject(fields)) return fields;
  return Object.fromEntries(Object.entries(fields).filter(([key]) => !(key in left)));
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
