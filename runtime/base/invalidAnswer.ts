import { ReconcileFailure } from "./failure";
import { writeJson } from "./json";
import { CUT, cut } from "./text";

/** The most characters of a handler's output that a sentence quotes. */
const LONGEST_QUOTE = 80;

/** The failure of an answer that breaks the contract. */
export function invalid(problem: string): ReconcileFailure {
  return new ReconcileFailure("InvalidAnswer", `the handler's answer is wrong: ${problem}.`);
}

/** The failure of an answer whose status does not fit the schema in the CRD. */
export function invalidStatus(flaw: string): ReconcileFailure {
  return invalid(`${flaw}. Correct the handler, or the schema of status in the CRD`);
}

/**
 * Checks that a part of an answer has no other keys than these. A key with the value null counts as left out.
 * @param path where the part is in the answer, with a dot at its end: "conditions[0]."; "" for the answer itself
 * @throws ReconcileFailure with reason `InvalidAnswer`
 */
export function checkKeys(
  part: Readonly<Record<string, unknown>>,
  known: readonly string[],
  path: string,
): void {
  const unknown = Object.keys(part).find((key) => part[key] !== null && !known.includes(key));
  if (unknown !== undefined)
    throw invalid(`an unknown key ${quote(path + unknown)}; the keys here are ${known.join(", ")}`);
}

/** A text in quotes, no longer than can be read. */
export function quote(text: string): string {
  return `"${cut(text, LONGEST_QUOTE)}"`;
}

/** Where the values of a Secret begin, in JSON or in what a language prints of a map, also in a text within a text. */
const VALUES = /\b((?:data|stringData)["'\\]*\s*[:=]).*/s;

/**
 * A line of a handler in quotes, as far as the first values of a Secret. The line is no answer, so the `Scrubber` does not know
 * these values and cannot mask them.
 */
export function quoteLine(line: string): string {
  return quote(line.replace(VALUES, `$1${CUT}`));
}

/** A value as JSON has it, no longer than can be read. */
export function shown(value: unknown): string {
  return cut(writeJson(value), LONGEST_QUOTE);
}
