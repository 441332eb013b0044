import { isJsonObject, type JsonObject } from "../kubernetes/objects";

/** The schema of a field of an object. Undefined if the object's schema does not mention the field. */
export function schemaOfField(schema: JsonObject | undefined, field: string): JsonObject | undefined {
  const { properties, additionalProperties } = schema ?? {};
  const own = isJsonObject(properties) && Object.hasOwn(properties, field) ? properties[field] : undefined;
  if (isJsonObject(own)) return own;
  return isJsonObject(additionalProperties) ? additionalProperties : undefined;
}
