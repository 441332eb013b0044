import Ajv, { type ErrorObject, type ValidateFunction } from "ajv";
import { rounded } from "../json/json";
import { isJsonObject, type Json, type JsonObject } from "../kubernetes/objects";

/** A part of a value that a schema does not allow. It contains nothing of the value's content. */
export interface SchemaFlaw {
  /** Where: "spec.replicas". */
  readonly field: string;
  /** What: "must be integer". */
  readonly complaint: string;
}

/** The keywords whose values are schemas about the same value. */
const JUNCTORS = ["allOf", "anyOf", "oneOf", "not"];
/** The keywords that only the API server checks. The patterns are RE2's, which JavaScript may not understand. */
const UNCHECKED = ["pattern", "format", "x-kubernetes-validations"];

/**
 * Makes a check of a value against a CRD's schema, as the API server checks it: with defaults, and with unknown fields refused.
 * Only the API server checks patterns, formats and rules in CEL.
 *
 * @param schema undefined: any value will do
 * @param root what the value is called: "spec"
 * @returns a function that gives the first flaw of a value. Undefined if there is none
 */
export function flawFinder(
  schema: JsonObject | undefined,
  root: string,
): (value: Json) => SchemaFlaw | undefined {
  if (schema === undefined) return () => undefined;
  const check = compiled(schema);
  return (value) => {
    const [first] = flawsOf(check, value);
    return first && schemaFlawOf(first, root);
  };
}

/** Everything that ajv says of a value with the defaults of the schema. Nothing is set in the value itself. */
export function flawsOf(check: ValidateFunction, value: unknown): readonly ErrorObject[] {
  return check(structuredClone(rounded(value))) ? [] : (check.errors ?? []);
}

/** One for the whole process: its start takes longer than any schema of a CRD. */
let ajv: Ajv | undefined;
const checks = new WeakMap<JsonObject, ValidateFunction>();

/**
 * The check of a CRD's schema, compiled once for each schema. It sets the defaults in the value that it checks.
 * @throws Error if it is not a schema
 */
export function compiled(schema: JsonObject): ValidateFunction {
  const known = checks.get(schema);
  if (known) return known;
  ajv ??= new Ajv({
    strict: false,
    validateFormats: false,
    // A field may be called "constructor", which each object of JavaScript inherits.
    ownProperties: true,
    useDefaults: true,
  });
  const all = closed(schema);
  const check = ajv.compile(all);
  // Ajv would keep the schema for ever.
  ajv.removeSchema(all);
  checks.set(schema, check);
  return check;
}

/** What an error of ajv says, and about which field. */
export function schemaFlawOf(
  { instancePath, keyword, message = "", params }: ErrorObject,
  root: string,
): SchemaFlaw {
  const path = `${root}${instancePath.replaceAll("/", ".")}`;
  if (keyword === "additionalProperties")
    return { field: `${path}.${params["additionalProperty"]}`, complaint: "is not in the CRD's schema" };
  if (keyword === "enum") return { field: path, complaint: `must be ${either(params["allowedValues"])}` };
  // Several types are a list with commas: "must be integer,string".
  return { field: path, complaint: keyword === "type" ? message.replaceAll(",", " or ") : message };
}

function either(values: readonly Json[]): string {
  return values.map((value) => JSON.stringify(value)).join(" or ");
}

/** The same schema in JSON Schema's terms. It refuses unknown fields, which the API server would drop. */
function closed(schema: JsonObject): JsonObject {
  return {
    ...translated(schema, closed),
    ...(dropsUnknownFields(schema) && { additionalProperties: false }),
  };
}

/** Whether the API server drops fields of an object that its schema does not mention: all of them if it mentions none. */
export function dropsUnknownFields(schema: JsonObject): boolean {
  return (
    (schema["properties"] !== undefined || schema["type"] === "object") &&
    schema["additionalProperties"] === undefined &&
    schema["x-kubernetes-preserve-unknown-fields"] !== true
  );
}

/** The fields that an embedded object has although its schema does not mention them. The API server keeps its whole metadata. */
const EMBEDDED: JsonObject = {
  apiVersion: { type: "string" },
  kind: { type: "string" },
  metadata: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
};

/** The fields that a CRD's schema knows, with their schemas. Undefined if it names none. */
export function propertiesIn(schema: JsonObject): JsonObject | undefined {
  const { properties } = schema;
  if (!isJsonObject(properties)) return undefined;
  return schema["x-kubernetes-embedded-resource"] === true ? { ...properties, ...EMBEDDED } : properties;
}

/**
 * A CRD's schema in JSON Schema's terms.
 * @param inner converts the schemas of its fields, entries and values
 */
function translated(schema: JsonObject, inner: (schema: JsonObject) => JsonObject): JsonObject {
  const {
    pattern: _,
    nullable,
    exclusiveMinimum,
    exclusiveMaximum,
    allOf,
    anyOf,
    oneOf,
    not,
    ...rest
  } = schema;
  const { items, additionalProperties, minimum, maximum } = rest;
  const properties = propertiesIn(schema);
  const intOrString = schema["x-kubernetes-int-or-string"] === true;
  return {
    ...rest,
    ...(intOrString && { type: ["integer", "string"] }),
    ...(nullable === true && (intOrString || schema["type"] !== undefined) && { nullable }),
    ...(exclusiveMinimum === true && minimum !== undefined && { exclusiveMinimum: minimum }),
    ...(exclusiveMaximum === true && maximum !== undefined && { exclusiveMaximum: maximum }),
    ...(properties && { properties: mapValues(properties, inner) }),
    ...(isJsonObject(items) && { items: inner(items) }),
    ...(isJsonObject(additionalProperties) && { additionalProperties: inner(additionalProperties) }),
    ...junctions({ allOf, anyOf, oneOf, not }),
  };
}

/**
 * The schemas below `allOf` and its like. They restrict a value, and do not say which fields it has.
 *
 * Without the keywords in {@link UNCHECKED}, a schema accepts more values than the API server does. Below `not` or `oneOf`, it would
 * then refuse values that the API server accepts: `oneOf` refuses a value that two of its schemas accept. So such a `not` is left
 * out, and such a `oneOf` is checked as `anyOf`.
 */
function junctions({ allOf, anyOf, oneOf, not }: Readonly<Record<string, Json | undefined>>): JsonObject {
  const [all, any, one] = [allOf, anyOf, oneOf].map((schemas) =>
    Array.isArray(schemas) ? schemas.map(restriction) : undefined,
  );
  const isExact = isChecked(oneOf);
  const each = [...(all ?? []), ...(one && !isExact ? [{ anyOf: one }] : [])];
  return {
    ...(each.length > 0 && { allOf: each }),
    ...(any && { anyOf: any }),
    ...(one && isExact && { oneOf: one }),
    ...(not !== undefined && isChecked(not) && { not: restriction(not) }),
  };
}

function restriction(schema: Json): Json {
  const open = (inner: JsonObject): JsonObject => translated(inner, open);
  return isJsonObject(schema) ? open(schema) : schema;
}

/** Whether a schema, and all schemas in it, are without the keywords in {@link UNCHECKED}. */
function isChecked(schema: Json | undefined): boolean {
  if (Array.isArray(schema)) return schema.every(isChecked);
  if (!isJsonObject(schema)) return true;
  const { properties, items, additionalProperties } = schema;
  const fields = isJsonObject(properties) ? Object.values(properties) : [];
  const inner = [...fields, items, additionalProperties, ...JUNCTORS.map((junctor) => schema[junctor])];
  return UNCHECKED.every((keyword) => schema[keyword] === undefined) && inner.every(isChecked);
}

function mapValues(map: JsonObject, change: (value: JsonObject) => JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value as JsonObject)]));
}
