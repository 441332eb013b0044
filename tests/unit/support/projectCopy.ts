import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { temporaryFolder } from "../../support/temporaryFolder";

/** The folder of this project. */
export const PROJECT = path.resolve(__dirname, "../../..");

/**
 * Copies this project into a new temporary folder, with the packages that are installed here. Its handlers/ has the tests'
 * own operators.
 */
export function copyProject(): string {
  const copy = newFolder();
  // Without `recursive`, Node 22.20 refuses a link to a folder.
  const asItIs = { recursive: true, verbatimSymlinks: true };
  for (const file of projectFiles()) cpSync(path.join(PROJECT, file), path.join(copy, file), asItIs);
  rmSync(path.join(copy, "handlers"), { recursive: true, force: true });
  copyHandlers(copy);
  symlinkSync(path.join(PROJECT, "node_modules"), path.join(copy, "node_modules"));
  return copy;
}

/**
 * The same with only the files that a program's author edits. All others are links, so that their code is that of this project:
 * to compile it again for each copy would take longer than the tests.
 */
export function copyProgram(): string {
  const copy = newFolder();
  for (const name of readdirSync(PROJECT)) {
    const [file, target] = [path.join(PROJECT, name), path.join(copy, name)];
    if (name === "index.ts" || /^Pulumi.*yaml$/.test(name)) cpSync(file, target);
    else if (name !== "handlers" && name !== ".git") symlinkSync(file, target);
  }
  copyHandlers(copy);
  return copy;
}

function newFolder(): string {
  return temporaryFolder();
}

function copyHandlers(copy: string): void {
  const handlers = path.join(PROJECT, "tests/program/handlers");
  cpSync(handlers, path.join(copy, "handlers"), { recursive: true, dereference: true });
}

/** The files that git knows or would add. */
export function projectFiles(): string[] {
  const options = { cwd: PROJECT, encoding: "utf8" } as const;
  return execFileSync("git", ["ls-files", "-co", "--exclude-standard", "-z"], options)
    .split("\0")
    .filter((file) => file !== "" && existsSync(path.join(PROJECT, file)));
}
