import { cut } from "../cut";
import { ReconcileFailure } from "../failure";

/** So many characters of what a handler wrote can be read in a sentence. */
const LONGEST_QUOTE = 80;

/** The failure of an answer that breaks the contract. */
export function invalid(problem: string): ReconcileFailure {
  return new ReconcileFailure("InvalidAnswer", `the handler answered wrongly: ${problem}.`);
}

/** A text in quotes, no longer than can be read. */
export function quote(text: string): string {
  return `"${cut(text, LONGEST_QUOTE)}"`;
}

/** A value as JSON has it, no longer than can be read. */
export function shown(value: unknown): string {
  return cut(JSON.stringify(value), LONGEST_QUOTE);
}
