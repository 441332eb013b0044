import { cpSync, rmSync } from "node:fs";
import path from "node:path";

/** What of a folder is the program; handlers are its users'. */
export const PROGRAM_FILES = [
  "index.ts",
  "components",
  "runtime",
  "package.json",
  "tsconfig.json",
  "Pulumi.yaml",
] as const;

/** Puts the program that is in one folder into another, in place of the one there, as `git checkout` does. */
export function takeProgram(from: string, to: string): void {
  for (const name of PROGRAM_FILES) {
    rmSync(path.join(to, name), { recursive: true, force: true });
    cpSync(path.join(from, name), path.join(to, name), { recursive: true });
  }
}
