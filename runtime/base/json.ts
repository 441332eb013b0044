// JSON without a loss, what it cannot carry, and fingerprints of it.
import { hash, randomUUID } from "node:crypto";

/**
 * Stands before an integer that a JavaScript number cannot hold, and makes it a text until it is written again. The mark cannot be
 * guessed, so no text of an object is mistaken for such an integer.
 */
const MARK = `${randomUUID()}:`;
const MARKED = new RegExp(`"${MARK}(-?\\d+)"`, "g");
const MARKED_TEXT = new RegExp(`^${MARK}(-?\\d+)$`);
/** A number with this many digits may be more than a JavaScript number can hold. */
const LONG_NUMBER = /\d{16}/;

/**
 * Characters that are valid in JSON, but that other readers understand differently. A server-side apply is read as YAML, which
 * refuses control characters and folds the line ends of Unicode. A handler's reader of lines may do so too
 * (https://yaml.org/spec/1.2.2/#51-character-set, Node's readline).
 */
const NOT_PLAIN = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;

/**
 * Reads JSON as `JSON.parse` does, without a loss. An integer of 64 bits, which JavaScript would round, becomes a text that
 * {@link writeJson} writes as the number that it was.
 * @throws SyntaxError
 */
export function readJson(text: string): unknown {
  return JSON.parse(LONG_NUMBER.test(text) ? marked(text) : text);
}

/**
 * Writes a value as JSON on one line, as `JSON.stringify` does, but with its integers as they were read, and with characters
 * escaped that not every reader of JSON accepts.
 * @throws TypeError, RangeError as `JSON.stringify`
 */
export function writeJson(value: unknown): string {
  return withIntegers(JSON.stringify(value).replace(NOT_PLAIN, escaped));
}

/** The same text with its integers as they were read. */
function withIntegers(text: string): string {
  return text.includes(MARK) ? text.replace(MARKED, "$1") : text;
}

/**
 * A value of JSON as a text that equal values share, in each process. The order of a map's keys does not matter. The value may have
 * any depth: recursion ends at some thousands of levels, and the API server keeps objects of 10,000.
 */
function canonicalJson(whole: unknown): string {
  let text = "";
  /** The lists and maps around the value that is written next, the innermost at the end. */
  const open: OpenValue[] = [];
  for (let value = whole; ; ) {
    const opened = openValue(value);
    if (opened) {
      text += opened.keys ? "{" : "[";
      open.push(opened);
    } else text += JSON.stringify(value) ?? "null";
    let inner = open.at(-1);
    for (; inner && inner.written === inner.size; inner = open.at(-1)) {
      text += inner.keys ? "}" : "]";
      open.pop();
    }
    if (!inner) return withIntegers(text);
    const at = inner.written++;
    if (at > 0) text += ",";
    const key = inner.keys?.[at];
    if (key !== undefined) text += `${JSON.stringify(key)}:`;
    value = inner.value[key ?? at];
  }
}

/** A list or a map of which a part is written. */
interface OpenValue {
  readonly value: Readonly<Record<string | number, unknown>>;
  /** Undefined for a list. */
  readonly keys: readonly string[] | undefined;
  readonly size: number;
  /** How many of its values are written. */
  written: number;
}

/** Undefined if the value is neither a list nor a map. */
function openValue(value: unknown): OpenValue | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const keys = Array.isArray(value) ? undefined : keysOf(value as Record<string, unknown>);
  const { length: size } = keys ?? (value as unknown[]);
  return { value: value as OpenValue["value"], keys, size, written: 0 };
}

/** The keys of a map that JSON holds, in order. Most maps that the API server gives have them in order. */
function keysOf(map: Readonly<Record<string, unknown>>): string[] {
  const keys = Object.keys(map).filter((key) => map[key] !== undefined);
  return keys.every((key, at) => at === 0 || (keys[at - 1] ?? "") <= key) ? keys : keys.sort();
}

/** The same value with numbers for the integers that {@link readJson} kept, as near as a JavaScript number comes. */
export function rounded(value: unknown): unknown {
  const text = JSON.stringify(value);
  if (!text.includes(MARK)) return value;
  return JSON.parse(text, (_, inner: unknown) => {
    const integer = keptInteger(inner);
    return integer === undefined ? inner : Number(integer);
  });
}

/** The integer that {@link readJson} kept because a JavaScript number would round it. Undefined for any other value. */
export function keptInteger(value: unknown): bigint | undefined {
  const [, digits] = (typeof value === "string" && MARKED_TEXT.exec(value)) || [];
  return digits === undefined ? undefined : BigInt(digits);
}

/** JSON with a mark at each integer that would be rounded. Texts are left as they are. */
function marked(text: string): string {
  const parts: string[] = [];
  for (let at = 0; at < text.length; ) {
    const quote = text.indexOf('"', at);
    const begin = quote < 0 ? text.length : quote;
    parts.push(text.slice(at, begin).replace(/-?\d[\d.eE+-]*/g, markedNumber));
    at = quote < 0 ? begin : endOfText(text, quote);
    parts.push(text.slice(begin, at));
  }
  return parts.join("");
}

/**
 * A key that an object has twice, of whose values `JSON.parse` keeps only the last. Undefined if there is none.
 * @param text valid JSON
 */
export function keyTwiceIn(text: string): string | undefined {
  /** The keys of the objects around the character, the innermost at the end. */
  const open: Set<string>[] = [];
  let latest = "";
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === "{") open.push(new Set());
    else if (character === "}") open.pop();
    else if (character === '"') {
      const end = endOfText(text, at);
      latest = text.slice(at, end);
      at = end - 1;
    } else if (character === ":") {
      const key: string = latest.includes("\\") ? JSON.parse(latest) : latest.slice(1, -1);
      if (open.at(-1)?.has(key)) return key;
      open.at(-1)?.add(key);
    }
  }
  return undefined;
}

function markedNumber(token: string): string {
  const isExact = !/^-?\d{16,}$/.test(token) || String(Number(token)) === token;
  return isExact ? token : `"${MARK}${token}"`;
}

/** Where a text ends, after its closing quote: the first quote that has an even number of backslashes before it. */
function endOfText(text: string, quote: number): number {
  for (let end = text.indexOf('"', quote + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text[end - 1 - backslashes] === "\\") backslashes++;
    if (backslashes % 2 === 0) return end + 1;
  }
  return text.length;
}

/** A character of the basic plane as JSON may write it: "\\u2028". */
export function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Whether a value that was read is a text. {@link readJson} keeps an integer of 64 bits as one that is none. */
export function isText(value: unknown): value is string {
  return typeof value === "string" && !value.startsWith(MARK);
}

/** A text, a number or a boolean as a text. A number has all digits that were read. Undefined for any other value. */
export function scalarText(value: unknown): string | undefined {
  if (isText(value)) return value;
  const isScalar = ["string", "boolean"].includes(typeof value) || Number.isFinite(value);
  return isScalar ? writeJson(value) : undefined;
}

/** Where a value is in another one: keys of maps, and places in lists. */
export type Way = readonly (string | number)[];

/** The JSON pointer of a way (RFC 6901). */
export function pointerOf(way: Way): string {
  return way.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** A map's own value of a key. Every object of JavaScript inherits values of further keys, such as "constructor". */
export function ownValue(map: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

/** The value at the end of a way. Undefined if there is none. */
export function valueAlong(whole: unknown, way: Way): unknown {
  return way.reduce((value, step) => {
    if (typeof step === "number") return Array.isArray(value) ? value[step] : undefined;
    return isRecord(value) ? ownValue(value, step) : undefined;
  }, whole);
}

/** Whether a value is an object with fields: not null, not a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a value is such an object, and has no fields. */
export function isEmptyMap(value: unknown): boolean {
  return isRecord(value) && Object.keys(value).length === 0;
}

/**
 * How deep an answer, an example or a file may be nested, its outermost object included. Deeper nesting is a mistake, and code
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

const HALF_CHARACTER = /\p{Surrogate}/u;

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
    const found = loneSurrogateIn(inner, "");
    if (found !== undefined) return `${path}${Array.isArray(value) ? `[${key}]` : `.${key}`}${found}`;
  }
  return undefined;
}

/**
 * An object of the API as JSON. Undefined if it is nested too deeply: the API server accepts 10,000 levels, and `JSON.stringify`
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

/**
 * A short string that differs where two JSON values differ. An object may remember it: it is the same in each process, and in
 * whatever order the keys of a map come. The value may have any depth, since an object that is nested too deeply must not stop
 * the work on all others.
 */
export function fingerprint(value: unknown): string {
  return textFingerprint(canonicalJson(value ?? null));
}

/** The same of a text. It takes a third of the time. */
export function textFingerprint(text: string): string {
  // A slice of the text would keep the whole text in memory.
  return Buffer.from(hash("sha256", text, "base64url"), "latin1").toString("latin1", 0, 22);
}

/** A fingerprint of only lower-case letters and digits, for a part of an object's name. */
export function fingerprintForName(value: unknown): string {
  return fingerprint(value)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, "");
}

/** A number from 0 to 1 that follows only from the key (FNV-1a). */
export function spread(key: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193) >>> 0;
  return hash / 2 ** 32;
}

/** The hash FNV-1a with 64 bits of a text of ASCII, as 16 hexadecimal digits. */
export function fnv64(text: string): string {
  let high = 0xcbf29ce4;
  let low = 0x84222325;
  for (let at = 0; at < text.length; at++) {
    // By 0x100000001b3, which is 2 ** 40 + 0x1b3.
    const product = ((low ^ text.charCodeAt(at)) >>> 0) * 0x1b3;
    const shifted = (low ^ text.charCodeAt(at)) << 8;
    high = (Math.imul(high, 0x1b3) + Math.floor(product / 2 ** 32) + shifted) >>> 0;
    low = product >>> 0;
  }
  return [high, low].map((half) => half.toString(16).padStart(8, "0")).join("");
}
