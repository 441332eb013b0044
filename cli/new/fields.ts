import { nearest } from "../../definition/nearest";
import type { Json, JsonObject } from "../../runtime/base/objects";
import { isKindKey } from "../../runtime/base/resource";
import { UsageError } from "../common/commandError";

/** A field of spec, as it is typed: "size:int:min=1", "plan:string:optional". */
export interface SpecField {
  readonly name: string;
  readonly isOptional: boolean;
  /** The schema of the field in the CRD. */
  readonly schema: JsonObject;
  /** The value of the field in the fixture's object. */
  readonly sample: Json;
}

interface FieldType {
  readonly schema: JsonObject;
  readonly sample: Json;
  /** A value of this type from one word. Undefined if it is none. */
  readonly read?: (word: string) => Json | undefined;
}

/** The types of fields. */
const TYPES: Readonly<Record<string, FieldType>> = {
  string: { schema: { type: "string" }, sample: "example", read: (word) => word },
  int: {
    schema: { type: "integer" },
    sample: 1,
    read: (word) => (/^-?\d+$/.test(word) ? Number(word) : undefined),
  },
  number: {
    schema: { type: "number" },
    sample: 0.5,
    read: (word) => (/^-?\d+(\.\d+)?$/.test(word) ? Number(word) : undefined),
  },
  bool: {
    schema: { type: "boolean" },
    sample: true,
    read: (word) => (word === "true" || word === "false" ? word === "true" : undefined),
  },
  list: { schema: { type: "array", items: { type: "string" } }, sample: ["one"] },
  map: { schema: { type: "object", additionalProperties: { type: "string" } }, sample: { key: "value" } },
};

/** The fields of spec. @throws UsageError for text that is not a field */
export function parseFields(texts: readonly string[]): SpecField[] {
  const fields = texts.map(parseField);
  refuseTwice(
    fields.map(({ name }) => name),
    "field",
  );
  return fields;
}

/** @throws UsageError if a name is there twice */
export function refuseTwice(names: readonly string[], what: "field" | "label"): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new UsageError(`${twice}: the ${what} is given twice.`);
}

/** Only these characters are safe in every shell: zsh expands a question mark. */
const EXAMPLE =
  "Write a name and a type, for example size:int, size:int:min=1:max=9, plan:string:enum=small,large or note:string:optional.";

function parseField(text: string): SpecField {
  const [head = "", preset] = splitOnce(text, ":default=");
  const [name = "", word, ...limits] = head.split(":");
  if (!name || word === undefined) throw new UsageError(`${text}: this is not a field. ${EXAMPLE}`);
  if (!/^[a-z][A-Za-z0-9]*$/.test(name)) {
    throw new UsageError(
      `${text}: a field consists of letters and digits, and begins with a lower-case letter, for example maxSize:int.`,
    );
  }
  const type = Object.hasOwn(TYPES, word) ? TYPES[word] : undefined;
  if (!type) {
    const meant = nearest(word, Object.keys(TYPES));
    const advice =
      meant === undefined ? `Types are: ${Object.keys(TYPES).join(", ")}.` : `Did you mean ${name}:${meant}?`;
    throw new UsageError(`${text}: there is no type ${word}. ${advice}`);
  }
  const refuse = (complaint: string) => new UsageError(`${text}: ${complaint}`);
  const {
    optional,
    min,
    max,
    enum: choices,
    ...others
  } = Object.fromEntries(limits.map((limit) => splitOnce(limit, "=")));
  const isComplete = limits.every((limit) => limit === "optional" || limit.includes("="));
  if (!isComplete || Object.keys(others).length > 0 || optional !== undefined)
    throw refuse(`after the type follow optional, min=, max=, enum= and, at the end, default=. ${EXAMPLE}`);
  const valueIn = (value: string): Json => {
    if (!type.read) throw refuse(`a ${word} has no limits and no default here. Write them into crd.yaml.`);
    return type.read(value) ?? fail(refuse(`"${value}" is not of the type ${word}.`));
  };
  const isNumber = typeof type.sample === "number";
  if (!isNumber && (min ?? max) !== undefined) throw refuse("only an int or a number has min and max.");
  const facets = {
    ...(min !== undefined && { minimum: valueIn(min) }),
    ...(max !== undefined && { maximum: valueIn(max) }),
    ...(choices !== undefined && { enum: choices.split(",").map(valueIn) }),
    ...(preset !== undefined && { default: valueIn(preset) }),
  };
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = facets;
  const fits = (value: Json) =>
    (facets.enum?.includes(value) ?? true) &&
    (!isNumber || (Number(value) >= Number(minimum) && Number(value) <= Number(maximum)));
  if (facets.default !== undefined && !fits(facets.default))
    throw refuse("the default is outside of the limits.");
  const sample = [facets.default, type.sample, ...(facets.enum ?? []), facets.minimum, facets.maximum].find(
    (value) => value !== undefined && fits(value),
  );
  if (sample === undefined) throw refuse("no value is within the limits.");
  return {
    name,
    isOptional: limits.includes("optional") || preset !== undefined,
    schema: { ...type.schema, ...facets },
    sample,
  };
}

function fail(error: Error): never {
  throw error;
}

/** What stands before and after the first separator. Undefined after it if there is none. */
function splitOnce(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + separator.length)];
}

/** A kind of the author's own. */
export interface NewKind {
  readonly group: string;
  readonly kind: string;
}

/**
 * A group and a kind: "shop.example.com/Cache".
 * @throws UsageError for text that is neither
 */
export function parseKind(text: string): NewKind {
  const [group = "", kind = "", ...rest] = text.split("/");
  const refuse = (complaint: string) =>
    new UsageError(`${text}: ${complaint} Write, for example, shop.example.com/Cache.`);
  if (isKindKey(text)) throw refuse("only a kind to --watch has a version here.");
  if (!kind || rest.length > 0) throw refuse("this is not a group and a kind.");
  if (!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/.test(group)) {
    throw refuse("the group must be a domain of yours, in lower case.");
  }
  if (/(^|\.)(k8s|kubernetes)\.io$/.test(group))
    throw refuse("the group is reserved for Kubernetes' own kinds.");
  if (!/^[A-Z][A-Za-z0-9]*$/.test(kind))
    throw refuse("a kind consists of letters and digits, and begins with a capital letter.");
  return { group, kind };
}
