import { execFileSync } from "node:child_process";
import { cpSync, rmSync } from "node:fs";
import path from "node:path";

/** What of a folder is the program; handlers are its users'. */
export const PROGRAM_FILES = [
  "index.ts",
  "components",
  "definition",
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

/** More than the program has, by far. */
const MOST_BYTES = 2 ** 28;

/**
 * Puts the program as it was in a commit into an empty folder.
 * @param project a clone of the program
 * @param further paths of files that are to come with it
 * @throws Error where git knows no such commit, or one of the files was not there; its message ends with git's words
 */
export function takeProgramAt(
  commit: string,
  project: string,
  folder: string,
  ...further: readonly string[]
): void {
  const names = [...PROGRAM_FILES, ...further];
  const args = ["archive", "--format=tar", `${commit}^{commit}`, "--", ...names];
  const archive = execFileSync("git", args, { cwd: project, stdio: "pipe", maxBuffer: MOST_BYTES });
  execFileSync("tar", ["-x", "-C", folder], { input: archive, stdio: "pipe" });
}
