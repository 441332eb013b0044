import { accessSync, constants, statSync } from "node:fs";
import path from "node:path";
import type { Report } from "./operatorError";

/** A word of a command that looks like a file of the folder: "main.py", "./bin/run.sh"; not "-x.y", not a URL. */
const FILE_NAME = /^(?!-)[\w./-]*[\w-]\.[A-Za-z]\w*$/;

/** Checks that the files of the operator's folder that a handler's command names are there to be run. */
export function checkHandlerFiles(folder: string, command: readonly string[], report: Report): void {
  for (const [index, word] of command.entries()) {
    // A program without a slash is looked for on PATH; what follows -m is a module of Python's.
    const isFile = index === 0 ? word.includes("/") : FILE_NAME.test(word) && command[index - 1] !== "-m";
    if (!isFile || path.isAbsolute(word)) continue;
    const field = `handler.command[${index}]`;
    const file = path.resolve(folder, word);
    if (!file.startsWith(folder + path.sep)) {
      report(
        field,
        `"${word}" is outside of the operator's folder`,
        "Put the file into the folder: only that is carried along.",
      );
      continue;
    }
    const complaint = unreadable(file);
    if (complaint === undefined) continue;
    const remedy =
      complaint === "is missing"
        ? "Create it, or correct the name; what is no file goes with its option: --host=example.com."
        : "Name a file that can be read.";
    report(field, `"${word}" ${complaint}`, remedy);
  }
}

function unreadable(file: string): string | undefined {
  try {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats === undefined) return "is missing";
    if (!stats.isFile()) return "is not a file";
    accessSync(file, constants.R_OK);
    return undefined;
  } catch {
    return "cannot be read";
  }
}
