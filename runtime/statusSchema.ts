import Ajv, { type ErrorObject, type ValidateFunction } from "ajv";
import type { JsonObject } from "./kubernetes/objects";

/** The fields of the status that the engine writes itself, whatever the author's schema says of them. */
const ENGINE_FIELDS = ["observedGeneration", "conditions"];

/**
 * Makes a check of the handler's status against the schema that the author gave it in the CRD. The API server
 * would drop a field that the schema does not know in silence, and the author would look for it in vain.
 *
 * @param schema the schema of `status`, as in the CRD; undefined: any status will do
 * @returns a function that gives what is wrong with a status, in a sentence; undefined where nothing is
 */
export function statusChecker(schema: JsonObject | undefined): (status: unknown) => string | undefined {
  if (schema === undefined) return () => undefined;
  const check: ValidateFunction = new Ajv({ strict: false, validateFormats: false }).compile(closed(schema));
  return (status) => {
    const fields = Object.entries(status as JsonObject).filter(([name]) => !ENGINE_FIELDS.includes(name));
    if (check(Object.fromEntries(fields))) return undefined;
    return check.errors?.map(explain).join("; ");
  };
}

/** The same schema, with the API server's own keywords in JSON Schema's terms and unknown fields refused. */
function closed(schema: JsonObject): JsonObject {
  const { properties, items, additionalProperties, ...rest } = schema as Record<string, JsonObject>;
  const open = schema["x-kubernetes-preserve-unknown-fields"] === true;
  return {
    ...rest,
    ...(schema["x-kubernetes-int-or-string"] === true && { type: ["integer", "string"] }),
    ...(properties && { properties: mapValues(properties, closed) }),
    ...(items && { items: closed(items) }),
    ...(isObject(additionalProperties) && { additionalProperties: closed(additionalProperties) }),
    ...(properties && additionalProperties === undefined && !open && { additionalProperties: false }),
  };
}

function explain({ instancePath, keyword, message, params }: ErrorObject): string {
  const path = `status${instancePath.replaceAll("/", ".")}`;
  return keyword === "additionalProperties"
    ? `${path}.${params["additionalProperty"]} is not in the CRD's schema`
    : `${path} ${message}`;
}

function mapValues(map: JsonObject, change: (value: JsonObject) => JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value as JsonObject)]));
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
