import { isDeepStrictEqual } from "node:util";
import type { Json, JsonObject } from "../../runtime/program";
import { breaking, type CrdChange, loosened, type Place, show, showAll, tightened } from "./change";
import { isIntOrString, objectsIn, type Schema, textsIn, typesOf } from "./schema";

/** Compares the rules in CEL, x-kubernetes-validations. A changed rule counts as one rule that is gone and one that is new. */
export function compareRules(before: Schema, after: Schema, place: Place): CrdChange[] {
  const [old, now] = [rulesOf(before), rulesOf(after)];
  const added = [...now].filter(([key]) => !old.has(key));
  const removed = [...old].filter(([key]) => !now.has(key));
  return [
    ...removed.map(([, rule]) =>
      loosened(place, "validation-rule-removed", `The rule ${show(rule.rule)} was removed`),
    ),
    ...added.map(([, rule]) => ruleAdded(rule, place)),
  ];
}

function ruleAdded({ rule }: JsonObject, place: Place): CrdChange {
  const what = `The rule ${show(rule)} was added`;
  // The rule compares with the stored object, so it concerns only updates.
  if (/\boldSelf\b/.test(String(rule))) {
    return breaking(
      place,
      "validation-rule-added",
      `${what}: anyone who makes a change that it forbids is refused; leave it out, or have the handler refuse such a change.`,
    );
  }
  return tightened(place, "validation-rule-added", what, "a value that breaks it");
}

/** The key of a rule: the expression, and whether it also holds for a new object. The message does not count. */
function rulesOf(schema: Schema): Map<string, JsonObject> {
  const rules = objectsIn(schema["x-kubernetes-validations"]);
  return new Map(
    rules.map((rule) => [show([String(rule.rule).trim(), rule.optionalOldSelf === true]), rule]),
  );
}

const KEYWORDS = ["allOf", "anyOf", "oneOf", "not"] as const;

/** The anyOf that generators write in addition to x-kubernetes-int-or-string, with the same meaning. */
const INT_OR_STRING: Json = [{ type: "integer" }, { type: "string" }];

/**
 * Compares allOf, anyOf, oneOf and not. To leave one of them out loosens, and so does a schema less in allOf or a schema more in
 * anyOf. No other change is judged: it counts as tightened.
 */
export function compareCompositions(before: Schema, after: Schema, place: Place): CrdChange[] {
  return KEYWORDS.flatMap((keyword) => {
    const [old, now] = [compositionOf(before, keyword), compositionOf(after, keyword)];
    if (isDeepStrictEqual(old, now) || (includesAll(old, now) && includesAll(now, old))) return [];
    const isLooser =
      now === undefined ||
      (keyword === "allOf" && includesAll(old, now)) ||
      (keyword === "anyOf" && old !== undefined && includesAll(now, old));
    if (isLooser) return [loosened(place, "composition-loosened", `${keyword} asks for less`)];
    const what = `${keyword} was ${old === undefined ? "added" : "changed"}, and Argosy cannot tell whether it accepts everything that was valid`;
    return [tightened(place, "composition-tightened", what, "a value that does not pass")];
  });
}

function compositionOf(schema: Schema, keyword: (typeof KEYWORDS)[number]): Json | undefined {
  const value = schema[keyword];
  if (keyword === "anyOf" && isIntOrString(schema) && isDeepStrictEqual(value, INT_OR_STRING)) {
    return undefined;
  }
  return value;
}

/** Whether the first list has every entry of the second. */
function includesAll(whole: Json | undefined, part: Json | undefined): boolean {
  if (!Array.isArray(whole) || !Array.isArray(part)) return false;
  return part.every((entry) => whole.some((other) => isDeepStrictEqual(entry, other)));
}

/** Server-side apply uses some keywords to tell who owns which field. This is what a change of such a keyword does, and to whom. */
const OWNERSHIP = "who applies the field runs into conflicts, or overwrites what others own in it";

/** The values that a list of this type does not allow. */
const EQUAL = { atomic: undefined, set: "equal items", map: "items with equal keys" } as const;

/**
 * Compares how lists and maps are merged. Every change breaks: items and fields with managers of their own become owned as a
 * whole, or the other way round, and the result for stored managed fields is not defined
 * (https://kubernetes.io/docs/reference/using-api/server-side-apply/#compatibility-across-toplogy-changes). The uniqueness of
 * items is checked as well (apiextensions-apiserver, schema/listtype/validation.go).
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
        `The list type changed from ${old} to ${now}: ${refused}${OWNERSHIP}; keep ${old}.`,
      ),
    ];
  }
  const [oldKeys, keys] = [keysOf(before), keysOf(after)];
  if (show(oldKeys) === show(keys)) return [];
  return [
    breaking(
      place,
      "list-map-keys-changed",
      `The keys of the items changed from ${showAll(oldKeys)} to ${showAll(keys)}: stored objects and requests with items of equal keys are refused, and ${OWNERSHIP}; keep the keys.`,
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
      `The map type changed from ${old} to ${now}: ${OWNERSHIP}; keep ${old}.`,
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
