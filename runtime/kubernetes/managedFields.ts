// What managedFields say of an object: whose each field is. Pure.
import { isDeepStrictEqual } from "node:util";
import { isEmptyMap, isRecord, ownValue, readJson, type Way } from "../base/json";
import {
  isJsonObject,
  type JsonObject,
  type KubernetesObject,
  type ManagedFieldsEntry,
  type Manifest,
} from "../base/objects";

// What `managedFields` says of an object: what a field manager applied, which of those values the object still has, and whether
// another apply would change anything. Pure functions.
//
// Guarantees: tests/unit/managedFields.test.ts.
// Caveat: none of them knows a schema. An entry names the fields of one version of the kind, and says nothing of the others.

/**
 * The entries in `managedFields` of what these field managers applied. What they wrote in another way does not count.
 * @param subresource "status" for what they applied to the status. @default what they applied to the object itself
 */
export function applyEntries(
  { metadata: { managedFields = [] } }: KubernetesObject,
  managers: readonly string[],
  subresource?: string,
): ManagedFieldsEntry[] {
  return managedFields.filter(
    (entry) =>
      entry.operation === "Apply" &&
      (entry.subresource || undefined) === subresource &&
      entry.manager !== undefined &&
      managers.includes(entry.manager),
  );
}

/** The entry of one field manager: see {@link applyEntries}. */
export function applyEntry(
  object: KubernetesObject,
  manager: string,
  subresource?: string,
): ManagedFieldsEntry | undefined {
  return applyEntries(object, [manager], subresource)[0];
}

/**
 * The part of an object that one `managedFields` entry owns, with the values that it has now. The part changes if another client
 * takes a field over, removes it, or writes another value in our name. It stays the same if other clients only write fields of
 * their own, or if the API server adds defaults.
 *
 * The times in `managedFields` do not suffice, because they are whole seconds.
 */
export function ownedValues(object: KubernetesObject, entry: ManagedFieldsEntry | undefined): unknown {
  const others = (object.metadata.managedFields ?? []).filter((each) => each !== entry);
  return (
    entry?.fieldsV1 &&
    valuesAt(
      object,
      entry.fieldsV1,
      others.map(({ fieldsV1 = {} }) => fieldsV1),
    )
  );
}

function valuesAt(there: unknown, fields: JsonObject, others: readonly JsonObject[]): unknown {
  const keys = keysOf(fields);
  if (keys.length === 0) {
    // We applied an empty map or list. Entries that others put into it are theirs.
    const isShared = others.some((other) => keysOf(other).length > 0);
    if (!isShared) return there;
    return Array.isArray(there) ? [] : {};
  }
  const memberAt = membersOf(there);
  const values: [name: string, value: unknown][] = [];
  const byMember = Array.isArray(there) ? new Map<unknown, unknown>() : undefined;
  for (const key of keys) {
    const member = memberAt(key);
    if (member === undefined) continue;
    const innerOthers = others.map((other) => other[key]).filter(isJsonObject);
    const value = valuesAt(member, innerOf(fields, key), innerOthers);
    if (byMember) byMember.set(member, value);
    else values.push([key.slice(2), value]);
  }
  if (!byMember) return Object.fromEntries(values);
  // Not in the order of `managedFields`, which is that of the alphabet.
  return (there as unknown[]).flatMap((member) => (byMember.has(member) ? [byMember.get(member)] : []));
}

/** A field as `fieldsV1` names the steps to it: `["f:spec", "f:ports", 'k:{"port":80}']`. */
export type OwnedField = readonly string[];

/** An apply by a field manager that already owns a part of the object. Each of the values is that of one field, or of all. */
interface Release {
  /** The manifest that is applied. */
  readonly wanted: unknown;
  /** The object before the apply, and after it. */
  readonly before: unknown;
  readonly after: unknown;
  /** What an object has that is created instead of being changed. @default nothing */
  readonly fresh?: unknown;
}

/**
 * The fields that an apply releases and that keep their values although no other manager owns them. Fields that a new object has
 * too do not count: they are defaults.
 * @param fields `fieldsV1` of the manager's entry before the apply, or a part of it
 * @param others `fieldsV1` of the entries of others
 */
export function fieldsThatStay(
  fields: JsonObject,
  { wanted, before, after, fresh }: Release,
  others: readonly JsonObject[],
): OwnedField[] {
  if (before === undefined || after === undefined) return [];
  const keys = keysOf(fields);
  if (keys.length === 0) {
    const stays = wanted == null && isDeepStrictEqual(before, after) && !isDeepStrictEqual(after, fresh);
    return stays ? [[]] : [];
  }
  const [is, was, stays, made] = [membersOf(wanted), membersOf(before), membersOf(after), membersOf(fresh)];
  return keys.flatMap((key) => {
    const inner = innerOf(fields, key);
    const owners = others.flatMap((other) => (Object.hasOwn(other, key) ? [innerOf(other, key)] : []));
    const isTheirs = owners.some((owner) => keysOf(inner).length === 0 || keysOf(owner).length === 0);
    if (isTheirs) return [];
    const part = { wanted: is(key, inner), before: was(key), after: stays(key), fresh: made(key) };
    return fieldsThatStay(inner, part, owners).map((field) => [key, ...field]);
  });
}

/** A map that becomes empty: its paths in the manifest and in the existing object. */
interface EmptiedMap {
  readonly wanted: Way;
  readonly there: Way;
}

/**
 * The maps from which an apply removes all keys, because the manifest has them empty.
 * @param fields `fieldsV1` of the manager's entry before the apply, or a part of it, to which the other values belong
 */
export function emptiedMaps(fields: JsonObject, wanted: unknown, there: unknown): EmptiedMap[] {
  const keys = keysOf(fields);
  if (isEmptyMap(wanted)) {
    const isOurs = isRecord(there) && Object.keys(there).every((key) => Object.hasOwn(fields, `f:${key}`));
    return isOurs && !isEmptyMap(there) ? [{ wanted: [], there: [] }] : [];
  }
  const [is, was] = [membersOf(wanted), membersOf(there)];
  return keys.flatMap((key) => {
    const inner = innerOf(fields, key);
    const [member, before] = [is(key, inner), was(key)];
    const step = (whole: unknown, part: unknown) =>
      Array.isArray(whole) ? whole.indexOf(part) : key.slice(2);
    return emptiedMaps(inner, member, before).map((map) => ({
      wanted: [step(wanted, member), ...map.wanted],
      there: [step(there, before), ...map.there],
    }));
  });
}

/**
 * Whether one of the entries owns a field, something in it, or the whole that it is a part of. If an entry names the fields of
 * another version of the kind, it counts as an owner of all of them, except those of the status.
 * @param entries the entries to look at. @default all of the object's
 */
export function isOwned(
  { apiVersion, metadata }: Manifest,
  field: OwnedField,
  entries: readonly ManagedFieldsEntry[] = metadata.managedFields ?? [],
): boolean {
  return entries.some((entry) =>
    entry.apiVersion === apiVersion
      ? owns(entry.fieldsV1 ?? {}, field)
      : (entry.subresource || undefined) !== "status",
  );
}

function owns(fields: JsonObject, [key = "", ...rest]: OwnedField): boolean {
  if (!Object.hasOwn(fields, key)) return false;
  const inner = innerOf(fields, key);
  return rest.length === 0 || keysOf(inner).length === 0 || owns(inner, rest);
}

/** The keys of a part of `fieldsV1`. Empty: the value is owned as a whole. */
function keysOf(fields: JsonObject): string[] {
  return Object.keys(fields).filter((key) => key !== ".");
}

/** The part of `fieldsV1` below a key. Empty: the value there is owned as a whole. */
function innerOf(fields: JsonObject, key: string): JsonObject {
  const inner = fields[key];
  return isJsonObject(inner) ? inner : {};
}

/**
 * Returns what a key of `fieldsV1` names in a value: a field (`f:`), the list entry with these keys (`k:`), or a value in a list
 * (`v:`). If the value is a manifest's, it takes the part of `fieldsV1` below the key too: see {@link writtenOf}.
 */
function membersOf(there: unknown): (key: string, written?: JsonObject) => unknown {
  const entries = Array.isArray(there) ? new ListEntries(there) : undefined;
  return (key, written) => {
    const name = key.slice(2);
    if (key.startsWith("f:")) return isJsonObject(there) ? ownValue(there, name) : undefined;
    if (!entries) return undefined;
    const named = readJson(name);
    if (key.startsWith("k:") && isJsonObject(named))
      return entries.withKeys(written ? writtenOf(named, written) : named);
    return entries.has(named) ? named : undefined;
  };
}

/** The values of some fields of an entry of a list. Undefined: the entry does not have the field. */
type Keys = Readonly<Record<string, unknown>>;

/**
 * The entries of one list, as `fieldsV1` names them: by their keys (`k:`), or by their values (`v:`).
 *
 * Guarantee (tests/unit/managedFields.test.ts): to find an entry takes no look at all the others. The author of an object may cause
 * tens of thousands of entries in one of its children.
 */
class ListEntries {
  private values: ReadonlySet<unknown> | undefined;
  /** The first entry with each text of its keys, by the names of these keys. */
  private readonly byKeys = new Map<string, ReadonlyMap<string, unknown>>();

  constructor(private readonly list: readonly unknown[]) {}

  /** Whether the list has a value that is neither a map nor a list. */
  has(value: unknown): boolean {
    this.values ??= new Set(this.list);
    return this.values.has(value);
  }

  /** The first entry with these keys. Undefined if there is none. */
  withKeys(keys: Keys): unknown {
    const names = Object.keys(keys);
    const id = names.join("\n");
    const known = this.byKeys.get(id) ?? this.index(names);
    this.byKeys.set(id, known);
    return known.get(textOf(keys, names));
  }

  private index(names: readonly string[]): ReadonlyMap<string, unknown> {
    const entries = new Map<string, unknown>();
    for (const entry of this.list) {
      if (!isRecord(entry)) continue;
      const text = textOf(entry, names);
      if (!entries.has(text)) entries.set(text, entry);
    }
    return entries;
  }
}

/**
 * The keys of an entry of a list, as the manifest has them. It may leave out a key that has a default. The API server then fills
 * the key in, and we do not own it.
 * @param fields `fieldsV1` of the entry
 */
function writtenOf(keys: Keys, fields: Keys): Keys {
  const isWhole = Object.keys(fields).every((key) => key === ".");
  const isOwned = (name: string) => isWhole || Object.hasOwn(fields, `f:${name}`);
  return Object.fromEntries(
    Object.entries(keys).map(([name, value]) => [name, isOwned(name) ? value : undefined]),
  );
}

/** The values of these fields as one text. A map or a list is not a key. */
function textOf(entry: Keys, names: readonly string[]): string {
  const texts = names.map((name) => {
    const value = entry[name];
    return typeof value === "object" && value !== null ? "{}" : (JSON.stringify(value) ?? "");
  });
  return texts.join("\n");
}

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

/**
 * The same for one value of an object. A list whose entries are owned one by one may have an order, such as that of init containers, and
 * an apply changes it.
 * @param fields the part of `fieldsV1` below that value
 */
export function isAppliedAs(wanted: unknown, there: unknown, fields: unknown): boolean {
  if (!isJsonObject(fields)) return false;
  const keys = keysOf(fields);
  // A leaf, or a map or list that is owned as a whole. Empty ones are not always stored.
  if (keys.length === 0) return isDeepStrictEqual(wanted, there) || (there === undefined && isEmpty(wanted));
  const isList = Array.isArray(wanted) && Array.isArray(there);
  if (!isList && !(isJsonObject(wanted) && isJsonObject(there))) return false;
  if (Object.keys(wanted as object).length !== keys.length) return false;
  const [is, was] = [membersOf(wanted), membersOf(there)];
  /** The entries of a list that have keys, each with the existing entry of that key. */
  const found = new Map<unknown, unknown>();
  const isThere = (key: string) => {
    const entry = is(key, innerOf(fields, key));
    const its = was(key);
    if (entry === undefined || found.has(entry)) return false;
    if (key.startsWith("k:")) found.set(entry, its);
    return isAppliedAs(entry, its, fields[key]);
  };
  return keys.every(isThere) && (!isList || isInOrder(wanted, there, found));
}

function isInOrder(wanted: unknown[], there: unknown[], found: ReadonlyMap<unknown, unknown>): boolean {
  const entries = wanted.filter((entry) => found.has(entry)).map((entry) => found.get(entry));
  const isFound = new Set(entries);
  const inOrder = there.filter((entry) => isFound.has(entry));
  return entries.every((entry, at) => entry === inOrder[at]);
}

function isEmpty(value: unknown): boolean {
  return isEmptyMap(value) || (Array.isArray(value) && value.length === 0);
}
