import { ownValue, readJson } from "../json/json";
import { ListEntries } from "./listEntries";
import { isJsonObject, type JsonObject, type KubernetesObject, type ManagedFieldsEntry } from "./objects";

/**
 * The part of an object that one `managedFields` entry owns, with the values that it has now. The part changes if somebody takes a
 * field over, removes it, or writes another value in our name. It stays the same if others only write fields of their own, or if
 * the API server adds defaults.
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
  const keys = Object.keys(fields).filter((key) => key !== ".");
  if (keys.length === 0) {
    // We applied an empty map or list. Entries that others put into it are theirs.
    const isShared = others.some((other) => Object.keys(other).some((key) => key !== "."));
    if (!isShared) return there;
    return Array.isArray(there) ? [] : {};
  }
  const memberAt = membersOf(there);
  const members = keys.flatMap((key) => {
    const member = memberAt(key);
    if (member === undefined) return [];
    const inner = fields[key];
    const innerOthers = others.flatMap((other) => (isJsonObject(other[key]) ? [other[key]] : []));
    const value = valuesAt(member, isJsonObject(inner) ? inner : {}, innerOthers);
    return [{ name: key.slice(2), member, value }];
  });
  if (!Array.isArray(there)) return Object.fromEntries(members.map(({ name, value }) => [name, value]));
  // Not in the order of `managedFields`, which is that of the alphabet.
  const values = new Map(members.map(({ member, value }) => [member, value]));
  return there.flatMap((member) => (values.has(member) ? [values.get(member)] : []));
}

/**
 * Returns what a key of `fieldsV1` names in a value: a field (`f:`), the list entry with these keys (`k:`), or a value in a list
 * (`v:`).
 */
function membersOf(there: unknown): (key: string) => unknown {
  const entries = Array.isArray(there) ? new ListEntries(there) : undefined;
  return (key) => {
    const name = key.slice(2);
    if (key.startsWith("f:")) return isJsonObject(there) ? ownValue(there, name) : undefined;
    if (!entries) return undefined;
    const named = readJson(name);
    if (key.startsWith("k:") && isJsonObject(named)) return entries.withKeys(named);
    return entries.has(named) ? named : undefined;
  };
}
