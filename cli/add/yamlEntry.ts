import { isDeepStrictEqual } from "node:util";
import { isMap, isNode, isSeq, type Node, type Pair, parse, parseDocument, stringify } from "yaml";
import { isRecord } from "../../runtime/json/json";
import type { Json, JsonObject } from "../../runtime/kubernetes/objects";
import { yaml } from "../yaml";

/**
 * The text of a YAML file with one more entry in a list or a map. Everything else keeps its comments, order and form.
 *
 * @param field the list or the map, at the top of the document. It is made if it does not exist
 * @param key the entry's key in a map. Undefined for a list
 */
export function withEntry(text: string, field: string, key: string | undefined, value: Json): string {
  // In a file from Windows, the lines of the entry end like all others.
  if (text.includes("\r\n") && !/(?<!\r)\n/.test(text))
    return withEntry(text.replaceAll("\r\n", "\n"), field, key, value).replaceAll("\n", "\r\n");
  const document = parseDocument(text);
  const path = key === undefined ? [field] : [field, key];
  if (key !== undefined) document.setIn(path, document.createNode(value));
  else if (document.hasIn(path)) document.addIn(path, document.createNode(value));
  else document.setIn(path, document.createNode([value]));
  const spliced = splice(text, field, key, value);
  // The content is always right. If the entry cannot be spliced in, the file gets the layout of the library.
  return spliced !== undefined && saysTheSame(spliced, document.toJS() as JsonObject)
    ? spliced
    : document.toString();
}

function saysTheSame(text: string, expected: JsonObject): boolean {
  try {
    return isDeepStrictEqual(parse(text), expected);
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
function splice(text: string, field: string, key: string | undefined, value: Json): string | undefined {
  const node = parseDocument(text).get(field, true);
  if (node === undefined) {
    const end = text.endsWith("\n") || text === "" ? "" : "\n";
    return `${text}${end}${field}:${key === undefined ? ` [${entryOf(key, value, undefined)}]` : `\n  ${entryOf(key, value, "  ")}`}\n`;
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

function startOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}

function endOf(item: Node | Pair<Node, Node | null>): number | undefined {
  return isNode(item) ? item.range?.[1] : (item.value ?? item.key).range?.[1];
}
