import { isDeepStrictEqual } from "node:util";
import { type Document, isAlias, isMap, isNode, isSeq, type Node, type Pair, stringify } from "yaml";
import { documentsOf, isEmptyDocument } from "../../definition/readYaml";
import { isRecord } from "../../runtime/json/json";
import type { Json } from "../../runtime/kubernetes/objects";
import { yaml } from "../yaml";

/** An entry in a list or a map of a document. */
export interface Entry {
  /** The list or the map, at the top of the document. It is made if it does not exist. */
  readonly field: string;
  /** Its key in a map. Undefined in a list. */
  readonly key?: string | undefined;
  readonly value: Json;
}

/** The only document of a YAML text that is not empty. The text has been read before, so there is one. */
export function onlyDocument(text: string): Document {
  const [document, another] = documentsOf(text).filter((each) => !isEmptyDocument(each));
  if (!document || another) throw new Error("the text does not have one document");
  return document;
}

/** Whether an alias stands for a field, so that nothing can be added there. */
export function isAliased(document: Document, field: string): boolean {
  return isAlias(document.get(field, true));
}

/**
 * A YAML text with one more entry. Everything else keeps its comments, order and form.
 *
 * @param text whose lines end with LF
 * @param document that of the text
 */
export function withEntry(text: string, document: Document, entry: Entry): string {
  const spliced = splice(text, document, entry);
  const { field, key, value } = entry;
  const changed = document.clone();
  const path = key === undefined ? [field] : [field, key];
  if (key !== undefined) changed.setIn(path, changed.createNode(value));
  else if (changed.hasIn(path)) changed.addIn(path, changed.createNode(value));
  else changed.setIn(path, changed.createNode([value]));
  // The content is always right. If the entry cannot be spliced in, the file gets the layout of the library.
  return spliced !== undefined && saysTheSame(spliced, changed)
    ? spliced
    : changed.toString({ lineWidth: 0 });
}

function saysTheSame(text: string, document: Document): boolean {
  try {
    return isDeepStrictEqual(onlyDocument(text).toJS(), document.toJS());
  } catch {
    return false;
  }
}

/** The longest line that people still read. */
const LONGEST_LINE = 90;

/** The entry in a line, or an object's fields in lines of their own, `indent` before each. */
function entryOf(key: string | undefined, value: Json, indent: string | undefined): string {
  const line = stringify(value, { collectionStyle: "flow", lineWidth: 0 }).trimEnd();
  if (key === undefined) return line;
  if (indent === undefined || line.length < LONGEST_LINE || !isRecord(value)) return `${key}: ${line}`;
  const lines = yaml(value).trimEnd().split("\n");
  return `${key}:\n${lines.map((each) => `${indent}  ${each}`).join("\n")}`;
}

/** The text with the entry after the last one. Undefined if that place cannot be found. */
function splice(text: string, document: Document, { field, key, value }: Entry): string | undefined {
  const node = document.get(field, true);
  if (node === undefined) {
    const at = endOfDocument(text, document);
    const end = at === 0 || text[at - 1] === "\n" ? "" : "\n";
    const added =
      key === undefined ? ` [${entryOf(key, value, undefined)}]` : `\n  ${entryOf(key, value, "  ")}`;
    return `${text.slice(0, at)}${end}${field}:${added}\n${text.slice(at)}`;
  }
  if (!isSeq(node) && !isMap(node)) return undefined;
  const last = node.items.at(-1);
  const end = last === undefined ? undefined : endOf(last as Node | Pair<Node, Node | null>);
  if (node.flow) {
    const at = end ?? (node.range?.[1] ?? 0) - 1;
    return `${text.slice(0, at)}${last === undefined ? "" : ", "}${entryOf(key, value, undefined)}${text.slice(at)}`;
  }
  if (end === undefined) return undefined;
  const begin = isMap(node) ? startOf(node.items[0]?.key) : startOf(node.items[0]);
  const indent =
    begin === undefined ? undefined : /^ */.exec(text.slice(text.lastIndexOf("\n", begin) + 1))?.[0];
  if (indent === undefined) return undefined;
  // A comment behind the last entry stays behind it.
  const line = text.indexOf("\n", end);
  const at = line < 0 ? text.length : line;
  return `${text.slice(0, at)}\n${indent}${isSeq(node) ? "- " : ""}${entryOf(key, value, indent)}${text.slice(at)}`;
}

/** Where the lines of a document end: before a marker after its content, or else where the text ends. */
function endOfDocument(text: string, { range }: Document): number {
  const content = range?.[1] ?? 0;
  const marker = text.slice(content).search(/^(---|\.\.\.)(?=\s|$)/m);
  return marker < 0 ? text.length : content + marker;
}

function startOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}

function endOf(item: Node | Pair<Node, Node | null>): number | undefined {
  return isNode(item) ? item.range?.[1] : (item.value ?? item.key).range?.[1];
}
