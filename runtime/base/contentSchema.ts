import { isIPv6 } from "node:net";
import Ajv, { type ErrorObject, type ValidateFunction } from "ajv";
import { rounded } from "./json";
import { OWN_STATUS_FIELDS } from "./names";
import { type Condition, isJsonObject, type Json, type JsonObject } from "./objects";
import { dropsUnknownFields, propertiesIn, requiredIn, storedForm } from "./storedForm";

/** A part of a value that a schema does not allow. It contains nothing of the value's content. */
export interface SchemaFlaw {
  /** Where: "spec.replicas". */
  readonly field: string;
  /** What: "must be integer". */
  readonly complaint: string;
}

/**
 * Reads a pattern of a CRD. Undefined if JavaScript has no equivalent. A pattern may keep JavaScript busy for ever, so the engine
 * leaves patterns to the API server, and gives no such reader.
 */
export type PatternReader = ((pattern: string) => RegExp | undefined) | undefined;

/** The keywords whose values are schemas about the same value. */
export const JUNCTORS = ["allOf", "anyOf", "oneOf", "not"];
/** The fields that name an entry of a list. */
const LIST_KEYS = "x-kubernetes-list-map-keys";

/**
 * Makes a check of a value against a CRD's schema, as the API server checks it: after nulls are removed and defaults filled in, and
 * with unknown fields refused. Only the API server checks rules in CEL, the patterns of RE2 that JavaScript reads otherwise, and the
 * formats that are not in {@link FORMATS}.
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
  return (value) => {
    const [first] = flawsOf(value, schema);
    return first && schemaFlawOf(first, root);
  };
}

/**
 * Everything that ajv says of a value as the API server would store it. The value itself stays as it is.
 * @throws Error if the schema is not one
 */
export function flawsOf(
  value: unknown,
  schema: JsonObject,
  patterns?: PatternReader,
): readonly ErrorObject[] {
  const check = compilerWith(patterns)(schema);
  return check(storedForm(rounded(value) as Json, schema)) ? [] : (check.errors ?? []);
}

/** A function whose result is made once for each schema, and kept as long as the schema. */
export function oncePerSchema<Result>(make: (schema: JsonObject) => Result): (schema: JsonObject) => Result {
  const made = new WeakMap<JsonObject, Result>();
  return (schema) => {
    const known = made.get(schema) ?? make(schema);
    made.set(schema, known);
    return known;
  };
}

const compilers = new Map<PatternReader, (schema: JsonObject) => ValidateFunction>();

/** Compiles schemas, each once: the start of ajv takes longer than any schema of a CRD, and a large schema half a second. */
function compilerWith(patterns: PatternReader): (schema: JsonObject) => ValidateFunction {
  const known = compilers.get(patterns) ?? newCompiler(patterns);
  compilers.set(patterns, known);
  return known;
}

function newCompiler(patterns: PatternReader): (schema: JsonObject) => ValidateFunction {
  const testOf = (pattern: string) => {
    const regex = patterns?.(pattern);
    // Ajv distinguishes patterns by their texts.
    return { test: (text: string) => !regex || regex.test(text), toString: () => pattern };
  };
  let ajv: Ajv | undefined;
  return oncePerSchema((schema) => {
    ajv ??= new Ajv({
      strict: false,
      formats: FORMATS,
      // It says nothing of the formats in JSON Schema's own schema.
      logger: false,
      // A field may be called "constructor", which each object of JavaScript inherits.
      ownProperties: true,
      keywords: [{ keyword: LIST_KEYS, type: "array", validate: haveOwnKeys }],
      code: { regExp: Object.assign(testOf, { code: "patterns" }) },
    });
    const all = closed(schema, patterns);
    const check = ajv.compile(all);
    // Ajv would keep the schema for ever.
    ajv.removeSchema(all);
    return check;
  });
}

/** Whether no two entries of a list have the same values in these fields. */
function haveOwnKeys(keys: readonly string[], list: readonly Json[]): boolean {
  const all = list.map((entry) =>
    JSON.stringify(keys.map((key) => (isJsonObject(entry) ? entry[key] : null))),
  );
  return new Set(all).size === all.length;
}

/** What an error of ajv says, and about which field. */
export function schemaFlawOf(
  { instancePath, keyword, message = "", params }: ErrorObject,
  root: string,
): SchemaFlaw {
  const path = `${root}${instancePath.replaceAll("/", ".")}`;
  if (keyword === "additionalProperties")
    return { field: `${path}.${params["additionalProperty"]}`, complaint: "is not in the CRD's schema" };
  if (keyword === LIST_KEYS)
    return { field: path, complaint: "must NOT have two entries with the same keys" };
  const allowed = ((params["allowedValues"] ?? []) as readonly Json[]).map((value) => JSON.stringify(value));
  if (keyword === "enum") return { field: path, complaint: `must be ${allowed.join(" or ")}` };
  // Several types are a list with commas: "must be integer,string".
  return { field: path, complaint: keyword === "type" ? message.replaceAll(",", " or ") : message };
}

/** The same schema in JSON Schema's terms. It refuses unknown fields, which the API server would drop. */
function closed(schema: JsonObject, patterns: PatternReader): JsonObject {
  return {
    ...translated(schema, patterns, closed),
    ...(dropsUnknownFields(schema) && { additionalProperties: false }),
  };
}

/**
 * A CRD's schema in JSON Schema's terms.
 * @param inner converts the schemas of its fields, entries and values
 */
function translated(
  schema: JsonObject,
  patterns: PatternReader,
  inner: (schema: JsonObject, patterns: PatternReader) => JsonObject,
): JsonObject {
  const {
    format,
    nullable,
    enum: values,
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
  const required = requiredIn(schema);
  const intOrString = schema["x-kubernetes-int-or-string"] === true;
  return {
    ...rest,
    ...(intOrString && { type: ["integer", "string"] }),
    ...(nullable === true && (intOrString || schema["type"] !== undefined) && { nullable }),
    ...(exclusiveMinimum === true && minimum !== undefined && { exclusiveMinimum: minimum }),
    ...(exclusiveMaximum === true && maximum !== undefined && { exclusiveMaximum: maximum }),
    ...(Array.isArray(values) && { enum: valuesOf(values) }),
    ...(schema["x-kubernetes-list-type"] === "set" && { uniqueItems: true }),
    ...(typeof format === "string" && Object.hasOwn(FORMATS, format) && { format }),
    ...(properties && { properties: mapValues(properties, (each) => inner(each, patterns)) }),
    ...(required.length > 0 && { required }),
    ...(isJsonObject(items) && { items: inner(items, patterns) }),
    ...(isJsonObject(additionalProperties) && {
      additionalProperties: inner(additionalProperties, patterns),
    }),
    ...junctions({ allOf, anyOf, oneOf, not }, patterns),
  };
}

/**
 * The schemas below `allOf` and its like. They restrict a value, and do not say which fields it has.
 *
 * Without what only the API server checks, a schema accepts more values than the API server does. Below `not` or `oneOf`, it would
 * then refuse values that the API server accepts: `oneOf` refuses a value that two of its schemas accept. So such a `not` is left
 * out, and such a `oneOf` is checked as `anyOf`.
 */
function junctions(
  { allOf, anyOf, oneOf, not }: Readonly<Record<string, Json | undefined>>,
  patterns: PatternReader,
): JsonObject {
  const [all, any, one] = [allOf, anyOf, oneOf].map((schemas) =>
    Array.isArray(schemas) ? schemas.map((each) => restriction(each, patterns)) : undefined,
  );
  const isExact = isChecked(oneOf, patterns);
  const each = [...(all ?? []), ...(one && !isExact ? [{ anyOf: one }] : [])];
  return {
    ...(each.length > 0 && { allOf: each }),
    ...(any && { anyOf: any }),
    ...(one && isExact && { oneOf: one }),
    ...(not !== undefined && isChecked(not, patterns) && { not: restriction(not, patterns) }),
  };
}

function restriction(schema: Json, patterns: PatternReader): Json {
  const open = (inner: JsonObject): JsonObject => translated(inner, patterns, open);
  return isJsonObject(schema) ? open(schema) : schema;
}

/** Whether a schema, and all schemas in it, are checked as the API server checks them. */
function isChecked(schema: Json | undefined, patterns: PatternReader): boolean {
  if (Array.isArray(schema)) return schema.every((each) => isChecked(each, patterns));
  if (!isJsonObject(schema)) return true;
  const { pattern, format, "x-kubernetes-validations": rules } = schema;
  if (rules !== undefined || FORMATS_OF_THE_SERVER.includes(String(format))) return false;
  if (pattern !== undefined && !patterns?.(String(pattern))) return false;
  const { properties, items, additionalProperties } = schema;
  const fields = isJsonObject(properties) ? Object.values(properties) : [];
  const inner = [...fields, items, additionalProperties, ...JUNCTORS.map((junctor) => schema[junctor])];
  return inner.every((each) => isChecked(each, patterns));
}

/** The values of an enum. The API server never takes a null for one of them, even if the enum lists it. */
function valuesOf(values: Json[]): Json[] {
  const others = values.filter((value) => value !== null);
  return others.length > 0 ? others : values;
}

function mapValues(map: JsonObject, change: (value: JsonObject) => JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value as JsonObject)]));
}

/**
 * Makes a check of the handler's status against the schema that the author gave for it in the CRD. The API server would silently
 * drop a field that the schema does not know, and the author would not find out why.
 *
 * @param schema the schema of `status`, as in the CRD. Undefined: any status will do
 * @returns a function that says in a sentence what is wrong with a status. Undefined if nothing is
 */
export function statusChecker(
  schema: JsonObject | undefined,
  patterns?: PatternReader,
): (status: unknown) => string | undefined {
  if (schema === undefined) return () => undefined;
  const check = schemaChecker(ofHandlers(schema), "status", patterns);
  return (status) => {
    const fields = Object.entries(status as JsonObject).filter(([name]) => !OWN_STATUS_FIELDS.includes(name));
    return check(Object.fromEntries(fields));
  };
}

/**
 * Makes a check of a value against a schema of a CRD. The check refuses a field that the schema does not know, which the API
 * server would silently drop.
 *
 * @param name what the value is called: "status"
 * @returns a function that says in a sentence what is wrong with a value. Undefined if nothing is
 */
export function schemaChecker(
  schema: JsonObject,
  name: string,
  patterns?: PatternReader,
): (value: unknown) => string | undefined {
  return (value) =>
    flawsOf(value, schema, patterns)
      .map((flaw) => Object.values(schemaFlawOf(flaw, name)).join(" "))
      .join("; ") || undefined;
}

/** The same schema, in which the engine's own fields may be missing. */
const ofHandlers = oncePerSchema(({ required, ...rest }) => {
  if (!Array.isArray(required)) return rest;
  return { ...rest, required: required.filter((name) => !OWN_STATUS_FIELDS.includes(String(name))) };
});

/** Conditions without the fields for which the schema of their list has no place: some lists have no `observedGeneration`. */
export function fitting(schema: JsonObject, conditions: readonly Condition[]): Condition[] {
  const list = conditions as unknown as Json;
  return storedForm(list, schema, { defaults: false, drops: true }) as unknown as Condition[];
}

/**
 * The formats that are checked as the API server checks them (k8s.io/kube-openapi, pkg/validation/strfmt). It ignores the formats of
 * numbers, and those that it does not know.
 */
export const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  date: isDate,
  "date-time": isDateTime,
  datetime: isDateTime,
  byte: (text) => text !== "" && /^([a-z0-9+/]{4})*([a-z0-9+/]{2}==|[a-z0-9+/]{3}=)?$/i.test(text),
  ipv4: (text) => text.includes(".") && isAddress(text),
  ipv6: (text) => text.includes(":") && isAddress(text),
  cidr: isRange,
  uuid: (text) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(text),
};

/** Further formats, which only the API server checks. */
export const FORMATS_OF_THE_SERVER: readonly string[] = [
  ...["bsonobjectid", "creditcard", "duration", "email", "hexcolor", "hostname", "isbn", "isbn10", "isbn13"],
  ...["k8s-long-name", "k8s-short-name", "mac", "rgbcolor", "ssn", "uri", "uuid3", "uuid4", "uuid5"],
];

function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

function isDateTime(text: string): boolean {
  const [, date = "", time = ""] = /^([^t]*)t(.*)$/is.exec(text) ?? [];
  return isDate(date) && /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(.\d+)?(z|[+-]\d\d:\d\d)$/i.test(time);
}

/** Whether a text is an address as Go read it before 1.17: with leading zeros in the parts of IPv4. */
function isAddress(text: string): boolean {
  if (text.includes(":")) return isIPv6(text) && !text.includes("%");
  return /^\d+(\.\d+){3}$/.test(text) && text.split(".").every((part) => Number(part) <= 255);
}

function isRange(text: string): boolean {
  const [, address = "", bits] = /^([^/]*)\/(\d+)$/.exec(text) ?? [];
  return isAddress(address) && Number(bits) <= (address.includes(":") ? 128 : 32);
}
