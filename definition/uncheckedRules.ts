import { FORMATS_OF_THE_SERVER, JUNCTORS } from "../runtime/base/contentSchema";
import { isJsonObject, type Json, type JsonObject } from "../runtime/base/objects";
import { regexOf } from "./patterns";

/**
 * What only an API server checks of a CRD's schema, in words: "2 rules in CEL and 1 format (duration)". Undefined if there is
 * nothing.
 */
export function uncheckedRules(schema: JsonObject): string | undefined {
  const found = { rules: 0, patterns: 0, formats: [] as string[] };
  const add = (each: Json | undefined): void => {
    if (Array.isArray(each)) return each.forEach(add);
    if (!isJsonObject(each)) return;
    const {
      "x-kubernetes-validations": rules,
      pattern,
      format,
      properties,
      items,
      additionalProperties,
    } = each;
    if (Array.isArray(rules)) found.rules += rules.length;
    if (typeof pattern === "string" && !regexOf(pattern)) found.patterns += 1;
    if (typeof format === "string" && FORMATS_OF_THE_SERVER.includes(format)) found.formats.push(format);
    if (isJsonObject(properties)) Object.values(properties).forEach(add);
    [items, additionalProperties, ...JUNCTORS.map((junctor) => each[junctor])].forEach(add);
  };
  add(schema);
  const names = [...new Set(found.formats)].sort().join(", ");
  const parts = [
    counted(found.rules, "rule", " in CEL"),
    counted(found.patterns, "pattern", " of RE2's own syntax"),
    counted(found.formats.length, "format", ` (${names})`),
  ].filter((part) => part !== "");
  return parts.length > 0 ? parts.join(" and ") : undefined;
}

function counted(count: number, what: string, more: string): string {
  return count === 0 ? "" : `${count} ${what}${count === 1 ? "" : "s"}${more}`;
}
