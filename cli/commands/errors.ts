import { didYouMean } from "../definition/nearest";
import { EXIT_CODES, UsageError } from "./commandError";
import { CATALOGUE, CODES, codeFor, type Entry, entryOf } from "./errors/catalogue";
import { indent, print, styleFor } from "./terminal";

/** @see errors */
export interface ErrorsOptions {
  readonly json?: true;
}

const style = styleFor(process.stdout);

/**
 * `argosy errors [CODE]`: what a code means, where to look and what to do; without a code, all of them.
 * @throws UsageError for a word that is no code
 */
export async function errors(word: string | undefined, { json }: ErrorsOptions): Promise<number> {
  if (word === undefined) list(json ?? false);
  else tell(word, json ?? false);
  return EXIT_CODES.fine;
}

function list(json: boolean): void {
  for (const [title, group] of Object.entries<Readonly<Record<string, Entry>>>(CATALOGUE)) {
    if (!json) print(`${style("bold", `${title}:`)}`);
    for (const [code, entry] of Object.entries(group)) {
      print(json ? JSON.stringify({ code, ...entry }) : `  ${code.padEnd(21)}${entry.happened}`);
    }
  }
  if (!json) print("argosy errors CODE shows where to look and what to do.");
}

function tell(word: string, json: boolean): void {
  const code = codeFor(word);
  const entry = entryOf(code);
  if (!entry) {
    const advice = didYouMean(word, CODES, "argosy errors lists all codes.");
    throw new UsageError(`There is no code ${word}. ${advice} The code may be a handler's own reason.`);
  }
  if (json) return print(JSON.stringify({ code, ...entry }));
  print(style("bold", code));
  const parts = [
    ["what happened", entry.happened],
    ["where to look", entry.look],
    ["what to do", entry.remedy],
  ] as const;
  for (const [title, text] of parts) print(`  ${title}\n${indent(text)}`);
}
