import { readFileSync } from "node:fs";
import path from "node:path";

const ROOT = path.join(__dirname, "../../..");

/** One `@example` of TSDoc. */
export interface Example {
  /** "components/operators.ts:24" */
  readonly place: string;
  readonly code: string;
}

/** Every `@example` in a file, without its fence and without the stars of the comment. */
export function examplesOf(file: string): Example[] {
  const text = readFileSync(path.join(ROOT, file), "utf8");
  return [...text.matchAll(/^ *\* ```ts\n(.*?)^ *\* ```$/gms)].map((match) => ({
    place: `${file}:${text.slice(0, match.index).split("\n").length}`,
    code: (match[1] ?? "").replace(/^ *\* ?/gm, ""),
  }));
}
