// YAML with line and column, and its traps.
import { lstatSync, readFileSync, statSync } from "node:fs";
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  Parser,
  parseAllDocuments,
  Scalar,
  visit,
} from "yaml";
import { flawOf, isRecord, MOST_LEVELS, readJson } from "../runtime/base/json";
import type { Json } from "../runtime/base/objects";
import type { Locate, Position, Problems, Report } from "./problems";
import { readByKubectl } from "./readByKubectl";

/** A document of a YAML file, as JSON. */
export interface YamlDocument {
  readonly content: Json;
  /** Reports what is wrong with a field, with line and column. */
  readonly report: Report;
  /** Where each field is. */
  readonly locate: Locate;
}

/** @see readYaml */
export interface YamlOptions {
  readonly integers?: "exact" | "rounded";
  readonly keys?: "ours" | "shared";
}

/**
 * The documents of a YAML file that are not empty. A text that kubectl reads otherwise is a mistake: people move objects between
 * files, and tools apply a CRD as well.
 *
 * @param file absolute path
 * @param missing what to do if there is no such file, in a sentence
 * @param problems gets a file that cannot be read, and mistakes in the YAML, with line and column
 * @param options.integers "exact": integers of 64 bits are kept as `readJson` keeps them, for objects of a cluster. @default "rounded"
 * @param options.keys "ours": no other program reads the file's keys, so `on` may be one. @default "shared"
 * @returns undefined if anything was reported
 */
export function readYaml(
  file: string,
  missing: string,
  problems: Problems,
  { integers = "rounded", keys = "shared" }: YamlOptions = {},
): YamlDocument[] | undefined {
  const source = readText(file, missing, problems.in(file));
  const parsed = source === undefined ? undefined : parse(source, integers === "exact", problems.in(file));
  if (parsed === undefined) return undefined;
  const documents: YamlDocument[] = [];
  for (const { document, locate, lineCounter } of parsed) {
    const report = problems.in(file, locate);
    const flaw = flawOfYaml(document);
    if (flaw) {
      problems.in(file, () => flaw.position)("the file", flaw.complaint, "Correct it there or just before.");
      return undefined;
    }
    const misread = misreadIn(document, keys);
    for (const { node, text, complaint, remedy } of misread)
      problems.in(file, () => positionAt(lineCounter, node.range?.[0]))(text, complaint, remedy);
    if (misread.length > 0) return undefined;
    const content = contentOf(document, report);
    if (content === undefined) return undefined;
    if (content !== null) documents.push({ content, report, locate });
  }
  return documents;
}

/** A file's text. A byte order mark, which some editors put before it, is left out. */
function readText(file: string, missing: string, report: Report): string | undefined {
  try {
    // A named pipe would block for ever.
    if (statSync(file).isFile()) return new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(file));
    report("it", "is not a file", "Give a file that can be read.");
  } catch (error) {
    const code = isRecord(error) ? error.code : undefined;
    if (code === "ENOENT" && lstatSync(file, { throwIfNoEntry: false })) {
      report("the symbolic link", "leads nowhere", "Remove it, or mend it.");
    } else if (code === "ENOENT") report("the file", "is missing", missing);
    else if (code === "ERR_ENCODING_INVALID_ENCODED_DATA") {
      report("the file", "is not UTF-8", "Save it in that encoding, as every editor can.");
    } else report("the file", `cannot be read: ${reasonOf(error)}`, "Give a file that can be read.");
  }
  return undefined;
}

interface ParsedDocument {
  readonly document: Document;
  readonly locate: Locate;
  readonly lineCounter: LineCounter;
}

function parse(source: string, intAsBigInt: boolean, report: Report): ParsedDocument[] | undefined {
  if (isTooDeep(source)) {
    report("the file", `is nested more than ${MOST_LEVELS} levels deep`, "Write it in fewer levels.");
    return undefined;
  }
  const lineCounter = new LineCounter();
  return documentsOf(source, { intAsBigInt, lineCounter }).map((document) => ({
    document,
    lineCounter,
    locate: (field) => positionAt(lineCounter, offsetOf(document, field)),
  }));
}

/**
 * The documents of a YAML text with their comments and layout, also the empty ones. It is YAML 1.2, even if a file names another
 * version. Tags are not resolved, because JSON has no dates, sets or byte strings.
 */
export function documentsOf(
  source: string,
  options: { readonly intAsBigInt?: boolean; readonly lineCounter?: LineCounter } = {},
): Document[] {
  const shared = { schema: "core", resolveKnownTags: false, logLevel: "error" } as const;
  return [...parseAllDocuments(source, { ...shared, ...options })];
}

/** Whether {@link readYaml} leaves out a document. */
export function isEmptyDocument(document: Document): boolean {
  return document.toJS() === null;
}

/** The first stage of the parser has a stack of its own; the next ones would recurse, and could end the process. */
function isTooDeep(source: string): boolean {
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(source)) {
    for (const _token of parser.next(lexeme));
    if (parser.stack.length > MOST_LEVELS) return true;
  }
  return false;
}

/** Text that is no YAML, or has an unknown tag. Only the first mistake is reported, because the others mostly follow from it. */
function flawOfYaml({ errors, warnings }: Document): { complaint: string; position: Position } | undefined {
  const [flaw] = [...errors, ...warnings.filter(({ code }) => code === "TAG_RESOLVE_FAILED")];
  if (!flaw) return undefined;
  const { line, col } = flaw.linePos?.[0] ?? { line: 1, col: 1 };
  // The library goes on with the place and the lines around it.
  const reason = flaw.message.split(" at line ")[0]?.replace(/\.$/, "");
  return { complaint: `is not YAML: ${reason}`, position: { line, column: col } };
}

/** A text that some program reads otherwise. */
interface Misread {
  readonly node: Node;
  readonly text: string;
  readonly complaint: string;
  readonly remedy: string;
}

/** The texts that other programs read otherwise. The keys at the top of a document are those of a format, not of an object. */
function misreadIn(document: Document, keys: YamlOptions["keys"]): Misread[] {
  const found: Misread[] = [];
  visit(document, {
    Scalar(place, node, path) {
      const { source: text = "", type } = node;
      if (type !== Scalar.PLAIN) return;
      const isKey = place === "key";
      // Taken as a field, it would leave out all fields of its value without a word.
      if (isKey && text === "<<") {
        const complaint = "is a merge key, which YAML 1.2 does not have";
        found.push({ node, text, complaint, remedy: "Write the fields out." });
      }
      const read = isKey && (keys === "ours" || path.length <= 3) ? undefined : readByKubectl(text);
      if (read === undefined) return;
      const complaint = `is read as ${read} by kubectl, Helm and Argo CD, and not by Argosy`;
      found.push({ node, text, complaint, remedy: remedyFor(text, read, isKey) });
    },
  });
  return found;
}

function remedyFor(text: string, read: boolean | number, isKey: boolean): string {
  if (isKey) return `Put it in quotes: "${text}".`;
  const isOctal = /^0[0-7]+$/.test(text);
  return `Write ${isOctal ? `${read} or 0o${text.slice(1)}` : read}, or put it in quotes: "${text}".`;
}

/** A document's content as JSON has it. Undefined if it has been reported why that cannot be. */
function contentOf(document: Document, report: Report): Json | undefined {
  try {
    keepIntegers(document);
    const content: Json = document.toJS();
    const flaw = flawOf(content);
    if (flaw === undefined) return content;
    report("the file", flaw, "Write it as JSON could say it.");
  } catch (error) {
    // An alias without an anchor, or too many aliases.
    report("the file", `cannot be read: ${reasonOf(error)}`, "Write it without aliases.");
  }
  return undefined;
}

/** Puts integers that the library has read without a loss into the form in which `readJson` keeps them. */
function keepIntegers(document: Document): void {
  visit(document, {
    Scalar(key, node) {
      if (typeof node.value === "bigint" && key !== "key") node.value = readJson(String(node.value));
    },
  });
}

/**
 * Where a field begins. For a missing field: where the object begins that it belongs to.
 *
 * @param field as problems name it: "children[0].kind"
 */
function offsetOf(document: Document, field: string): number | undefined {
  let node = resolved(document.contents, document);
  let offset = node?.range?.[0];
  let rest = field;
  while (node && rest !== "") {
    const step = isMap(node) ? keyed(node.items, rest) : isSeq(node) ? indexed(node.items, rest) : undefined;
    if (!step) break;
    offset = step.start.range?.[0] ?? offset;
    node = resolved(step.value, document);
    rest = step.rest;
  }
  return offset;
}

interface Step {
  /** The key, or the entry of a list. */
  readonly start: Node;
  readonly value: Node | null;
  /** What follows in the field's name. */
  readonly rest: string;
}

/** The entry of a map that a field begins with. Keys may have dots of their own. */
function keyed(items: readonly { key: unknown; value: unknown }[], field: string): Step | undefined {
  for (const { key, value } of items) {
    const name = isScalar(key) ? String(key.value ?? "") : undefined;
    if (name === undefined || !field.startsWith(name)) continue;
    const rest = field.slice(name.length);
    if (!/^($|[.[])/.test(rest)) continue;
    return { start: key as Node, value: value as Node | null, rest: rest.replace(/^\./, "") };
  }
  return undefined;
}

/** The entry of a list that a field begins with. */
function indexed(items: readonly unknown[], field: string): Step | undefined {
  const [whole, index] = /^\[(\d+)\]\.?/.exec(field) ?? [];
  const value = items[Number(index)] as Node | undefined;
  return whole === undefined || !value ? undefined : { start: value, value, rest: field.slice(whole.length) };
}

/** The value to which an alias refers. */
function resolved(node: Node | null | undefined, document: Document): Node | undefined {
  return (isAlias(node) ? node.resolve(document) : node) ?? undefined;
}

function positionAt(lineCounter: LineCounter, offset: number | undefined): Position | undefined {
  if (offset === undefined) return undefined;
  const { line, col } = lineCounter.linePos(offset);
  return { line, column: col };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
