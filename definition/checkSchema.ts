import Ajv from "ajv";
import { isJsonObject, type Json, type JsonObject } from "../runtime/base/objects";
import { OF_EVERY_OBJECT } from "./checkPaths";
import { didYouMean, nearest } from "./nearest";
import type { Report } from "./problems";

/** The types that the API server knows. */
const TYPES = ["string", "integer", "number", "boolean", "array", "object"];
/** Keywords whose values differ from JSON Schema's in a CRD. */
const OF_OPENAPI = ["exclusiveMinimum", "exclusiveMaximum"];
/** The keywords with a schema, or with a list of schemas. */
const WITH_SCHEMAS = ["items", "additionalProperties", "not", "allOf", "anyOf", "oneOf"];
/** All keywords, except those that later releases of Kubernetes may have. @see `JSONSchemaProps` of apiextensions.k8s.io/v1 */
const KEYWORDS = [
  ...WITH_SCHEMAS,
  ...["$ref", "$schema", "id", "title", "description", "example", "externalDocs", "definitions"],
  ...["type", "format", "default", "enum", "nullable", "pattern", "minLength", "maxLength"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  ...["additionalItems", "minItems", "maxItems", "uniqueItems"],
  ...["properties", "patternProperties", "required", "dependencies", "minProperties", "maxProperties"],
  ...["x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "x-kubernetes-list-map-keys"],
  ...["x-kubernetes-list-type", "x-kubernetes-map-type", "x-kubernetes-preserve-unknown-fields"],
  "x-kubernetes-validations",
];
/** What ajv says of a value that must be a schema. */
const NO_SCHEMA = "must be object,boolean";

/** Made when it is first needed: its start takes longer than a check. */
let ajv: Ajv | undefined;

/**
 * Reports where the schema of a CRD is no schema. Argosy itself checks statuses and fixtures against it, and could not name the
 * file then. Also reports the most frequent mistakes: what has no type, unknown keywords, and required fields that are not there. What
 * else the API server requires of a schema is left to the API server.
 *
 * @param field where the schema is: "spec.versions[0].schema.openAPIV3Schema"
 */
export function checkSchema(schema: JsonObject, field: string, problem: Report): void {
  reportKeywords(schema, field, problem);
  reportParts(schema, field, problem);
  ajv ??= new Ajv({ strict: false, allErrors: true });
  if (ajv.validateSchema(schema) === true) return;
  const seen = new Set<string>();
  for (const { instancePath, message = "" } of ajv.errors ?? []) {
    const steps = instancePath.split("/").slice(1);
    const keyword = steps.at(-1) ?? "";
    // The first complaint about a value, or about a part of it, is the plainest: the next ones say that other forms do not fit either.
    if ([...seen].some((place) => `${place}/`.startsWith(`${instancePath}/`))) continue;
    seen.add(instancePath);
    if (OF_OPENAPI.includes(keyword)) continue;
    const value = steps.reduce<Json>((inner, step) => (inner as JsonObject)[unescaped(step)] as Json, schema);
    const place = steps.map((step) => (/^\d+$/.test(step) ? `[${step}]` : `.${unescaped(step)}`)).join("");
    problem(`${field}${place}`, ...(keyword === "type" ? noType(value) : noValue(value, message)));
  }
}

/** Reports each `$ref` in a schema, and each unknown keyword, which would limit nothing. A property may have these names too. */
function reportKeywords(schema: Json | undefined, field: string, problem: Report): void {
  if (Array.isArray(schema))
    for (const [index, each] of schema.entries()) reportKeywords(each, `${field}[${index}]`, problem);
  if (!isJsonObject(schema)) return;
  const { $ref, properties } = schema;
  if (typeof $ref === "string") {
    const complaint = `is ${JSON.stringify($ref)}, and the API server accepts no reference`;
    problem(`${field}.$ref`, complaint, "Write the schema out in its place.");
  }
  for (const keyword of Object.keys(schema).filter((key) => !KEYWORDS.includes(key))) {
    const meant = nearest(keyword, KEYWORDS);
    if (meant === undefined && keyword.startsWith("x-kubernetes-")) continue;
    const remedy = meant === undefined ? "Correct it, or leave it out." : `Did you mean ${meant}?`;
    problem(`${field}.${keyword}`, "is not a known field", remedy);
  }
  for (const keyword of WITH_SCHEMAS) reportKeywords(schema[keyword], `${field}.${keyword}`, problem);
  for (const [name, inner] of Object.entries(isJsonObject(properties) ? properties : {}))
    reportKeywords(inner, `${field}.properties.${name}`, problem);
}

/**
 * Reports each required field that a part of a schema does not have. The API server drops such a field, and then refuses the object
 * that lacks it: nobody could create any. Renaming a field leaves it behind.
 */
function reportRequired(schema: JsonObject, field: string, problem: Report, isRoot: boolean): void {
  const { properties, required, additionalProperties } = schema;
  const fields = isJsonObject(properties) ? properties : {};
  const isOpen =
    additionalProperties !== undefined ||
    schema["x-kubernetes-preserve-unknown-fields"] === true ||
    schema["x-kubernetes-embedded-resource"] === true;
  for (const [index, name] of (Array.isArray(required) && !isOpen ? required : []).entries()) {
    if (typeof name !== "string" || Object.hasOwn(fields, name)) continue;
    // Argosy adds a status.
    if (isRoot && [...OF_EVERY_OBJECT, "status"].includes(name)) continue;
    const remedy = didYouMean(name, Object.keys(fields), "Add it to properties, or leave it out.");
    problem(`${field}.required[${index}]`, `is "${name}", which properties does not have`, remedy);
  }
}

/** Keywords that stand in for a type. */
const INSTEAD_OF_TYPE = ["x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields", "$ref"];

/**
 * Reports each field, each entry of a list and each value of a map whose schema has no type, or requires what it does not have.
 * @param isRoot whether this is the schema of a whole custom resource, which may have a status without a type: Argosy adds that
 */
function reportParts(schema: JsonObject, field: string, problem: Report, isRoot = true): void {
  reportRequired(schema, field, problem, isRoot);
  if (isRoot && !isTyped(schema)) problem(field, "has no type", "Write type: object.");
  const { properties, items, additionalProperties } = schema;
  const fields = Object.entries(isJsonObject(properties) ? properties : {});
  const parts: [string, Json | undefined][] = [
    ...fields.map(([name, inner]): [string, Json] => [`properties.${name}`, inner]),
    ["items", items],
    ["additionalProperties", additionalProperties],
  ];
  for (const [place, inner] of parts) {
    if (!isJsonObject(inner)) continue;
    if (!isTyped(inner) && !(isRoot && place === "properties.status"))
      problem(`${field}.${place}`, "has no type", "Write, for example, type: string.");
    reportParts(inner, `${field}.${place}`, problem, false);
  }
}

function isTyped(schema: JsonObject): boolean {
  return ["type", ...INSTEAD_OF_TYPE].some((keyword) => schema[keyword] !== undefined);
}

function noType(value: Json): [complaint: string, remedy: string] {
  const word = String(value).toLowerCase();
  const meant = TYPES.find((type) => type.startsWith(word)) ?? nearest(word, TYPES);
  const remedy = meant ? `Did you mean ${meant}?` : `Write one of ${TYPES.join(", ")}.`;
  return [`is ${JSON.stringify(value)}, which is not a type`, remedy];
}

function noValue(value: Json, message: string): [complaint: string, remedy: string] {
  const isSchema = message === NO_SCHEMA;
  const remedy = isSchema ? "Write, for example, { type: string }." : "Correct it, or leave it out.";
  if (value === null) return ["has no value", remedy];
  return [`is ${JSON.stringify(value)}, ${isSchema ? "not a schema" : `but ${message}`}`, remedy];
}

/** A step of a JSON pointer (RFC 6901) as the key that it names. */
function unescaped(step: string): string {
  return step.replaceAll("~1", "/").replaceAll("~0", "~");
}
