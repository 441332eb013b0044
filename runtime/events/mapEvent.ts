import { createHash } from "node:crypto";
import { flawFinder } from "../definition/contentSchema";
import type { EventMapping, EventScalar } from "../definition/outsideEvent";
import { flawOf } from "../json/flaw";
import { isRecord, scalarText, writeJson } from "../json/json";
import { isJsonObject, type Json, type JsonObject } from "../kubernetes/objects";
import { valueAt } from "./fieldPath";
import { schemaOfField, typed } from "./typed";

/** The most bytes that the `spec` of an object may have, as JSON. */
export const MOST_SPEC_BYTES = 256 * 1024;
/** The most characters of a text in an id. The id is in names, annotations and Warnings. */
const LONGEST_ID = 512;

/** The object that an event becomes. */
export interface EventObject {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly spec: JsonObject;
  /** The values of the id's fields. */
  readonly id: readonly string[];
}

/** Why no object can ever be created from an event. It contains nothing of the event's content. */
export interface Refusal {
  /** The field of the event, or of the object, that is wrong. */
  readonly field: string;
  /** What is wrong with it: "is missing". */
  readonly complaint: string;
  /** The values of the id's fields, if they are known. */
  readonly id?: readonly string[];
}

/** The result of a mapping. */
export type Mapped =
  | { readonly kind: "object"; readonly object: EventObject }
  /** It does not meet `when`. */
  | { readonly kind: "skipped" }
  | { readonly kind: "refused"; readonly refusal: Refusal };

/** Makes objects of events. The same event gives the same object. */
export type EventMapper = (data: unknown) => Mapped;

/**
 * Prepares the mapping of an event.
 *
 * In `mapping.spec`, a text in single quotes is a constant, and so are numbers and booleans. Any other text is the path of a
 * field of the event, which must be there. If the text ends with a question mark, the field may be missing, and is then missing
 * in the object too. The value at a path is converted to the type that the schema gives for its place: see `typed`.
 *
 * @param schema that of the custom resource's `spec`. Undefined: any content
 */
export function eventMapper(mapping: EventMapping, schema: JsonObject | undefined): EventMapper {
  const check = flawFinder(schema, "spec");
  return (data) => {
    try {
      return mapEvent(mapping, schema, check, data);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return { kind: "refused", refusal: error.refusal };
    }
  };
}

/** Ends a mapping: see {@link Refusal}. */
class Refused extends Error {
  constructor(readonly refusal: Refusal) {
    super(`${refusal.field} ${refusal.complaint}`);
  }
}

function mapEvent(
  mapping: EventMapping,
  schema: JsonObject | undefined,
  check: ReturnType<typeof flawFinder>,
  data: unknown,
): Mapped {
  if (!meets(mapping.when, data)) return { kind: "skipped" };
  const id = mapping.id.map((path) => idOf(path, data));
  const refuse = (field: string, complaint: string) => new Refused({ field, complaint, id });
  const namespace = namespaceOf(mapping.namespace, data, refuse);
  const spec = built(mapping.spec, schema, data, "spec", refuse);
  if (!isJsonObject(spec)) throw refuse("spec", "is no object");
  const unwritable = flawOf(spec);
  if (unwritable !== undefined) throw refuse("spec", unwritable);
  const flaw = check(spec);
  if (flaw) throw refuse(flaw.field, flaw.complaint);
  const bytes = Buffer.byteLength(writeJson(spec));
  if (bytes > MOST_SPEC_BYTES) throw refuse("spec", `has ${bytes} bytes, more than ${MOST_SPEC_BYTES}`);
  return { kind: "object", object: { name: nameOf(mapping, id), namespace, spec, id } };
}

/** The name of the object of an event. The same id gives the same name, and another id another name. */
function nameOf({ type, name }: EventMapping, id: readonly string[]): string {
  const hash = createHash("sha256").update(JSON.stringify([type, name, ...id]));
  return `${name}-${hash.digest("hex").slice(0, 20)}`;
}

function meets(when: EventMapping["when"], data: unknown): boolean {
  return Object.entries(when).every(([path, wanted]) => {
    const value = scalarText(valueAt(data, path));
    const each: readonly EventScalar[] = Array.isArray(wanted) ? wanted : [wanted as EventScalar];
    return value !== undefined && each.some((one) => scalarText(one) === value);
  });
}

function idOf(path: string, data: unknown): string {
  const value = valueAt(data, path);
  const text = scalarText(value);
  const complain = (complaint: string) => new Refused({ field: path, complaint });
  if (value === undefined || text === "") throw complain("is missing, and it is part of the id");
  if (text === undefined) throw complain("is neither a string nor a number, but it is part of the id");
  if (text.length > LONGEST_ID)
    throw complain(`has more than ${LONGEST_ID} characters, but it is part of the id`);
  return text;
}

function namespaceOf(
  namespace: EventMapping["namespace"],
  data: unknown,
  refuse: (field: string, complaint: string) => Error,
): string | undefined {
  if (namespace === undefined || typeof namespace === "string") return namespace;
  const value = valueAt(data, namespace.from);
  if (value === undefined) throw refuse(namespace.from, "is missing, but it is the namespace");
  const found = namespace.allowed.find((each) => each === value);
  if (found === undefined) throw refuse(namespace.from, "is not one of the allowed namespaces");
  return found;
}

/** The part of the object that a part of the mapping gives. Undefined if it is left out. */
function built(
  template: Json,
  schema: JsonObject | undefined,
  data: unknown,
  at: string,
  refuse: (field: string, complaint: string) => Error,
): Json | undefined {
  if (Array.isArray(template)) {
    const items = isJsonObject(schema?.["items"]) ? schema["items"] : undefined;
    const entries = template.map((each, index) => built(each, items, data, `${at}[${index}]`, refuse));
    return entries.filter((entry) => entry !== undefined);
  }
  if (isRecord(template)) {
    const entries = Object.entries(template).map(
      ([field, each]) =>
        [field, built(each as Json, schemaOfField(schema, field), data, `${at}.${field}`, refuse)] as const,
    );
    return Object.fromEntries(entries.filter((entry): entry is [string, Json] => entry[1] !== undefined));
  }
  const constant = constantOf(template);
  if (constant !== undefined) return typed(constant, schema);
  const { path, isOptional } = pathOf(template as string);
  const value = valueAt(data, path);
  if (value !== undefined) return typed(value as Json, schema);
  if (isOptional) return undefined;
  throw refuse(path, `is missing, and ${at} comes from it`);
}

/** The constant in a part of a mapping. Undefined if it is a path. */
export function constantOf(template: Json): Json | undefined {
  if (typeof template !== "string") return template;
  return /^'.*'$/s.test(template) ? template.slice(1, -1) : undefined;
}

/** The path in a part of a mapping, and whether its field may be missing. */
export function pathOf(template: string): { readonly path: string; readonly isOptional: boolean } {
  const isOptional = template.endsWith("?");
  return { path: isOptional ? template.slice(0, -1) : template, isOptional };
}
