import { escaped, isText, scalarText } from "../json/json";
import { secretDataOf } from "../kubernetes/kinds";
import type { Manifest } from "../kubernetes/objects";
import { SHORTEST_VALUE } from "./secretValues";

/** Shorter lines of a value with several lines are not masked: many a Secret is a file with settings. */
const SHORTEST_LINE = 16;

/** The values of a Secret in base64, without those that are names of objects. */
export function hiddenIn(secret: Manifest, names: ReadonlySet<string>): string[] {
  const values = Object.values(secretDataOf(secret));
  const encoded = values.flatMap((value) => (isText(value) ? [value] : scalarsIn(value).map(inBase64)));
  return encoded.filter((value) => !names.has(textOf(value).trim()));
}

/** The texts and numbers in a value that should be a text. The API server refuses it, and quotes it. It may have any depth. */
function scalarsIn(value: unknown): string[] {
  const left = [value];
  const texts: string[] = [];
  for (const each of left) {
    const text = scalarText(each);
    if (text !== undefined) texts.push(text);
    else if (typeof each === "object" && each !== null)
      for (const inner of Object.values(each)) left.push(inner);
  }
  return texts;
}

function textOf(encoded: string): string {
  return Buffer.from(encoded, "base64").toString("utf8");
}

/** The forms of values: as they are, without the line end that a file leaves, line by line, in JSON, and in base64. */
export function formsOf(hidden: readonly string[]): string[] {
  const values = hidden.flatMap((encoded) => {
    const raw = textOf(encoded);
    if (raw.includes("\ufffd")) return [encoded];
    const trimmed = ownCopy(raw.trim());
    const texts = [trimmed, ...linesOf(trimmed)];
    return [raw, ...texts, ...texts.flatMap(inJson), encoded, inBase64(trimmed)];
  });
  return [...new Set(values)].filter((value) => value.length >= SHORTEST_VALUE);
}

/**
 * A text in JSON, where the ends of lines are escaped: as JavaScript writes it, and as Go and Python do by default.
 * @see https://pkg.go.dev/encoding/json#HTMLEscape https://docs.python.org/3/library/json.html#json.dumps
 */
function inJson(text: string): string[] {
  const json = ownCopy(JSON.stringify(text).slice(1, -1));
  return [json, json.replace(/[<>&\u2028\u2029]/g, escaped), json.replace(/[\u007f-\uffff]/g, escaped)];
}

function inBase64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}

/** The lines of a value that has several. A short line may be a common word, and the frame of a key is the same in each file. */
function linesOf(value: string): string[] {
  if (!value.includes("\n")) return [];
  return value
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line.length >= SHORTEST_LINE && !/^-----[A-Z0-9 ]+-----$/.test(line))
    .map(ownCopy);
}

/** A copy of a text that does not keep the longer text in memory from which it was cut. */
function ownCopy(text: string): string {
  return Buffer.from(text, "utf8").toString("utf8");
}
