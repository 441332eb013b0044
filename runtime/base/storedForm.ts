import { readJson, writeJson } from "./json";
import { isJsonObject, type Json, type JsonObject } from "./objects";

/** What a stored form has, other than the value itself. */
export interface FormOptions {
  /** Whether missing fields get their defaults. @default true */
  readonly defaults?: boolean;
  /** Whether fields that the schema does not mention are left out. @default false */
  readonly drops?: boolean;
  /** Converts a value that is neither a map nor a list. @default it stays as it is */
  readonly scalar?: (value: Json, schema: JsonObject) => Json;
}

/**
 * A value as the API server stores it. A `null` in a field that is not nullable counts as missing, also within an object of which
 * the schema mentions some fields
 * (https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#defaulting-and-nullable). Defaults are
 * filled in from the outside inward.
 */
export function storedForm(value: Json, schema: JsonObject, options: FormOptions = {}): Json {
  return formed(value, schema, options) ?? null;
}

function formed(value: Json | undefined, schema: JsonObject, options: FormOptions): Json | undefined {
  const { defaults = true, drops = false, scalar } = options;
  const given = value === null && schema["nullable"] !== true ? undefined : value;
  const filled = given === undefined && defaults ? schema["default"] : given;
  if (Array.isArray(filled)) {
    const { items } = schema;
    return isJsonObject(items) ? filled.map((entry) => formed(entry, items, options) ?? null) : filled;
  }
  if (!isJsonObject(filled)) return filled !== undefined && scalar ? scalar(filled, schema) : filled;
  const fields = Object.entries(filled).flatMap(([name, field]): [string, Json][] => {
    const own = schemaOfField(schema, name);
    if (!own) return drops && dropsUnknownFields(schema) ? [] : [[name, field]];
    const inner = formed(field, own, options);
    return inner === undefined ? [] : [[name, inner]];
  });
  const missing = Object.entries(propertiesIn(schema) ?? {}).flatMap(([name, own]): [string, Json][] => {
    const inner = Object.hasOwn(filled, name) ? undefined : formed(undefined, own as JsonObject, options);
    return inner === undefined ? [] : [[name, inner]];
  });
  return Object.fromEntries([...fields, ...missing]);
}

/** Whether the API server drops fields of an object that its schema does not mention: all of them if it mentions none. */
export function dropsUnknownFields(schema: JsonObject): boolean {
  return (
    (schema["properties"] !== undefined || schema["type"] === "object") &&
    schema["additionalProperties"] === undefined &&
    schema["x-kubernetes-preserve-unknown-fields"] !== true
  );
}

const TEXT = { type: "string" };
const TEXTS = { type: "object", additionalProperties: TEXT };

/** The schema of the metadata that users write. The API server checks more of it, without a schema. */
const METADATA = {
  type: "object",
  properties: { name: TEXT, generateName: TEXT, namespace: TEXT, labels: TEXTS, annotations: TEXTS },
  "x-kubernetes-preserve-unknown-fields": true,
};

/**
 * The fields that a CRD's schema knows, with their schemas. Undefined if it names none. An embedded object has `apiVersion`, `kind`
 * and `metadata`, and the author's schema may restrict each of them further.
 */
export function propertiesIn(schema: JsonObject): JsonObject | undefined {
  const properties = objectOf(schema["properties"]);
  if (schema["x-kubernetes-embedded-resource"] !== true) return properties;
  const { apiVersion, kind, metadata, ...others } = properties ?? {};
  const authors = objectOf(metadata);
  return {
    ...others,
    apiVersion: { ...TEXT, minLength: 1, ...objectOf(apiVersion) },
    kind: { ...TEXT, minLength: 1, ...objectOf(kind) },
    metadata: {
      ...authors,
      ...METADATA,
      properties: { ...METADATA.properties, ...objectOf(authors?.["properties"]) },
    },
  };
}

/** The required fields. An embedded object must have `apiVersion` and `kind`, whatever its schema says. */
export function requiredIn(schema: JsonObject): Json[] {
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  if (schema["x-kubernetes-embedded-resource"] !== true) return required;
  return [...new Set([...required, "apiVersion", "kind"])];
}

/** The schema of a field of an object. Undefined if the object's schema does not mention the field. */
export function schemaOfField(schema: JsonObject | undefined, field: string): JsonObject | undefined {
  const properties = schema && propertiesIn(schema);
  const own = properties && Object.hasOwn(properties, field) ? properties[field] : undefined;
  return objectOf(own) ?? objectOf(schema?.["additionalProperties"]);
}

function objectOf(value: Json | undefined): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined;
}

const INTEGER = /^-?(0|[1-9]\d*)$/;
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/**
 * A value of an event, converted to the type that a CRD's schema gives for its place if nothing is lost: a text that is a number
 * becomes a number, and a number becomes a text. In a form and in headers, everything is a text.
 *
 * An object keeps only the fields that the schema knows, since the API server would refuse the others. A null is left out unless
 * the schema accepts it. A value that does not fit stays as it is, and the schema's check finds it.
 */
export function typed(value: Json, schema: JsonObject | undefined): Json {
  return schema === undefined ? value : storedForm(value, schema, { defaults: false, drops: true, scalar });
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
