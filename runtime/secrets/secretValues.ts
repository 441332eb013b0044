import { isText, scalarText } from "../base/json";
import { secretDataOf } from "../base/kinds";
import type { Manifest } from "../base/objects";
import {
  bytesOfText,
  CUT_BYTES,
  type Reading,
  readingsOf,
  readingsOfValue,
  type Span,
  textOfBytes,
} from "./secretReadings";

/** Shorter values are common words, such as "true", and would mask half of every message. */
const SHORTEST_VALUE = 6;
/**
 * If a text ends, or is cut, within what begins with this many characters of a value, all of that counts as the value. Were the rest
 * compared too, a mask would say whether it is right: an author of objects whose words are reported could try one character after
 * another, until they have the whole value of a Secret that they may not read.
 */
const ENOUGH = 12;

/**
 * How many characters are read and compared, and how many more for each character of the texts. If that is not enough, because a text
 * resembles long values at very many places, or is encoded in very many ways, the whole text is withheld. Otherwise an author of
 * both could stop this process for minutes.
 */
const [MOST_WORK, MORE_FOR_EACH] = [2 ** 22, 16];

/** How much work may still be done for some texts, in characters that are read or compared. */
export interface Work {
  left: number;
}

/** What may be done for texts without length: each text adds more by its length. */
export function newWork(): Work {
  return { left: MOST_WORK };
}

/** A value that a text says, whatever its form. */
export interface FoundValue {
  readonly value: string;
  readonly reading: Reading;
  /** Where it is in the reading. */
  readonly span: Span;
}

/**
 * Finds known values in everything that a text may say: see {@link readingsOf}.
 *
 * Guarantee (tests/unit/scrubber.test.ts): tens of thousands of values with the same beginning are neither slow to add nor slow
 * to look for, since the work is bounded.
 */
export class SecretValues {
  /** By their beginnings: how often each value was added. */
  private readonly alike = new Map<number, Map<string, number>>();

  /** @param value in bytes, at least {@link SHORTEST_VALUE} */
  addValue(value: string): void {
    const beginning = beginningAt(value, 0);
    const alike = this.alike.get(beginning) ?? new Map<string, number>();
    this.alike.set(beginning, alike.set(value, (alike.get(value) ?? 0) + 1));
  }

  /** Takes back one {@link addValue}. */
  remove(value: string): void {
    const beginning = beginningAt(value, 0);
    const alike = this.alike.get(beginning);
    const left = (alike?.get(value) ?? 1) - 1;
    if (left > 0) alike?.set(value, left);
    else alike?.delete(value);
    if (alike?.size === 0) this.alike.delete(beginning);
  }

  /**
   * The values in a text, and the parts of values that a cut has left.
   * @param text in bytes: see {@link bytesOfText}
   * @param work loses what is done
   * @returns undefined if there is more work than may be done: what the text says is then not known
   */
  in(text: string, work: Work): FoundValue[] | undefined {
    const found: FoundValue[] = [];
    // A text before this one may have needed more than there was.
    work.left = Math.max(work.left, 0) + MORE_FOR_EACH * text.length;
    for (const reading of readingsOf(text)) {
      const { bytes } = reading;
      work.left -= bytes.length;
      let cut = -1;
      for (let from = 0; from + SHORTEST_VALUE <= bytes.length; from++) {
        const alike = this.alike.get(beginningAt(bytes, from));
        if (!alike) continue;
        if (cut < from) cut = endOfPart(bytes, from);
        const known = longestAt(bytes, from, cut, alike.keys(), work);
        if (work.left < 0) return undefined;
        if (!known) continue;
        const to = from + known.length;
        found.push({ value: known.value, reading, span: { from, to } });
        from = to - 1;
      }
      if (work.left < 0) return undefined;
    }
    return found;
  }
}

/** The longest of these values that begins there and is whole, or may be cut at `cut`. */
function longestAt(bytes: string, at: number, cut: number, values: Iterable<string>, work: Work) {
  let longest: { readonly value: string; readonly length: number } | undefined;
  for (const value of values) {
    const length = Math.min(value.length, cut - at);
    const common = commonLength(value, bytes, at, length);
    work.left -= 1 + common;
    if (work.left < 0) break;
    const isSaid = common === length || (length < value.length && common >= ENOUGH);
    if (isSaid && value.length > (longest?.value.length ?? 0)) longest = { value, length };
  }
  return longest;
}

/** The end of the part of a text that has a byte at `at`. A part of a text ends where something was, or may have been, left out. */
function endOfPart(bytes: string, at: number): number {
  const end = bytes.indexOf(CUT_BYTES, at);
  return end < 0 ? bytes.length : end;
}

/** How many of the first `most` characters of a value stand at `at`. */
function commonLength(value: string, bytes: string, at: number, most: number): number {
  let length = 0;
  while (length < most && value.charCodeAt(length) === bytes.charCodeAt(at + length)) length++;
  return length;
}

/** The first four bytes there, as a number without its two highest bits. Most places of a text begin no value. */
function beginningAt(bytes: string, at: number): number {
  return (
    bytes.charCodeAt(at) |
    (bytes.charCodeAt(at + 1) << 8) |
    (bytes.charCodeAt(at + 2) << 16) |
    ((bytes.charCodeAt(at + 3) & 0x3f) << 24)
  );
}

/** Shorter lines of a value with several lines are not masked: many a Secret is a file with settings. */
const SHORTEST_LINE = 16;

/** What programs trim from a line: JavaScript's, Go's and Python's white space. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: Python takes them away too
const BLANK = /[\s\x1c-\x1f\x85]/;

/** The values of a Secret in base64, without those that are names of objects. */
export function hiddenIn(secret: Manifest, names: ReadonlySet<string>): string[] {
  const values = Object.values(secretDataOf(secret));
  const encoded = values.flatMap((value) =>
    isText(value) ? [value] : scalarsIn(value).map((each) => Buffer.from(each).toString("base64")),
  );
  return encoded.filter((value) => !names.has(textOfBytes(bytesOf(value)).trim()));
}

/** The texts and numbers in a value that should be a text. The API server refuses it, and quotes it. It may have any depth. */
function scalarsIn(value: unknown): string[] {
  const left = [value];
  const texts: string[] = [];
  for (const each of left) {
    const text = scalarText(each);
    if (text !== undefined) texts.push(text);
    else if (typeof each === "object" && each !== null)
      for (const inner of Object.values(each)) left.push(inner);
  }
  return texts;
}

/**
 * What is looked for of a value, in bytes: the value, without the line end that a file leaves, and its lines. The reading of a text
 * undoes all encodings of these, except the plus of a form: it may as well be a plus.
 * @param encoded the value in base64. It may be none, as the API server's message about it says
 */
export function formsOf(encoded: string): string[] {
  const bytes = bytesOf(encoded);
  const text = textOfBytes(bytes);
  const trimmed = trim(text);
  const texts = [text, trimmed, ...linesOf(trimmed)].filter((each) => each.length >= SHORTEST_VALUE);
  const written = texts.flatMap((each) => [each, each.replaceAll(" ", "+")]).map(bytesOfText);
  const forms = [bytes, ...written].flatMap(readingsOfValue);
  return [...new Set([...forms, encoded])].filter(({ length }) => length >= SHORTEST_VALUE);
}

function bytesOf(encoded: string): string {
  return Buffer.from(encoded, "base64").toString("latin1");
}

/** A text without the blanks around it. One pattern for both ends would look at the blanks in between again and again. */
function trim(text: string): string {
  let [from, to] = [0, text.length];
  while (from < to && BLANK.test(text.charAt(from))) from++;
  while (from < to && BLANK.test(text.charAt(to - 1))) to--;
  return text.slice(from, to);
}

/** The lines of a value that has several. A short line may be a common word, and the frame of a key is the same in each file. */
function linesOf(value: string): string[] {
  if (!value.includes("\n")) return [];
  return value
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line.length >= SHORTEST_LINE && !/^-----[A-Z0-9 ]+-----$/.test(line));
}
