import { nearest } from "../../definition/nearest";
import type { Json, JsonObject } from "../../runtime/kubernetes/objects";
import { UsageError } from "../commandError";

/** A field of spec, as it is typed: "size:int", "plan:string?". */
export interface SpecField {
  readonly name: string;
  readonly isOptional: boolean;
  /** The schema of the field in the CRD. */
  readonly schema: JsonObject;
  /** The value of the field in the fixture's object. */
  readonly sample: Json;
}

/** The types of fields, each with its schema and an example. */
const TYPES: Readonly<Record<string, { readonly schema: JsonObject; readonly sample: Json }>> = {
  string: { schema: { type: "string" }, sample: "example" },
  int: { schema: { type: "integer" }, sample: 1 },
  number: { schema: { type: "number" }, sample: 0.5 },
  bool: { schema: { type: "boolean" }, sample: true },
  list: { schema: { type: "array", items: { type: "string" } }, sample: ["one"] },
  map: { schema: { type: "object", additionalProperties: { type: "string" } }, sample: { key: "value" } },
};

/** The fields of spec. @throws UsageError for text that is not a field */
export function parseFields(texts: readonly string[]): SpecField[] {
  const fields = texts.map(parseField);
  const names = fields.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new UsageError(`${twice}: the field is given twice.`);
  return fields;
}

function parseField(text: string): SpecField {
  const [, name = "", word = "", mark] = /^([^:]*):([^?]*)(\?)?$/.exec(text) ?? [];
  const example = "Write a name and a type, for example size:int, or size:int? for an optional field.";
  if (!name) throw new UsageError(`${text}: this is not a field. ${example}`);
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
  return { name, isOptional: mark !== undefined, ...type };
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
  if (!kind || rest.length > 0) throw refuse("this is not a group and a kind.");
  if (!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/.test(group)) {
    throw refuse("the group must be a domain of yours, in lower case.");
  }
  if (/(^|\.)(k8s|kubernetes)\.io$/.test(group))
    throw refuse("the group is reserved for Kubernetes' own kinds.");
  if (!/^[A-Z][A-Za-z0-9]*$/.test(kind)) throw refuse("a kind must begin with a capital letter.");
  return { group, kind };
}
