// Values as the code of a handler has them.
import type { Json } from "../../runtime/base/objects";
import { suffixOf } from "./manifests";

/** How a language writes values. */
export interface Syntax {
  /** Its words for true, false and null, if they are others than those of JSON. */
  readonly words?: Readonly<Record<string, string>>;
  /** What is inside the braces of an object in one line. */
  readonly pad: "" | " ";
  /** What one more level of indentation is. */
  readonly indent: string;
  /** What follows the last entry of several lines. */
  readonly last: "" | ",";
  readonly key: (name: string) => string;
  readonly text: (text: string) => string;
  /** The object's name, with the text that follows it, or nothing. */
  readonly name: (suffix: string) => string;
}

const LONGEST_LINE = 80;

/** A value as code. The first line stands where the value does, and the others have at least this indentation. */
export function literal(value: Json, syntax: Syntax, indent: string): string {
  const line = inOneLine(value, syntax);
  if (typeof value !== "object" || value === null || line.length + indent.length <= LONGEST_LINE) return line;
  const deeper = `${indent}${syntax.indent}`;
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const items = Array.isArray(value)
    ? value.map((each) => literal(each, syntax, deeper))
    : Object.entries(value).map(([key, each]) => `${syntax.key(key)}: ${literal(each, syntax, deeper)}`);
  return `${open}\n${items.map((item) => `${deeper}${item}`).join(",\n")}${syntax.last}\n${indent}${close}`;
}

function inOneLine(value: Json, syntax: Syntax): string {
  if (typeof value === "string") {
    const suffix = suffixOf(value);
    return suffix === undefined ? syntax.text(value) : syntax.name(suffix);
  }
  if (Array.isArray(value)) return `[${value.map((each) => inOneLine(each, syntax)).join(", ")}]`;
  if (typeof value !== "object" || value === null) {
    const word = JSON.stringify(value);
    return syntax.words?.[word] ?? word;
  }
  const fields = Object.entries(value).map(([key, each]) => `${syntax.key(key)}: ${inOneLine(each, syntax)}`);
  return fields.length === 0 ? "{}" : `{${syntax.pad}${fields.join(", ")}${syntax.pad}}`;
}
