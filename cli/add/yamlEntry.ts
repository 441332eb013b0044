import { isDeepStrictEqual } from "node:util";
import { Document, isAlias, isMap, isNode, isScalar, isSeq, type Node, type Pair, visit } from "yaml";
import { documentsOf, isEmptyDocument } from "../../definition/readYaml";
import { isRecord } from "../../runtime/base/json";
import type { Json } from "../../runtime/base/objects";
import { textOf, yaml } from "../common/yaml";

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
  return spliced !== undefined && saysTheSame(spliced, changed) ? spliced : textOf(changed, { lineWidth: 0 });
}

/**
 * A YAML text without an entry. A map that has no other is removed with it, and a list of children stays as an empty one. Everything
 * else keeps its comments, order and form.
 *
 * @param text whose lines end with LF
 * @param document that of the text
 * @param place the entry's key, or its index
 * @returns undefined if an alias elsewhere refers to the entry
 */
export function withoutEntry(
  text: string,
  document: Document,
  field: string,
  place: string | number,
): string | undefined {
  const changed = document.clone();
  changed.deleteIn([field, place]);
  const items = (changed.get(field) as { readonly items: readonly unknown[] }).items;
  const isLast = items.length === 0;
  // An operator without children says so.
  if (isLast && field === "children") changed.set(field, changed.createNode([]));
  else if (isLast) changed.delete(field);
  if (hasLostAlias(changed)) return undefined;
  const cut =
    isLast && field !== "children" ? cutField(text, document, field) : cutEntry(text, document, field, place);
  return cut !== undefined && saysTheSame(cut, changed) ? cut : textOf(changed, { lineWidth: 0 });
}

function hasLostAlias(document: Document): boolean {
  let isLost = false;
  visit(document, {
    Alias(_key, alias) {
      isLost ||= alias.resolve(document) === undefined;
    },
  });
  return isLost;
}

function cutField(text: string, { contents }: Document, field: string): string | undefined {
  const pair =
    isMap(contents) && !contents.flow
      ? contents.items.find(({ key }) => isScalar(key) && key.value === field)
      : undefined;
  return pair && withoutLines(text, startOf(pair.key), endOf(pair as Pair<Node, Node | null>));
}

function cutEntry(
  text: string,
  document: Document,
  field: string,
  place: string | number,
): string | undefined {
  const node = document.get(field, true);
  if (!isSeq(node) && !isMap(node)) return undefined;
  const items = node.items as (Node | Pair<Node, Node | null>)[];
  const at = isSeq(node)
    ? Number(place)
    : node.items.findIndex(({ key }) => isScalar(key) && key.value === place);
  const item = items[at];
  if (!item) return undefined;
  const [start, end] = [startOf(isNode(item) ? item : item.key), endOf(item)];
  if (start === undefined || end === undefined) return undefined;
  if (!node.flow) return withoutLines(text, start, end);
  const [before, after] = [items[at - 1], items[at + 1]];
  // With the comma after it, or before it if it is the last one, or with the spaces around the only one.
  const [from, to] = after
    ? [start, startOf(isNode(after) ? after : after.key)]
    : before
      ? [endOf(before), end]
      : [
          text.slice(0, start).replace(/ +$/, "").length,
          end + (/^ */.exec(text.slice(end))?.[0].length ?? 0),
        ];
  return `${text.slice(0, from)}${text.slice(to)}`;
}

/** The text without the lines of a part. Undefined if something else is on the first one. */
function withoutLines(text: string, start: number | undefined, end: number | undefined): string | undefined {
  if (start === undefined || end === undefined) return undefined;
  const first = text.lastIndexOf("\n", start - 1) + 1;
  if (!/^ *(- *)?$/.test(text.slice(first, start))) return undefined;
  const last = text.indexOf("\n", start + text.slice(start, end).trimEnd().length);
  return text.slice(0, first) + (last < 0 ? "" : text.slice(last + 1));
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
  const line = textOf(new Document(value), { collectionStyle: "flow", lineWidth: 0 }).trimEnd();
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
