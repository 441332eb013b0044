import { readFileSync } from "node:fs";
import { type Document, parseAllDocuments } from "yaml";
import { flawOf } from "../flaw";
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
  const documents = parse(source, report);
  if (documents === undefined) return undefined;
  // Only the first error: the others mostly follow from it.
  const error = documents.flatMap((document) => document.errors)[0];
  if (error) {
    const { line, col } = error.linePos?.[0] ?? { line: 1, col: 1 };
    // The library goes on with the place and the lines around it.
    const reason = error.message.split(" at line ")[0]?.replace(/\.$/, "");
    report(`line ${line}, column ${col}`, `is not YAML: ${reason}`, "Correct it there or just before.");
    return undefined;
  }
  const contents = documents.map((document) => contentOf(document, report));
  return contents.some((content) => content === undefined)
    ? undefined
    : contents.filter((content): content is Json => content !== null);
}

/** YAML 1.2 whatever a file says of itself, and no tags: a date, a set or a byte string is nothing that JSON has. */
function parse(source: string, report: Report): Document[] | undefined {
  try {
    return [...parseAllDocuments(source, { schema: "core", resolveKnownTags: false, logLevel: "error" })];
  } catch (error) {
    report("the file", `cannot be read: ${reasonOf(error)}`, "It is nested too deeply.");
    return undefined;
  }
}

/** A document's content as JSON has it; undefined where it has been reported why that cannot be. */
function contentOf(document: Document, report: Report): Json | undefined {
  const remedy = "Write it without aliases and in fewer levels, as the API server would get it.";
  try {
    const content: Json = document.toJS();
    const flaw = flawOf(content);
    if (flaw === undefined) return content;
    report("the file", flaw, remedy);
  } catch (error) {
    report("the file", `cannot be read: ${reasonOf(error)}`, remedy);
  }
  return undefined;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
