import { isJsonObject, type JsonObject } from "../kubernetes/objects";

/** The schema of a field of an object. Undefined where the object's schema says nothing of it. */
export function schemaOfField(schema: JsonObject | undefined, field: string): JsonObject | undefined {
  const { properties, additionalProperties } = schema ?? {};
  const own = isJsonObject(properties) && Object.hasOwn(properties, field) ? properties[field] : undefined;
  if (isJsonObject(own)) return own;
  return isJsonObject(additionalProperties) ? additionalProperties : undefined;
}
