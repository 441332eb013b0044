import { isJsonObject, type Json } from "../kubernetes/objects";
import type { IntakeEvent } from "./intakeFile";

/**
 * A field of an object's `spec` as a Warning may name it. Where neither the CRD's schema nor the mapping names the next step, a
 * sender may have chosen the key: "spec.env.*".
 */
export function knownField(field: string, { schema, spec }: Pick<IntakeEvent, "schema" | "spec">): string {
  const [root, ...steps] = field.matchAll(/[^.[\]]+/g);
  if (root?.[0] !== "spec") return field;
  let [known, mapped]: (Json | undefined)[] = [schema, spec];
  for (const { 0: step, index } of steps) {
    [known, mapped] = [inSchema(known, step), inMapping(mapped, step)];
    if (known === undefined && mapped === undefined) return `${field.slice(0, index - 1)}.*`;
  }
  return field;
}

function inSchema(schema: Json | undefined, step: string): Json | undefined {
  if (!isJsonObject(schema)) return undefined;
  const { properties } = schema;
  if (schema["items"] !== undefined && /^\d+$/.test(step)) return schema["items"];
  return isJsonObject(properties) && Object.hasOwn(properties, step) ? properties[step] : undefined;
}

function inMapping(mapping: Json | undefined, step: string): Json | undefined {
  if (typeof mapping !== "object" || mapping === null || !Object.hasOwn(mapping, step)) return undefined;
  return (mapping as Record<string, Json>)[step];
}
