import { existsSync, mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { applyEdits, modify, type ParseError, parse } from "jsonc-parser";
import { isRecord } from "../../runtime/base/json";
import { rewriteFile } from "../common/rewriteFile";
import { DEBUG_HOST, type Debugger } from "./debuggedCommand";

/** An entry of `configurations` in VS Code's launch.json. */
export interface LaunchConfiguration {
  readonly name: string;
  readonly [field: string]: unknown;
}

/** What was done with launch.json. */
export type LaunchJsonResult =
  | { readonly kind: "written" | "unchanged"; readonly file: string }
  /** The entry could not be added, and the file was not changed. */
  | { readonly kind: "left"; readonly file: string; readonly why: string };

/** How VS Code attaches to an operator's debugged handler. */
export function launchConfiguration(operator: string, kind: Debugger, port: number): LaunchConfiguration {
  const name = `argosy: ${operator}`;
  if (kind === "debugpy") {
    return {
      name,
      type: "debugpy",
      request: "attach",
      connect: { host: DEBUG_HOST, port },
      justMyCode: true,
    };
  }
  return {
    name,
    type: "node",
    request: "attach",
    address: DEBUG_HOST,
    port,
    // After an edit, a new process waits at the same port.
    restart: true,
    skipFiles: ["<node_internals>/**"],
  };
}

/**
 * Writes an entry to `.vscode/launch.json` of a folder, or replaces the one of the same name. All other entries, comments and
 * the layout of the file stay. A file that is not understood is left alone.
 */
export function writeLaunchJson(folder: string, entry: LaunchConfiguration): LaunchJsonResult {
  const file = path.join(folder, ".vscode", "launch.json");
  try {
    const before = existsSync(file) ? readFileSync(file, "utf8") : undefined;
    const after = withConfiguration(before, entry);
    if (after === before) return { kind: "unchanged", file };
    mkdirSync(path.dirname(file), { recursive: true });
    rewriteFile(file, after);
    return { kind: "written", file };
  } catch (error) {
    return { kind: "left", file, why: (error as Error).message };
  }
}

/**
 * The text of launch.json with an added entry.
 * @param before the present text. Undefined or empty if there is no file
 * @throws Error if the text is not a launch.json
 */
export function withConfiguration(before: string | undefined, entry: LaunchConfiguration): string {
  if (before === undefined || before.trim() === "")
    return `${JSON.stringify({ version: "0.2.0", configurations: [entry] }, undefined, 2)}\n`;
  const errors: ParseError[] = [];
  const found: unknown = parse(before, errors, { allowTrailingComma: true });
  if (errors.length > 0 || !isRecord(found)) throw new Error("the file is not JSON with comments");
  const { configurations } = found;
  if (configurations !== undefined && !Array.isArray(configurations))
    throw new Error("its configurations are not a list");
  const list: unknown[] = configurations ?? [];
  const formattingOptions = formattingOf(before);
  const set = (text: string, place: (string | number)[], value: unknown, isArrayInsertion = false) =>
    applyEdits(text, modify(text, place, value, { formattingOptions, isArrayInsertion }));
  if (!configurations) return set(before, ["configurations"], [entry]);
  const index = list.findIndex((each) => isRecord(each) && each.name === entry.name);
  // After the last entry, the layout of that entry and the comments next to it would change.
  if (index < 0) return set(before, ["configurations", 0], entry, true);
  // Fields that the author has added to our entry stay.
  const there = list[index] as Record<string, unknown>;
  const changed = Object.entries(entry).filter(([key, value]) => !isDeepStrictEqual(there[key], value));
  return changed.reduce((text, [key, value]) => set(text, ["configurations", index, key], value), before);
}

function formattingOf(text: string) {
  const [, indent = "  "] = /^([ \t]+)\S/m.exec(text) ?? [];
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  return indent.startsWith("\t")
    ? { insertSpaces: false, tabSize: 4, eol }
    : { insertSpaces: true, tabSize: indent.length, eol };
}
