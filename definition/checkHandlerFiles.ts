import { isUtf8 } from "node:buffer";
import { accessSync, closeSync, constants, openSync, readFileSync, readSync, statSync } from "node:fs";
import path from "node:path";
import { checkFunction } from "./bundleFunction";
import { languageOf } from "./handlerProgram";
import { isLeftOut } from "./leftOut";
import type { Problems, Report } from "./problems";
import type { CheckedDefinition } from "./schema";

/** A word of a command that looks like a file of the folder: "main.py", "./bin/run.sh"; not "-x.y", not a URL. */
const FILE_NAME = /^(?!-)[\w./-]*[\w-]\.[A-Za-z]\w*$/;

/** Checks that the files that the handler names exist, are deployed, and seem to define the required functions. */
export function checkHandlerFiles(
  folder: string,
  { handler, finalize }: Pick<CheckedDefinition, "handler" | "finalize">,
  problems: Problems,
  report: Report,
): void {
  if (typeof handler !== "string") return checkCommandFiles(folder, handler.command, report);
  if (!isThere(folder, handler, "handler", "Create it, or correct the name.", report)) return;
  if (!isText(path.resolve(folder, handler))) {
    report("handler", `"${handler}" is not UTF-8`, "Save it in that encoding, as every editor can.");
    return;
  }
  const functions = ["reconcile", ...(finalize ? ["finalize"] : [])];
  if (languageOf(handler) === "python") checkPython(folder, handler, functions, report);
  else checkFunction(folder, handler, functions, problems, report);
}

function checkPython(folder: string, file: string, functions: readonly string[], report: Report): void {
  const source = readFileSync(path.resolve(folder, file), "utf8");
  for (const name of functions) {
    if (new RegExp(`\\b${name}\\b|import \\*`).test(source)) continue;
    report("handler", `"${file}" has no function ${name}(request)`, `Define it: def ${name}(request): ...`);
  }
}

function checkCommandFiles(folder: string, command: readonly string[], report: Report): void {
  for (const [index, word] of command.entries()) {
    // A program without a slash is searched on PATH. The word after -m is a Python module.
    const isFile = index === 0 ? word.includes("/") : FILE_NAME.test(word) && command[index - 1] !== "-m";
    if (!isFile || path.isAbsolute(word)) continue;
    const remedy =
      "Create it, or correct the name. If it is not a file, write it together with its option: --host=example.com.";
    const field = `handler.command[${index}]`;
    if (!isThere(folder, word, field, remedy, report)) continue;
    if (isWindowsScript(path.resolve(folder, word), index === 0)) {
      const complaint =
        "has Windows line endings: Linux reads each carriage return as part of the interpreter's name, or of a command";
      const advice = `Save it with Unix line endings. If git changes them, write this line into .gitattributes: ${path.basename(word)} eol=lf.`;
      report(field, `"${word}" ${complaint}`, advice);
    }
  }
}

/** Whether a file is in UTF-8, or says as Python code that it is in another encoding. */
function isText(file: string): boolean {
  const bytes = readFileSync(file);
  const [first = "", second = ""] = bytes.toString("latin1").split("\n", 2);
  return (isUtf8(bytes) && !bytes.includes(0)) || /^#.*coding[:=]/m.test(`${first}\n${second}`);
}

/**
 * Whether a shell script, or a file that names its interpreter, has lines that end as on Windows.
 * @param isRun whether Linux itself reads the interpreter's name
 */
function isWindowsScript(file: string, isRun: boolean): boolean {
  const isShell = /\.(ba)?sh$/.test(file);
  if (!isRun && !isShell) return false;
  // Linux reads the name from no more than these bytes. The rest of a compiled program may be large.
  const beginning = Buffer.alloc(256);
  const opened = openSync(file, "r");
  try {
    readSync(opened, beginning);
  } finally {
    closeSync(opened);
  }
  return (isShell ? /^(?!\x7fELF).*\r\n/ : /^#!.*\r\n/).test(beginning.toString("latin1"));
}

/** @param remedy if it is missing */
function isThere(folder: string, name: string, field: string, remedy: string, report: Report): boolean {
  const file = path.resolve(folder, name);
  if (!file.startsWith(folder + path.sep)) {
    const advice = "Put the file into the folder: only files in the folder are deployed.";
    report(field, `"${name}" is outside of the operator's folder`, advice);
    return false;
  }
  const complaint = unreadable(file);
  if (complaint !== undefined) {
    const advice = complaint === "is missing" ? remedy : "Name a file that can be read.";
    report(field, `"${name}" ${complaint}`, advice);
    return false;
  }
  const parts = path.relative(folder, file).split(path.sep);
  const leftOut = parts.find((part, index) => isLeftOut(part, index === 0));
  if (leftOut !== undefined) {
    const elsewhere = "Put the file elsewhere in the folder";
    // A function is always in the folder.
    const advice =
      field === "handler"
        ? `${elsewhere}.`
        : `${elsewhere}, or into the image, and then give its absolute path.`;
    report(field, `"${name}" is not deployed, because ${leftOut} is left out`, advice);
    return false;
  }
  return true;
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
