import { type CrdChange, type LowerBound, loosened, type Place, tightened, type UpperBound } from "./change";
import { type JsonType, numberIn, type Schema, typesOf } from "./schema";

/** A limit, and whether the limit itself is excluded. */
interface Limit {
  readonly value: number;
  readonly exclusive: boolean;
}

/** A keyword that limits values, and its name in messages. */
interface Bound {
  readonly keyword: string;
  readonly types: readonly JsonType[];
  readonly name: string;
  /** The values that a new, narrower bound refuses. */
  readonly refused: string;
}

const LOWER: readonly (Bound & { readonly change: LowerBound })[] = [
  {
    keyword: "minimum",
    change: "minimum",
    types: ["integer", "number"],
    name: "minimum",
    refused: "a smaller value",
  },
  {
    keyword: "minLength",
    change: "min-length",
    types: ["string"],
    name: "minimum length",
    refused: "a shorter text",
  },
  {
    keyword: "minItems",
    change: "min-items",
    types: ["array"],
    name: "minimum number of items",
    refused: "fewer items",
  },
  {
    keyword: "minProperties",
    change: "min-properties",
    types: ["object"],
    name: "minimum number of fields",
    refused: "fewer fields",
  },
];

const UPPER: readonly (Bound & { readonly change: UpperBound })[] = [
  {
    keyword: "maximum",
    change: "maximum",
    types: ["integer", "number"],
    name: "maximum",
    refused: "a larger value",
  },
  {
    keyword: "maxLength",
    change: "max-length",
    types: ["string"],
    name: "maximum length",
    refused: "a longer text",
  },
  {
    keyword: "maxItems",
    change: "max-items",
    types: ["array"],
    name: "maximum number of items",
    refused: "more items",
  },
  {
    keyword: "maxProperties",
    change: "max-properties",
    types: ["object"],
    name: "maximum number of fields",
    refused: "more fields",
  },
];

/** Compares the bounds of values, lengths and numbers of items and fields, as far as they concern the types before. */
export function compareBounds(before: Schema, after: Schema, place: Place): CrdChange[] {
  const types = typesOf(before);
  const concerns = (bound: Bound) => bound.types.some((type) => types.includes(type));
  return [
    ...LOWER.filter(concerns).flatMap(({ change, ...bound }) => {
      const [old, now] = [lowest(before, bound), lowest(after, bound)];
      if (isAbove(now, old))
        return [tightened(place, `${change}-raised`, said(bound, "raised", old, now), bound.refused)];
      if (isAbove(old, now)) return [loosened(place, `${change}-lowered`, said(bound, "lowered", old, now))];
      return [];
    }),
    ...UPPER.filter(concerns).flatMap(({ change, ...bound }) => {
      const [old, now] = [highest(before, bound), highest(after, bound)];
      if (isBelow(now, old))
        return [tightened(place, `${change}-lowered`, said(bound, "lowered", old, now), bound.refused)];
      if (isBelow(old, now)) return [loosened(place, `${change}-raised`, said(bound, "raised", old, now))];
      return [];
    }),
  ];
}

function lowest(schema: Schema, { keyword }: Bound): Limit {
  const value = numberIn(schema, keyword) ?? Number.NEGATIVE_INFINITY;
  if (keyword !== "minimum") return { value: Math.max(0, value), exclusive: false };
  const exclusive = schema.exclusiveMinimum === true;
  if (schema.type !== "integer") return { value, exclusive };
  return { value: exclusive ? Math.floor(value) + 1 : Math.ceil(value), exclusive: false };
}

function highest(schema: Schema, { keyword }: Bound): Limit {
  const value = numberIn(schema, keyword) ?? Number.POSITIVE_INFINITY;
  const exclusive = keyword === "maximum" && schema.exclusiveMaximum === true;
  if (schema.type !== "integer") return { value, exclusive };
  return { value: exclusive ? Math.ceil(value) - 1 : Math.floor(value), exclusive: false };
}

function isAbove(limit: Limit, other: Limit): boolean {
  return limit.value > other.value || (limit.value === other.value && limit.exclusive && !other.exclusive);
}

function isBelow(limit: Limit, other: Limit): boolean {
  return limit.value < other.value || (limit.value === other.value && limit.exclusive && !other.exclusive);
}

function said({ name }: Bound, verb: string, old: Limit, now: Limit): string {
  return `The ${name} was ${verb} from ${showLimit(old)} to ${showLimit(now)}`;
}

function showLimit({ value, exclusive }: Limit): string {
  if (!Number.isFinite(value)) return "none";
  return exclusive ? `${value} (itself excluded)` : String(value);
}
