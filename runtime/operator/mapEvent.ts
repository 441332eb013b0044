import { createHash } from "node:crypto";
import { flawFinder } from "../base/contentSchema";
import { flawOf, isRecord, scalarText, valueAlong, type Way, writeJson } from "../base/json";
import { isDnsName, isJsonObject, type Json, type JsonObject, type ObjectName } from "../base/objects";
import { schemaOfField, typed } from "../base/storedForm";

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
  /** It wakes the object of this name, if there is one. */
  | { readonly kind: "wake"; readonly name: ObjectName }
  /** It does not meet `when`. */
  | { readonly kind: "skipped" }
  | { readonly kind: "refused"; readonly refusal: Refusal };

/** Makes objects of events, or names the object to wake. The same event gives the same result. Never throws. */
export type EventMapper = (data: unknown) => Mapped;

/**
 * Prepares the mapping of an event.
 *
 * In `mapping.spec`, a text in single quotes is a constant, and so are numbers and booleans. Any other text is the path of a field
 * of the event, which must exist. If the text ends with a question mark, the field may be missing, and is then missing in the
 * object too. The value at a path is converted to the type that the schema gives for its place: see `typed`.
 *
 * @param schema that of the custom resource's `spec`. Undefined: any content
 */
export function eventMapper(
  mapping: EventMapping | WakeMapping,
  schema: JsonObject | undefined,
): EventMapper {
  const check = flawFinder(schema, "spec");
  return (data) => {
    let id: readonly string[] | undefined;
    try {
      if (!meets(mapping.when, data)) return { kind: "skipped" };
      if ("wake" in mapping) return { kind: "wake", name: nameToWake(mapping.wake, data) };
      id = mapping.id.map((path) => idOf(path, data));
      const namespace = namespaceOf(mapping.namespace, data);
      const spec = specOf(built(mapping.spec, schema, data, "spec"), check);
      return { kind: "object", object: { name: nameOf(mapping, id), namespace, spec, id } };
    } catch (error) {
      // An event that fails here fails each time.
      const why = error instanceof Refused ? error : new Refused("the event", "is nested too deeply");
      const { field, complaint } = why;
      return { kind: "refused", refusal: { field, complaint, ...(id && { id }) } };
    }
  };
}

/** Ends a mapping: see {@link Refusal}. */
class Refused extends Error {
  constructor(
    readonly field: string,
    readonly complaint: string,
  ) {
    super(`${field} ${complaint}`);
  }
}

function specOf(spec: Json | undefined, check: ReturnType<typeof flawFinder>): JsonObject {
  if (!isJsonObject(spec)) throw new Refused("spec", "is no object");
  const unwritable = flawOf(spec);
  if (unwritable !== undefined) throw new Refused("spec", unwritable);
  const flaw = check(spec);
  if (flaw) throw new Refused(flaw.field, flaw.complaint);
  const bytes = Buffer.byteLength(writeJson(spec));
  if (bytes > MOST_SPEC_BYTES) throw new Refused("spec", `has ${bytes} bytes, more than ${MOST_SPEC_BYTES}`);
  return spec;
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
  if (value === undefined || text === "") throw new Refused(path, "is missing, and it is part of the id");
  if (text === undefined)
    throw new Refused(path, "is neither a string nor a number, but it is part of the id");
  if (text.length > LONGEST_ID)
    throw new Refused(path, `has more than ${LONGEST_ID} characters, but it is part of the id`);
  return text;
}

/** A name that no object can have is refused, so that it reaches no log. */
function nameToWake({ namespace, name }: WakeMapping["wake"], data: unknown): ObjectName {
  const constant = constantOf(name);
  const value = constant ?? scalarText(valueAt(data, name));
  if (value === undefined) throw new Refused(name, "is missing, or no text, but it is the object's name");
  if (!isDnsName(String(value))) throw new Refused(name, "is not the name of an object");
  const where = namespaceOf(namespace, data);
  return { ...(where !== undefined && { namespace: where }), name: String(value) };
}

function namespaceOf(
  namespace: (EventMapping | WakeMapping["wake"])["namespace"],
  data: unknown,
): string | undefined {
  if (namespace === undefined || typeof namespace === "string") return namespace;
  const value = valueAt(data, namespace.from);
  if (value === undefined) throw new Refused(namespace.from, "is missing, but it is the namespace");
  if (namespace.allowed === undefined) {
    if (typeof value === "string" && isDnsName(value)) return value;
    throw new Refused(namespace.from, "is not the name of a namespace");
  }
  const found = namespace.allowed.find((each) => each === value);
  if (found === undefined) throw new Refused(namespace.from, "is not one of the allowed namespaces");
  return found;
}

/** The part of the object that a part of the mapping gives. Undefined if it is left out. */
function built(template: Json, schema: JsonObject | undefined, data: unknown, at: string): Json | undefined {
  if (Array.isArray(template)) {
    const items = isJsonObject(schema?.["items"]) ? schema["items"] : undefined;
    const entries = template.map((each, index) => built(each, items, data, `${at}[${index}]`));
    return entries.filter((entry) => entry !== undefined);
  }
  if (isRecord(template)) {
    const entries = Object.entries(template).map(
      ([field, each]) =>
        [field, built(each as Json, schemaOfField(schema, field), data, `${at}.${field}`)] as const,
    );
    return Object.fromEntries(entries.filter((entry): entry is [string, Json] => entry[1] !== undefined));
  }
  const constant = constantOf(template);
  if (constant !== undefined) return typed(constant, schema);
  const { path, isOptional } = pathOf(template as string);
  const value = valueAt(data, path);
  if (value !== undefined) return typed(value as Json, schema);
  if (isOptional) return undefined;
  throw new Refused(path, `is missing, and ${at} comes from it`);
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

/** A value that a field of an event is compared with. */
export type EventScalar = string | number | boolean;

/** The namespace of the objects that are created from an event: a constant, or a field of the event with one of these values. */
export type EventNamespace = string | { readonly from: string; readonly allowed: readonly string[] };

/** Which events an entry of `on` is about. */
interface CountedEvents {
  /** The event's name in `on`. */
  readonly name: string;
  /** The type of its source, as Argo calls it: "webhook". */
  readonly type: string;
  /**
   * Which events count: each of these field paths must have its value, or one of its values. An event without such a field does
   * not count.
   */
  readonly when: Readonly<Record<string, EventScalar | readonly EventScalar[]>>;
}

/** How an intake creates an object from an event. The object's name begins with the event's. */
export interface EventMapping extends CountedEvents {
  /** Field paths whose values together distinguish this event from all others of its source. */
  readonly id: readonly string[];
  /** Undefined for a custom resource without namespaces. */
  readonly namespace?: EventNamespace | undefined;
  /** The fields of the object's `spec`: see `mapEvent`. */
  readonly spec: JsonObject;
}

/** Which existing object an event wakes. */
export interface WakeMapping extends CountedEvents {
  readonly wake: {
    /** Undefined for objects without namespaces. With `from` and without `allowed`: any namespace of the operator. */
    readonly namespace?:
      | string
      | { readonly from: string; readonly allowed?: readonly string[] | undefined }
      | undefined;
    /** The path of the field that has the object's name, or the name in single quotes. */
    readonly name: string;
  };
}

/** An event from outside that becomes a custom resource, or wakes an object: an entry of `on`. */
export type OutsideEvent = (EventMapping | WakeMapping) & {
  /** Argo's event source, as Argo writes it. */
  readonly source: JsonObject;
  /** How long after it became Ready an object of this event is deleted, in seconds. @default never */
  readonly ttlSecondsAfterReady?: number | undefined;
};

const STEP = /\.?([A-Za-z_$@][A-Za-z0-9_$@-]*)|\[(\d{1,6})\]|\["((?:[^"\\]|\\.)*)"\]/y;

/** More steps than this have no meaning. */
const MOST_STEPS = 64;

/**
 * The steps of a field path: `body.comment.id`, `header.X-Event-Id[0]`, `body["a.b"]`.
 * @returns undefined if the text is not a path
 */
export function stepsOf(path: string): Way | undefined {
  const steps: (string | number)[] = [];
  STEP.lastIndex = 0;
  for (let at = 0; at < path.length; at = STEP.lastIndex) {
    // Before each field but the first there is a dot, and before a bracket there is none.
    if (path[at] !== "[" && (at === 0) === (path[at] === ".")) return undefined;
    STEP.lastIndex = at;
    const [, field, index, quoted] = STEP.exec(path) ?? [];
    if (field !== undefined) steps.push(field);
    else if (index !== undefined) steps.push(Number(index));
    else if (quoted !== undefined) steps.push(quoted.replace(/\\(.)/g, "$1"));
    else return undefined;
    if (steps.length > MOST_STEPS) return undefined;
  }
  return steps.length === 0 || typeof steps[0] === "number" ? undefined : steps;
}

/** The value at a path. Undefined if there is no value, or null. Inherited properties do not count. */
export function valueAt(value: unknown, path: string): unknown {
  return valueAlong(value, stepsOf(path) ?? [""]) ?? undefined;
}
