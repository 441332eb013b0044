import { writeJson } from "./json";

/**
 * How deep an answer, an example or a file may be nested, its outermost object included. Nobody means to nest deeper, and code
 * that walks deeper values by recursion would break: `JSON.stringify` at some thousands of levels, Python's `json` at a thousand.
 */
export const MOST_LEVELS = 500;

/**
 * Why a value that was read from JSON or YAML cannot be passed on as it is, to follow its name. The value may be too deep,
 * or contain itself, as YAML's aliases allow. Or it has a number that JSON cannot carry, such as `1e999`, which would silently
 * become null. Undefined if nothing is wrong.
 */
export function flawOf(value: unknown, levels = MOST_LEVELS): string | undefined {
  if (typeof value === "number" && !Number.isFinite(value))
    return "contains a number that JSON cannot represent";
  if (typeof value !== "object" || value === null) return undefined;
  if (levels === 0) return `is nested more than ${MOST_LEVELS} levels deep`;
  for (const inner of Object.values(value)) {
    const flaw = flawOf(inner, levels - 1);
    if (flaw !== undefined) return flaw;
  }
  return undefined;
}

/**
 * Where a value has half of a character (a surrogate without its other half), as a path such as `children[0].data.a`. No API
 * server keeps such a text. Undefined if there is none.
 * @param path of the value itself
 */
export function loneSurrogateIn(value: unknown, path: string): string | undefined {
  if (typeof value === "string") return HALF_CHARACTER.test(value) ? path : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    if (HALF_CHARACTER.test(key)) return path;
    const found = loneSurrogateIn(inner, Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

const HALF_CHARACTER = /\p{Surrogate}/u;

/**
 * An object of the API as JSON. Undefined if it is nested too deeply: the API server takes 10,000 levels, and `JSON.stringify`
 * some thousands.
 */
export function jsonOf(object: object): string | undefined {
  try {
    return writeJson(object);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
