import { isDeepStrictEqual } from "node:util";
import { anyBreaks, type CrdChange, type Place, safe } from "./change";
import { compareBounds } from "./compareBounds";
import { compareCompositions } from "./compareCompositions";
import { compareFields } from "./compareFields";
import { compareRules } from "./compareRules";
import { compareTopology } from "./compareTopology";
import { compareTypes } from "./compareTypes";
import { compareValues } from "./compareValues";
import { nestedSchemas } from "./nestedSchemas";
import type { Schema } from "./schema";

const DOCUMENTATION = ["title", "description", "example", "externalDocs"];

/** Every difference between two schemas of one value, and within it. Nothing below a type that has changed. */
export function compareSchemas(before: Schema, after: Schema, place: Place): CrdChange[] {
  if (isDeepStrictEqual(before, after)) return [];
  const types = compareTypes(before, after, place);
  if (anyBreaks(types)) return types;
  return [
    ...types,
    ...COMPARISONS.flatMap((compare) => compare(before, after, place)),
    ...nestedSchemas(before, after, place).flatMap((pair) =>
      compareSchemas(pair.before, pair.after, pair.place),
    ),
  ];
}

const COMPARISONS: readonly ((before: Schema, after: Schema, place: Place) => CrdChange[])[] = [
  compareValues,
  compareBounds,
  compareCompositions,
  compareRules,
  compareTopology,
  compareFields,
  compareDocumentation,
];

function compareDocumentation(before: Schema, after: Schema, place: Place): CrdChange[] {
  if (DOCUMENTATION.every((keyword) => isDeepStrictEqual(before[keyword], after[keyword]))) return [];
  return [safe(place, "description-changed", "The description was changed, which nothing depends on.")];
}
