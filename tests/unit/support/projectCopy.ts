import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/** The folder of this project. */
export const PROJECT = path.resolve(__dirname, "../../..");

/**
 * Copies this project into a new temporary folder, with the packages that are installed here. Its handlers/ has the tests'
 * own operators.
 */
export function copyProject(): string {
  const copy = realpathSync(mkdtempSync(path.join(tmpdir(), "argosy-project-")));
  // Without `recursive`, Node 22.20 refuses a link to a folder.
  const asItIs = { recursive: true, verbatimSymlinks: true };
  for (const file of projectFiles()) cpSync(path.join(PROJECT, file), path.join(copy, file), asItIs);
  rmSync(path.join(copy, "handlers"), { recursive: true, force: true });
  cpSync(path.join(PROJECT, "tests/program/handlers"), path.join(copy, "handlers"), {
    recursive: true,
    dereference: true,
  });
  symlinkSync(path.join(PROJECT, "node_modules"), path.join(copy, "node_modules"));
  return copy;
}

/** The files that git knows or would add. */
export function projectFiles(): string[] {
  const options = { cwd: PROJECT, encoding: "utf8" } as const;
  return execFileSync("git", ["ls-files", "-co", "--exclude-standard", "-z"], options)
    .split("\0")
    .filter((file) => file !== "" && existsSync(path.join(PROJECT, file)));
}
