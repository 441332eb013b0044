import { dropsUnknownFields, propertiesIn } from "../definition/contentSchema";
import { isRecord, readJson, writeJson } from "../json/json";
import { isJsonObject, type Json, type JsonObject } from "../kubernetes/objects";

const INTEGER = /^-?(0|[1-9]\d*)$/;
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/**
 * A value of an event, converted to the type that a CRD's schema gives for its place if nothing is lost: a text that is a number
 * becomes a number, and a number becomes a text. In a form and in headers, everything is a text.
 *
 * An object keeps only the fields that the schema knows, since the API server would refuse the others. A null is left out unless
 * the schema takes it. A value that does not fit stays as it is, and the schema's check finds it.
 */
export function typed(value: Json, schema: JsonObject | undefined): Json {
  if (schema === undefined) return value;
  if (Array.isArray(value)) {
    const items = isJsonObject(schema["items"]) ? schema["items"] : undefined;
    return value.map((entry) => typed(entry, items));
  }
  if (isRecord(value)) return fieldsOf(value as JsonObject, schema);
  return scalar(value, schema);
}

function fieldsOf(value: JsonObject, schema: JsonObject): JsonObject {
  const isClosed = dropsUnknownFields(schema);
  const entries = Object.entries(value).flatMap(([field, each]): [string, Json][] => {
    const own = schemaOfField(schema, field);
    if (own === undefined && isClosed) return [];
    if (each === null && own !== undefined && own["nullable"] !== true) return [];
    return [[field, typed(each, own)]];
  });
  return Object.fromEntries(entries);
}

function scalar(value: Json, schema: JsonObject): Json {
  const type = schema["type"];
  // An integer that JavaScript would round is represented by a text with the digits of the number.
  const json = writeJson(value);
  const isText = json.startsWith('"');
  if (type === "string" && !isText && value !== null) return json;
  if (!isText || typeof value !== "string") return value;
  if (type === "integer" && INTEGER.test(value)) return readJson(value) as Json;
  if (type === "number" && NUMBER.test(value)) return readJson(value) as Json;
  if (type === "boolean" && (value === "true" || value === "false")) return value === "true";
  return value;
}

/** The schema of a field of an object. Undefined if the object's schema does not mention the field. */
export function schemaOfField(schema: JsonObject | undefined, field: string): JsonObject | undefined {
  const { additionalProperties } = schema ?? {};
  const properties = schema && propertiesIn(schema);
  const own = properties && Object.hasOwn(properties, field) ? properties[field] : undefined;
  if (isJsonObject(own)) return own;
  return isJsonObject(additionalProperties) ? additionalProperties : undefined;
}
