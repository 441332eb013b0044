import { readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";
import type { Json } from "../kubernetes/objects";
import type { Report } from "./operatorError";
import { isRecord } from "./shape";

/**
 * The documents of a YAML file that are not empty.
 *
 * @param file - absolute path
 * @param missing - what to do where there is no such file, in a sentence
 * @param report - is told of a file that cannot be read, and of a syntax error with line and column
 * @returns undefined where anything was reported
 */
export function readYaml(file: string, missing: string, report: Report): Json[] | undefined {
  let source: string;
  try {
    source = readFileSync(file, "utf8");
  } catch (error) {
    if (isRecord(error) && error.code === "ENOENT") report("the file", "is missing", missing);
    else report("the file", `cannot be read: ${reasonOf(error)}`, "Give a file that can be read.");
    return undefined;
  }
  const documents = parseAllDocuments(source);
  // Only the first error: the others mostly follow from it.
  const error = documents.flatMap((document) => document.errors)[0];
  if (error) {
    const { line, col } = error.linePos?.[0] ?? { line: 1, col: 1 };
    // The library goes on with the place and the lines around it.
    const reason = error.message.split(" at line ")[0]?.replace(/\.$/, "");
    report(`line ${line}, column ${col}`, `is not YAML: ${reason}`, "Correct it there or just before.");
    return undefined;
  }
  const contents: Json[] = documents.map((document) => document.toJS());
  return contents.filter((content) => content !== null);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
