import { randomUUID } from "node:crypto";

/**
 * Stands before an integer that a JavaScript number cannot hold, and makes it a text until it is written again. Nobody can guess
 * the mark, so no text of an object is mistaken for such an integer.
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
export function canonicalJson(whole: unknown): string {
  let text = "";
  /** The lists and maps around the value that is written next, the innermost at the end. */
  const open: OpenValue[] = [];
  for (let value = whole; ; ) {
    const opened = openValue(value);
    text += opened ? opened.begin : leafText(value);
    if (opened) open.push(opened);
    let inner = open.at(-1);
    for (; inner && inner.written === inner.values.length; inner = open.at(-1)) {
      text += inner.end;
      open.pop();
    }
    if (!inner) return withIntegers(text);
    const at = inner.written++;
    if (at > 0) text += ",";
    if (inner.keys) text += `${JSON.stringify(inner.keys[at])}:`;
    value = inner.values[at];
  }
}

/** A list or a map of which a part is written. */
interface OpenValue {
  readonly begin: string;
  readonly end: string;
  /** Undefined for a list. */
  readonly keys?: readonly string[];
  readonly values: readonly unknown[];
  /** How many of the values are written. */
  written: number;
}

/** Undefined if the value is neither a list nor a map. */
function openValue(value: unknown): OpenValue | undefined {
  if (Array.isArray(value)) return { begin: "[", end: "]", values: value, written: 0 };
  if (!isRecord(value)) return undefined;
  const keys = keysOf(value);
  return { begin: "{", end: "}", keys, values: keys.map((key) => value[key]), written: 0 };
}

/** The keys of a map that JSON holds, in order. */
function keysOf(map: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(map)
    .filter((key) => map[key] !== undefined)
    .sort();
}

/** A list, too, holds nothing but JSON. */
function leafText(value: unknown): string {
  return JSON.stringify(value) ?? "null";
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

/** Whether a value is an object with fields: not null, not a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a value is such an object, and has no fields. */
export function isEmptyMap(value: unknown): boolean {
  return isRecord(value) && Object.keys(value).length === 0;
}
