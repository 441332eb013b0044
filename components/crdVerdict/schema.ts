import { isJsonObject, type Json, type JsonObject } from "../../runtime/program";
import { objectIn } from "../manifests/customResourceDefinition";
import type { Place } from "./change";

/** A structural schema, or a part of one: `JSONSchemaProps` of apiextensions.k8s.io/v1. */
export type Schema = JsonObject;

/** A value of the old schema and of the new one, to be compared. */
export interface SchemaPair {
  readonly before: Schema;
  readonly after: Schema;
  readonly place: Place;
}

/** The types of JSON. "number" means numbers that are not integers. */
export type JsonType = "object" | "array" | "string" | "integer" | "number" | "boolean";

/** The schema of a value that a parent preserves: any value. */
const ANYTHING: Schema = { "x-kubernetes-preserve-unknown-fields": true, nullable: true };

/** The fields that every object has, and that the API server always keeps. */
export const OBJECT_FIELDS: readonly string[] = ["apiVersion", "kind", "metadata"];

const ALL_TYPES: readonly JsonType[] = ["object", "array", "string", "integer", "number", "boolean"];

/** The types that a value may have. */
export function typesOf(schema: Schema): readonly JsonType[] {
  if (isIntOrString(schema)) return ["integer", "string"];
  if (schema.type === "number") return ["integer", "number"];
  return ALL_TYPES.some((type) => type === schema.type) ? [schema.type as JsonType] : ALL_TYPES;
}

export function isIntOrString(schema: Schema): boolean {
  return schema["x-kubernetes-int-or-string"] === true;
}

/** Whether unknown fields are preserved. */
function preservesUnknownFields(schema: Schema): boolean {
  return schema["x-kubernetes-preserve-unknown-fields"] === true;
}

export function isEmbeddedResource(schema: Schema): boolean {
  return schema["x-kubernetes-embedded-resource"] === true;
}

/** The names of the fields that a schema knows, with those of every object if the schema is of a whole object. */
function fieldNamesOf(schema: Schema): string[] {
  return [
    ...Object.keys(objectIn(schema, "properties")),
    ...(isEmbeddedResource(schema) ? OBJECT_FIELDS : []),
  ];
}

/**
 * The schema of a field. Undefined if the API server would drop the field (apiextensions-apiserver, schema/pruning/algorithm.go).
 */
export function fieldSchema(schema: Schema, name: string): Schema | undefined {
  const properties = objectIn(schema, "properties");
  const own = Object.hasOwn(properties, name) ? properties[name] : undefined;
  const known = isJsonObject(own) ? own : undefined;
  if (isEmbeddedResource(schema)) {
    // The field is checked and pruned as ObjectMeta, and a schema can only restrict it.
    if (name === "metadata")
      return { type: "object", ...known, "x-kubernetes-preserve-unknown-fields": true };
    if (OBJECT_FIELDS.includes(name)) return known ?? { type: "string" };
  }
  return known ?? unknownFieldSchema(schema);
}

/** The schema of all fields that are not named. Undefined if the API server drops them. */
export function unknownFieldSchema(schema: Schema): Schema | undefined {
  const { additionalProperties } = schema;
  if (isJsonObject(additionalProperties)) return additionalProperties;
  if (additionalProperties === true) return {};
  return preservesUnknownFields(schema) ? ANYTHING : undefined;
}

/** The schema of the items of a list. Undefined if there is none. */
function itemSchema(schema: Schema): Schema | undefined {
  const { items } = schema;
  if (!isJsonObject(items)) return preservesUnknownFields(schema) ? ANYTHING : undefined;
  // A list that preserves unknown fields preserves them in its items (skipPrune in schema/pruning/algorithm.go).
  return preservesUnknownFields(schema) ? { "x-kubernetes-preserve-unknown-fields": true, ...items } : items;
}

/** The names in `required`. */
export function requiredOf(schema: Schema): string[] {
  return textsIn(schema.required);
}

/** The texts of a list. None if there is no list. */
export function textsIn(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : [];
}

/** The objects of a list. None if there is no list. */
export function objectsIn(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** A number in a field. */
export function numberIn(schema: Schema, keyword: string): number | undefined {
  const value = schema[keyword];
  return typeof value === "number" ? value : undefined;
}

/** The schemas within two schemas of the same value: of fields, of a map's values, of items. */
export function nestedSchemas(before: Schema, after: Schema, place: Place): SchemaPair[] {
  const types = typesOf(before);
  const pairs: SchemaPair[] = [];
  const add = (inBefore: Schema | undefined, inAfter: Schema | undefined, path: string) => {
    if (inBefore && inAfter) pairs.push({ before: inBefore, after: inAfter, place: { ...place, path } });
  };
  if (types.includes("object")) {
    for (const name of comparableFields(before, after)) {
      add(fieldSchema(before, name), fieldSchema(after, name), fieldPath(place, name));
    }
    add(unknownFieldSchema(before), unknownFieldSchema(after), `${place.path}{}`);
  }
  if (types.includes("array")) add(itemSchema(before), itemSchema(after), `${place.path}[]`);
  return pairs;
}

/** The fields that either schema names, in the order of their names. */
export function comparableFields(before: Schema, after: Schema): string[] {
  const names = new Set([...fieldNamesOf(before), ...fieldNamesOf(after)]);
  // If all of them come or go together, that is a change of its own.
  if (isEmbeddedResource(before) !== isEmbeddedResource(after)) {
    for (const name of OBJECT_FIELDS) names.delete(name);
  }
  return [...names].sort();
}

/** The path of a field within a place. */
export function fieldPath(place: Place, name: string): string {
  return place.path === "." ? `.${name}` : `${place.path}.${name}`;
}
