import { ReconcileFailure } from "../failure";

/** The failure of an answer that breaks the contract. */
export function invalid(problem: string): ReconcileFailure {
  return new ReconcileFailure("InvalidAnswer", `the handler answered wrongly: ${problem}.`);
}

/** A text in quotes, no longer than can be read. */
export function quote(text: string): string {
  return `"${cut(text)}"`;
}

/** A value as JSON has it, no longer than can be read. */
export function shown(value: unknown): string {
  return cut(JSON.stringify(value));
}

function cut(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
