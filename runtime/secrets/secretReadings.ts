// What a text may say, so that a value is found whatever has written it.
import { CUT } from "../base/text";

/** How many encodings may lie over one another: a user and a value in base64, in JSON, in base64 once more. */
const MOST_ENCODINGS = 3;
/** {@link CUT} as bytes. */
export const CUT_BYTES = latin1(CUT);

/** A part of a reading. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Base64, as standard, for URLs, and in lines as many programs break it; and hexadecimal digits. Each group of letters is some bytes. */
export const ENCODINGS = [
  { name: "base64", pattern: /[\w+/-]{8,}(?:\r?\n[ \t]*[\w+/-]+)*={0,2}/g, letters: 4, bytes: 3 },
  { name: "hex", pattern: /[\da-fA-F]{12,}/g, letters: 2, bytes: 1 },
] as const;

/** What a text says if an encoding is undone. */
export interface Reading {
  /** Its UTF-8, each byte as a character: so a value need be no text, and a half of a character can be compared. */
  readonly bytes: string;
  /** What says this part in the text itself, in bytes: whole escapes, and everything that is encoded together. */
  readonly outside: (span: Span) => Span;
}

/**
 * Everything that a text may say: as it is, with its escapes undone, and what it has in base64 and in hexadecimal digits, all of
 * these up to three times. It reads the text instead of writing a value in each known way: libraries differ in what they escape,
 * and a value may be in the middle of a longer base64.
 * @param bytes of the text
 */
export function* readingsOf(bytes: string): Generator<Reading> {
  const seen = new Set<string>();
  let readings: Reading[] = [{ bytes, outside: (span) => span }];
  for (let encodings = 0; readings.length > 0; encodings++) {
    const inner: Reading[] = [];
    for (const reading of readings) {
      if (seen.has(reading.bytes)) continue;
      seen.add(reading.bytes);
      yield reading;
      if (encodings < MOST_ENCODINGS) inner.push(...decoded(reading));
    }
    readings = inner;
  }
}

/** What is looked for of a value: itself, and what a text says of it whose escapes are undone together with its own. */
export function readingsOfValue(value: string): string[] {
  const readings = new Set([value]);
  // Those that are added are looked at too.
  for (const bytes of readings) {
    if (readings.size > MOST_ENCODINGS) break;
    for (const reading of unescaped({ bytes, outside: (span) => span })) readings.add(reading.bytes);
  }
  return [...readings];
}

/** A text as {@link Reading.bytes} has it. Half of a character before a cut would become a character of its own: it is left out. */
export function bytesOfText(text: string): string {
  return latin1(text.replace(/[\ud800-\udbff](?=…)/g, ""));
}

/** A text with something else in place of some of its parts. All of them are in bytes. */
export function replaced(bytes: string, spans: readonly (Span & { readonly instead: string })[]): string {
  const parts: string[] = [];
  let done = 0;
  for (const { from, to, instead } of spans.toSorted((one, two) => one.from - two.from || two.to - one.to)) {
    if (from >= done) parts.push(bytes.slice(done, from), instead);
    done = Math.max(done, to);
  }
  return parts.join("") + bytes.slice(done);
}

function latin1(text: string): string {
  return Buffer.from(text).toString("latin1");
}

/** The text of bytes. */
export function textOfBytes(bytes: string): string {
  return Buffer.from(bytes, "latin1").toString();
}

function* decoded(reading: Reading): Generator<Reading> {
  yield* unescaped(reading);
  for (const { name, pattern, letters } of ENCODINGS) {
    const runs = [...reading.bytes.matchAll(pattern)];
    // The letters before it may belong to something else, such as a path.
    for (let skipped = 0; runs.length > 0 && skipped < letters; skipped++)
      yield joined(
        runs.map((run) => {
          const bytes = Buffer.from(run[0].replace(/[\s=]/g, "").slice(skipped), name).toString("latin1");
          return { ...spanOf(run), bytes: bytes + (isBeforeCut(run) ? CUT_BYTES : "\n") };
        }),
        reading,
      );
  }
}

/** With the escapes of one kind undone, if there are any. */
function* unescaped(reading: Reading): Generator<Reading> {
  const { bytes } = reading;
  for (const [pattern, said] of ESCAPES) {
    const pieces: Piece[] = [];
    let done = 0;
    const copy = (to: number) => {
      if (to > done) pieces.push({ from: done, to, bytes: bytes.slice(done, to), isCopy: true });
    };
    for (const match of bytes.matchAll(pattern)) {
      const { 0: code, 1: unfinished, index } = match;
      const to = index + code.length;
      copy(index);
      pieces.push({ from: index, to, bytes: unfinished === undefined ? said(code, isBeforeCut(match)) : "" });
      done = to;
    }
    if (done === 0) continue;
    copy(bytes.length);
    yield joined(pieces, reading);
  }
}

function spanOf({ 0: whole, index }: RegExpExecArray): Span {
  return { from: index, to: index + whole.length };
}

/** Whether what stands behind a match has, or may have, been left out. */
function isBeforeCut({ 0: whole, index, input }: RegExpExecArray): boolean {
  const end = index + whole.length;
  return end === input.length || input.startsWith(CUT_BYTES, end);
}

/** A part of a reading, and what it says. */
interface Piece extends Span {
  readonly bytes: string;
  /** Whether it says itself, byte by byte. */
  readonly isCopy?: true;
}

/** The reading of these pieces of another one. */
function joined(pieces: readonly Piece[], { outside }: Reading): Reading {
  /** Where each piece begins in the new reading. */
  const starts: number[] = [];
  let length = 0;
  for (const { bytes } of pieces) {
    starts.push(length);
    length += bytes.length;
  }
  const placeOf = (at: number): Span => {
    const nth = lastAtMost(starts, at);
    const { from, to, isCopy } = pieces[nth] as Piece;
    const place = from + at - (starts[nth] as number);
    return isCopy ? { from: place, to: place + 1 } : { from, to };
  };
  return {
    bytes: pieces.map(({ bytes }) => bytes).join(""),
    outside: ({ from, to }) => outside({ from: placeOf(from).from, to: placeOf(to - 1).to }),
  };
}

/** The index of the last of these numbers, which are in order, that is not larger. -1: there is none. */
function lastAtMost(numbers: readonly number[], most: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((numbers[middle] as number) > most) high = middle;
    else low = middle + 1;
  }
  return low - 1;
}

/** The rest of an escape before a cut, which counts for nothing. */
const UNFINISHED = String.raw`(?:\\(?:[uUx][\da-fA-F{]{0,7}|[0-3][0-7]?)?|%[\da-fA-F]?|&[#\w]{0,8})(?=${CUT_BYTES})`;
/** One escape, or some that make characters together. */
const ESCAPE = new RegExp(
  [
    `(${UNFINISHED})`,
    // JSON and YAML, JavaScript, Go and the API server, Python, shells, URLs and forms.
    String.raw`(?:(?:\\u[\da-fA-F]{4})+|(?:\\x[\da-fA-F]{2})+|(?:\\[0-3][0-7]{2})+|(?:%[\da-fA-F]{2})+)(?:${UNFINISHED})?`,
    String.raw`\\[ux]\{[\da-fA-F]{1,6}\}|\\U[\da-fA-F]{8}|\\\r?\n[ \t]*|\\(?!&#?\w+;)[^]`,
    // HTML and XML.
    String.raw`&(?:#[xX][\da-fA-F]{1,6}|#\d{1,7}|amp|lt|gt|quot|apos|nbsp);`,
  ].join("|"),
  "g",
);
/** Bytes one by one as numbers, as Go, Python, Java and JSON write them. A plus is the space of a form. */
const NUMBERS = new RegExp(
  String.raw`(?<![\d-])-?\d{1,3}(?:(?:,[\s+]*|[\s+]+)-?\d{1,3}){5,}(?:[,\s+]*-?(?=${CUT_BYTES}))?`,
  "g",
);
/** Bytes in groups of hexadecimal digits. */
const GROUPS = new RegExp(
  String.raw`(?<![\da-fA-F])(?:[\da-fA-F]{2}){1,4}(?:[ :+]{1,2}(?:[\da-fA-F]{2}){1,4}){2,}(?:[ :+]*[\da-fA-F]?(?=${CUT_BYTES}))?`,
  "g",
);
/** A quote within quotes: of shells, of SQL and YAML, of CSV. */
const QUOTES = new RegExp(String.raw`('(?:"(?:'"?)?|\\'?)?|")(?=${CUT_BYTES})|'\\''|'"'"'|''|""`, "g");

/**
 * Escapes, the first group of which is an unfinished one, and what they say: before a cut, no half of a character. Quotes and lists of
 * bytes are apart from the rest, since a text may as well have two of them, or numbers.
 */
const ESCAPES: readonly (readonly [RegExp, (code: string, isBeforeCut: boolean) => string])[] = [
  [ESCAPE, saidBy],
  [QUOTES, (quotes) => quotes.slice(-1)],
  [NUMBERS, bytesListed],
  [GROUPS, (digits) => Buffer.from(digits.replace(/[ :+]/g, ""), "hex").toString("latin1")],
];

/** What a byte after a backslash says, in bytes. Every other one says itself: before "ä", the backslash is before its first byte. */
const LETTERS = inBytes({
  ...{ a: "\u0007", b: "\b", e: "\u001b", E: "\u001b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v", 0: "\0" },
  // Of YAML.
  ...{ _: "\u00a0", N: "\u0085", L: "\u2028", P: "\u2029" },
  // A line goes on in the next one.
  "\n": "",
});
const ENTITIES = inBytes({ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" });

function inBytes(texts: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(Object.entries(texts).map(([name, text]) => [name, latin1(text)]));
}

function saidBy(code: string, isBeforeCut: boolean): string {
  const first = code.charAt(0);
  const second = code.charAt(1);
  if (code.length === 2) return LETTERS.get(second) ?? second;
  if (first === "%") return bytesSaid(code, /%(..)/g, 16, isBeforeCut);
  if (first === "&") {
    const name = code.slice(1, -1);
    return second === "#"
      ? ofCodePoint(Number(name.slice(1).replace(/^x/i, "0x")))
      : (ENTITIES.get(name) ?? "");
  }
  if (second === "\n" || second === "\r") return "";
  if (code.charAt(2) === "{") return ofCodePoint(Number.parseInt(code.slice(3), 16));
  if (second === "U") return ofCodePoint(Number.parseInt(code.slice(2), 16));
  if (second === "u") {
    const units = numbersIn(code, /\\u([^\\]{4})/g, 16);
    return latin1(String.fromCharCode(...units).replace(/[\ud800-\udbff]$/, ""));
  }
  return second === "x"
    ? bytesSaid(code, /\\x([^\\]{2})/g, 16, isBeforeCut)
    : bytesSaid(code, /\\(\d{3})/g, 8, isBeforeCut);
}

/** Before a cut, the last number may be a half of one. */
function bytesListed(list: string, isBeforeCut: boolean): string {
  const bytes = Buffer.from((list.match(/-?\d+/g) ?? []).map(Number)).toString("latin1");
  return isBeforeCut ? bytes.slice(0, -1) : bytes;
}

function bytesSaid(code: string, each: RegExp, base: 8 | 16, isBeforeCut: boolean): string {
  const codes = numbersIn(code, each, base);
  return ofBytes(isBeforeCut ? withoutHalf(codes) : codes);
}

function numbersIn(code: string, each: RegExp, base: 8 | 16): number[] {
  return [...code.matchAll(each)].map(([, digits = ""]) => Number.parseInt(digits, base));
}

/** Bytes without the beginning of a character of UTF-8 at the end. */
function withoutHalf(codes: readonly number[]): readonly number[] {
  const last = codes.findLastIndex((code) => code < 0x80 || code >= 0xc0);
  const first = codes[last] ?? 0;
  const needed = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return codes.length - last < needed ? codes.slice(0, last) : codes;
}

/** Escapes name bytes of UTF-8, or characters: Python's and Go's `\xe4` is "ä". */
function ofBytes(numbers: readonly number[]): string {
  const bytes = String.fromCharCode(...numbers);
  return latin1(textOfBytes(bytes)) === bytes ? bytes : latin1(bytes);
}

function ofCodePoint(code: number): string {
  return code > 0x10ffff ? "" : latin1(String.fromCodePoint(code));
}
