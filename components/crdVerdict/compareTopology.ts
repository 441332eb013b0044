import { breaking, type CrdChange, type Place } from "./change";
import { type Schema, textsIn, typesOf } from "./schema";
import { show, showAll } from "./wording";

/** What server-side apply takes from the CRD: who owns what, field by field. */
const OWNERSHIP = "who applies the field runs into conflicts, or overwrites what others own in it";

/** What a list of this type does not allow. */
const EQUAL = { atomic: undefined, set: "equal items", map: "items with equal keys" } as const;

/**
 * How lists and maps are merged. Every change breaks: items and fields that were owned each by its own manager are
 * owned as one afterwards, or the other way round, and what that makes of managed fields that are stored is not defined
 * (https://kubernetes.io/docs/reference/using-api/server-side-apply/#compatibility-across-toplogy-changes). That no two
 * items are equal is checked besides (apiextensions-apiserver, schema/listtype/validation.go).
 */
export function compareTopology(before: Schema, after: Schema, place: Place): CrdChange[] {
  const types = typesOf(before);
  return [
    ...(types.includes("array") ? compareLists(before, after, place) : []),
    ...(types.includes("object") ? compareMaps(before, after, place) : []),
  ];
}

function compareLists(before: Schema, after: Schema, place: Place): CrdChange[] {
  const [old, now] = [listTypeOf(before), listTypeOf(after)];
  if (old !== now) {
    const equal = EQUAL[now];
    const refused = equal ? `stored objects and requests with ${equal} are refused, and ` : "";
    return [
      breaking(
        place,
        "list-type-changed",
        `The list type went from ${old} to ${now}: ${refused}${OWNERSHIP}; keep ${old}.`,
      ),
    ];
  }
  const [oldKeys, keys] = [keysOf(before), keysOf(after)];
  if (show(oldKeys) === show(keys)) return [];
  return [
    breaking(
      place,
      "list-map-keys-changed",
      `The keys of the items went from ${showAll(oldKeys)} to ${showAll(keys)}: stored objects and requests with items of equal keys are refused, and ${OWNERSHIP}; keep the keys.`,
    ),
  ];
}

function compareMaps(before: Schema, after: Schema, place: Place): CrdChange[] {
  const [old, now] = [mapTypeOf(before), mapTypeOf(after)];
  if (old === now) return [];
  return [
    breaking(
      place,
      "map-type-changed",
      `The map type went from ${old} to ${now}: ${OWNERSHIP}; keep ${old}.`,
    ),
  ];
}

function listTypeOf(schema: Schema): "atomic" | "set" | "map" {
  const type = schema["x-kubernetes-list-type"];
  return type === "set" || type === "map" ? type : "atomic";
}

function keysOf(schema: Schema): string[] {
  return textsIn(schema["x-kubernetes-list-map-keys"]).sort();
}

function mapTypeOf(schema: Schema): "granular" | "atomic" {
  return schema["x-kubernetes-map-type"] === "atomic" ? "atomic" : "granular";
}
