import Ajv, { type ErrorObject, type ValidateFunction } from "ajv";
import { rounded } from "../json";
import type { Json, JsonObject } from "../kubernetes/objects";
import { OWN_STATUS_FIELDS } from "../names";

/** The keywords whose values are schemas about the same value. */
const JUNCTORS = ["allOf", "anyOf", "oneOf", "not"];

/**
 * Makes a check of the handler's status against the schema that the author gave it in the CRD. The API server
 * would drop a field that the schema does not know in silence, and the author would look for it in vain.
 *
 * @param schema the schema of `status`, as in the CRD; undefined: any status will do
 * @returns a function that gives what is wrong with a status, in a sentence; undefined where nothing is
 */
export function statusChecker(schema: JsonObject | undefined): (status: unknown) => string | undefined {
  if (schema === undefined) return () => undefined;
  const check: ValidateFunction = new Ajv({ strict: false, validateFormats: false }).compile(
    closed(withoutRequired(schema)),
  );
  return (status) => {
    const fields = Object.entries(status as JsonObject).filter(([name]) => !OWN_STATUS_FIELDS.includes(name));
    if (check(rounded(Object.fromEntries(fields)))) return undefined;
    return check.errors?.map(explain).join("; ");
  };
}

/** The same schema, in which the engine's own fields may be missing. */
function withoutRequired(schema: JsonObject): JsonObject {
  const { required, ...rest } = schema;
  if (!Array.isArray(required)) return rest;
  return { ...rest, required: required.filter((name) => !OWN_STATUS_FIELDS.includes(String(name))) };
}

/** The same schema in JSON Schema's terms, with unknown fields refused where the API server would drop them. */
function closed(schema: JsonObject): JsonObject {
  const drops =
    schema["properties"] !== undefined &&
    schema["additionalProperties"] === undefined &&
    schema["x-kubernetes-preserve-unknown-fields"] !== true;
  return { ...translated(schema, closed), ...(drops && { additionalProperties: false }) };
}

/**
 * A CRD's schema in JSON Schema's terms.
 * @param inner what becomes of the schemas of its fields, entries and values
 */
function translated(schema: JsonObject, inner: (schema: JsonObject) => JsonObject): JsonObject {
  // The patterns are RE2's, which JavaScript may not understand: they are left to the API server.
  const { pattern: _, nullable, exclusiveMinimum, exclusiveMaximum, ...rest } = schema;
  const { properties, items, additionalProperties, minimum, maximum } = rest;
  const intOrString = schema["x-kubernetes-int-or-string"] === true;
  return {
    ...rest,
    ...(intOrString && { type: ["integer", "string"] }),
    ...(nullable === true && (intOrString || schema["type"] !== undefined) && { nullable }),
    ...(exclusiveMinimum === true && minimum !== undefined && { exclusiveMinimum: minimum }),
    ...(exclusiveMaximum === true && maximum !== undefined && { exclusiveMaximum: maximum }),
    ...(isObject(properties) && { properties: mapValues(properties, inner) }),
    ...(isObject(items) && { items: inner(items) }),
    ...(isObject(additionalProperties) && { additionalProperties: inner(additionalProperties) }),
    ...Object.fromEntries(JUNCTORS.flatMap((junctor) => junction(junctor, schema[junctor]))),
  };
}

/** The schemas below `allOf` and its like. They restrict a value, and do not say which fields it has. */
function junction(junctor: string, value: Json | undefined): [string, Json][] {
  const restriction = (schema: Json): Json => (isObject(schema) ? translated(schema, open) : schema);
  const open = (schema: JsonObject): JsonObject => translated(schema, open);
  if (value === undefined) return [];
  return [[junctor, Array.isArray(value) ? value.map(restriction) : restriction(value)]];
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
