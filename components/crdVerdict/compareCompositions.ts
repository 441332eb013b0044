import { isDeepStrictEqual } from "node:util";
import type { Json } from "../../runtime/program";
import type { CrdChange, Place } from "./change";
import { isIntOrString, type Schema } from "./schema";
import { loosened, tightened } from "./wording";

const KEYWORDS = ["allOf", "anyOf", "oneOf", "not"] as const;

/** What generators write beside x-kubernetes-int-or-string; it says the same. */
const INT_OR_STRING: Json = [{ type: "integer" }, { type: "string" }];

/**
 * allOf, anyOf, oneOf and not. Loosened are: one of them left out, a schema less in allOf, a schema more in anyOf.
 * Whether any other change lets pass as much as before is not judged: it counts as tightened.
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
    const what = `${keyword} was ${old === undefined ? "added" : "changed"}, and whether all that was valid passes it cannot be judged`;
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
