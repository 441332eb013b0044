import { existsSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { displayPath } from "../../definition/problems";
import { isRecord } from "../../runtime/base/json";
import { CommandError } from "../common/commandError";

/** The files that an ES module's folder stands for, as Pulumi looks for them. */
const INDEX_FILES = ["index.js", "index.mjs", "index.ts", "index.mts"];

/**
 * Runs a program's files as Pulumi's language host does (sdk/nodejs/cmd/run/run.ts): resources that a file registers while it is
 * loaded count, and an exported function is called. TypeScript is compiled, and its types are not checked.
 *
 * @param main Pulumi.yaml's `main`: a file or a folder
 * @returns the program's exports
 * @throws CommandError if there is no such file
 */
export async function loadProgram(folder: string, main?: string): Promise<unknown> {
  // The compiler is loaded only here, because that takes a while.
  require("../typescript.cjs");
  const place = placeOf(folder, main);
  const exported = isEsModule(folder) ? await importProgram(place) : requireProgram(place);
  return typeof exported === "function" ? exported() : exported;
}

/**
 * The folder in which Pulumi runs a program: that of its file (pkg/engine/project.go, getPwdMain).
 * @throws CommandError if there is no such folder
 */
export function workingFolderOf(folder: string, main?: string): string {
  const place = placeOf(folder, main);
  const working = isFolder(place) ? place : path.dirname(place);
  if (!isFolder(working)) throw noProgram(place);
  return working;
}

function placeOf(folder: string, main = "."): string {
  return path.resolve(folder, main);
}

function isFolder(place: string): boolean {
  return existsSync(place) && statSync(place).isDirectory();
}

function requireProgram(place: string): unknown {
  let file: string;
  try {
    file = require.resolve(place);
  } catch {
    throw noProgram(place);
  }
  // Without this, a file that was run before would not run again.
  delete require.cache[file];
  return require(file);
}

async function importProgram(place: string): Promise<unknown> {
  const candidates = isFolder(place) ? INDEX_FILES.map((name) => path.join(place, name)) : [place];
  const file = candidates.find((each) => existsSync(each));
  if (file === undefined) throw noProgram(place);
  const { register } = await import("tsx/esm/api");
  register();
  const exported: { readonly default?: unknown } = await import(pathToFileURL(file).href);
  return "default" in exported ? exported.default : exported;
}

function isEsModule(folder: string): boolean {
  const file = path.join(folder, "package.json");
  if (!existsSync(file)) return false;
  try {
    const content: unknown = JSON.parse(readFileSync(file, "utf8"));
    return isRecord(content) && content.type === "module";
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new CommandError(
      `${displayPath(file)} is not JSON: ${error.message}. Correct it, without a byte order mark.`,
    );
  }
}

function noProgram(place: string): CommandError {
  return new CommandError(
    `${displayPath(place)} has no program. Write an index.ts there, or name the file as main in Pulumi.yaml.`,
  );
}
