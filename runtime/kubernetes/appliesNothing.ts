import { isDeepStrictEqual } from "node:util";
import { isEmptyMap, readJson } from "../json/json";
import { ListEntries } from "./listEntries";
import { isJsonObject, type JsonObject, type Manifest } from "./objects";

/**
 * Whether a server-side apply of a manifest would change nothing: the object has every value of the manifest, and our entry in
 * its `managedFields` owns exactly the fields of the manifest. So nothing is left of an earlier apply.
 *
 * The function knows no schema, so it may say no although the API server would change nothing. Then the apply is made.
 *
 * @param fields `fieldsV1` of our entry
 * @see https://github.com/kubernetes-sigs/structured-merge-diff for the form of `fieldsV1`
 */
export function appliesNothing(manifest: Manifest, observed: object, fields: JsonObject): boolean {
  const { apiVersion: _a, kind: _k, metadata, ...content } = manifest;
  const { name: _n, namespace: _ns, ...own } = metadata;
  const isEmpty = Object.keys(own).length === 0;
  return isAppliedAs({ ...content, ...(!isEmpty && { metadata: own }) }, observed, fields);
}

/** The same for one value of an object. @param fields the part of `fieldsV1` below that value */
export function isAppliedAs(wanted: unknown, there: unknown, fields: unknown): boolean {
  if (!isJsonObject(fields)) return false;
  const keys = Object.keys(fields).filter((key) => key !== ".");
  // A leaf, or a map or list that is owned as a whole. Empty ones are not always stored.
  if (keys.length === 0) return isDeepStrictEqual(wanted, there) || (there === undefined && isEmpty(wanted));
  if (Array.isArray(wanted)) return Array.isArray(there) && isSameList(wanted, there, fields, keys);
  if (!isJsonObject(wanted) || !isJsonObject(there)) return false;
  const names = Object.keys(wanted);
  return (
    names.length === keys.length &&
    names.every(
      (name) =>
        Object.hasOwn(fields, `f:${name}`) && isAppliedAs(wanted[name], there[name], fields[`f:${name}`]),
    )
  );
}

/**
 * A list whose entries are owned one by one: `k:` names an entry by its keys, `v:` by its value. Entries with keys have an order,
 * such as that of init containers, and an apply changes it.
 */
function isSameList(wanted: unknown[], there: unknown[], fields: JsonObject, keys: string[]): boolean {
  if (keys.length !== wanted.length) return false;
  const left = new Set(wanted);
  const [ours, all] = [new ListEntries(wanted), new ListEntries(there)];
  /** The entries with keys, each with what is there of it. */
  const found = new Map<unknown, unknown>();
  const isThere = (key: string) => {
    const named = readJson(key.slice(2));
    if (key.startsWith("v:")) return left.delete(named) && all.has(named);
    if (!key.startsWith("k:") || !isJsonObject(named)) return false;
    const inner = fields[key];
    const entry = isJsonObject(inner) && ours.withKeys(writtenOf(named, inner));
    if (!entry || !left.delete(entry)) return false;
    found.set(entry, all.withKeys(named));
    return isAppliedAs(entry, found.get(entry), inner);
  };
  if (!keys.every(isThere)) return false;
  const entries = wanted.filter((entry) => found.has(entry)).map((entry) => found.get(entry));
  const isFound = new Set(entries);
  const inOrder = there.filter((entry) => isFound.has(entry));
  return entries.every((entry, at) => entry === inOrder[at]);
}

/**
 * The keys of an entry of a list, as they stand in the manifest. It may leave out a key that has a default. The API server then
 * fills the key in, and we do not own it.
 */
function writtenOf(keys: JsonObject, fields: JsonObject): Record<string, unknown> {
  const isWhole = Object.keys(fields).every((key) => key === ".");
  const isOwned = (name: string) => isWhole || Object.hasOwn(fields, `f:${name}`);
  return Object.fromEntries(
    Object.entries(keys).map(([name, value]) => [name, isOwned(name) ? value : undefined]),
  );
}

function isEmpty(value: unknown): boolean {
  return isEmptyMap(value) || (Array.isArray(value) && value.length === 0);
}
