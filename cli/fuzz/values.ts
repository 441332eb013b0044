import fc from "fast-check";
import { storedSchemaOf } from "../../definition/customResourceDefinition";
import { regexOf } from "../../definition/patterns";
import { isJsonObject, type Json, type JsonObject } from "../../runtime/base/objects";
import type { Operator } from "../../runtime/cli";
import { UsageError } from "../common/commandError";
import { type Fuzzing, valueAt } from "../fixtures/fuzzing";

/** What objects of a kind may be: everything but apiVersion, kind, metadata and status. */
export interface Values {
  readonly content: fc.Arbitrary<JsonObject>;
  /** Fields that are never changed after an object was created. */
  readonly fixed: readonly string[];
  /** Fields that have only the values that they have in fixtures, since only an API server knows which others they may have. */
  readonly known: readonly string[];
  /** The names of all fields of the schema. */
  readonly names: ReadonlySet<string>;
}

/** The parts of an object that are not its content. */
const NO_CONTENT = ["apiVersion", "kind", "metadata", "status"];

/** What is everything but content of an object taken away. */
export function contentOf(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !NO_CONTENT.includes(key)));
}

/**
 * The values that a CRD's schema allows, as far as it can be read without an API server. What a rule in CEL reads, and what has a
 * pattern that JavaScript does not understand, has the values of the fixtures.
 *
 * @param seeds objects of the operator's fixtures, as the API server would store them
 * @throws UsageError if fixtures are needed and there are none
 */
export function valuesOf(operator: Operator, seeds: readonly JsonObject[], fuzzing: Fuzzing): Values {
  const contents = seeds.map(contentOf);
  const schema = operator.watch ? undefined : storedSchemaOf(operator);
  assertKnown(fuzzing, operator, schema);
  if (!schema) {
    if (contents.length === 0)
      throw new UsageError(
        `${operator.name}: the kind that it watches has no schema here. Write a fixture with an object of it, whose values argosy fuzz uses.`,
      );
    return { content: fc.constantFrom(...contents), fixed: [], known: ["all fields"], names: new Set() };
  }
  const reader = new SchemaReader(contents, fuzzing);
  const { properties, required = [] } = schema as { properties?: JsonObject; required?: string[] };
  const own = Object.entries(properties ?? {}).filter(([key]) => !NO_CONTENT.includes(key));
  const content = reader.read(
    {
      ...schema,
      properties: Object.fromEntries(own),
      required: required.filter((key) => !NO_CONTENT.includes(key)),
    },
    "",
  );
  return {
    content: content as fc.Arbitrary<JsonObject>,
    fixed: [...reader.fixed, ...(fuzzing.fixed ?? [])],
    known: [...reader.known],
    names: reader.names,
  };
}

/** @throws UsageError if a declaration is about something that there is not */
function assertKnown(
  { values = {}, fixed = [], ignore = [] }: Fuzzing,
  { name, children }: Operator,
  schema: JsonObject | undefined,
): void {
  const unknown = [...Object.keys(values), ...fixed].find(
    (field) => schema && !hasField(schema, field.split(".")),
  );
  if (unknown !== undefined)
    throw new UsageError(
      `${name}: fuzz in its fixtures names ${unknown}, which its CRD's schema does not have.`,
    );
  const kinds = ["status", ...children.map(({ kind }) => kind)];
  const other = ignore.find((path) => !kinds.includes(path.split(".")[0] ?? ""));
  if (other !== undefined)
    throw new UsageError(
      `${name}: fuzz.ignore in its fixtures names ${other}. It must begin with one of: ${kinds.join(", ")}.`,
    );
}

function hasField(schema: JsonObject, [key, ...rest]: readonly string[]): boolean {
  if (key === undefined || schema["x-kubernetes-preserve-unknown-fields"] === true) return true;
  const { properties, items, additionalProperties } = schema;
  const inner =
    key === "[]"
      ? (items ?? additionalProperties)
      : isJsonObject(properties) && Object.hasOwn(properties, key) && properties[key];
  return isJsonObject(inner) && hasField(inner, rest);
}

/** Words as users write them, and unexpected ones. */
const WORDS = fc.constantFrom("a", "web", "x1", "shop-2", "team.a");
const ODD_WORDS = fc.constantFrom(
  "",
  " ",
  "0",
  "true",
  "A",
  "ä€",
  "a b",
  "-",
  "a/b:c@d",
  '"',
  "a\nb",
  "x".repeat(300),
);
/** Numbers around which programs err. */
const ODD_NUMBERS = [0, 1, -1, 2, 10, 1_000, 65_536, 2_147_483_647];

const FORMATS: Readonly<Record<string, readonly string[]>> = {
  "date-time": ["2026-01-01T00:00:00Z", "2024-02-29T23:59:59.999+02:00"],
  date: ["2026-01-01", "2024-02-29"],
  duration: ["1h", "90s", "24h"],
  ipv4: ["10.0.0.1", "0.0.0.0"],
  ipv6: ["::1", "2001:db8::1"],
  cidr: ["10.0.0.0/8"],
  uri: ["https://example.com", "http://a.example.com:8080/b?c=d"],
  hostname: ["example.com", "a"],
  email: ["ada@example.com"],
  uuid: ["1b5c7e9a-0d0e-4a53-9c5b-5f0f3f3a2f10"],
  byte: ["", "YQ=="],
};

class SchemaReader {
  readonly fixed = new Set<string>();
  readonly known = new Set<string>();
  readonly names = new Set<string>();

  constructor(
    private readonly seeds: readonly JsonObject[],
    private readonly fuzzing: Fuzzing,
  ) {}

  /** The values of a field. Undefined: none is known. @param field its path; the entries of lists and maps are called "[]" */
  read(schema: JsonObject, field: string): fc.Arbitrary<Json> | undefined {
    const declared = this.fuzzing.values?.[field];
    if (declared) return fc.constantFrom(...declared);
    const seeds = this.seedsAt(field);
    const rules = rulesOf(schema);
    if (rules.isWhole || "x-kubernetes-embedded-resource" in schema)
      return this.fromSeeds(field, seeds, rules);
    const made = this.ofType(schema, field, seeds, rules);
    if (!made) return this.fromSeeds(field, seeds, rules);
    const isWhole = isJsonObject(schema["properties"]) || seeds.length === 0 || "enum" in schema;
    return isWhole
      ? made
      : fc.oneof({ weight: 3, arbitrary: made }, { weight: 1, arbitrary: fc.constantFrom(...seeds) });
  }

  private fromSeeds(
    field: string,
    seeds: readonly Json[],
    { isTransition }: Rules,
  ): fc.Arbitrary<Json> | undefined {
    this.known.add(field === "" ? "all fields" : field);
    if (isTransition) this.fix(field);
    return seeds.length === 0 ? undefined : fc.constantFrom(...seeds);
  }

  /** An entry of a list has no path by which it stays the same, so the list stays the same. */
  private fix(field: string): void {
    this.fixed.add(field.split(".[]")[0] ?? "");
  }

  private ofType(
    schema: JsonObject,
    field: string,
    seeds: readonly Json[],
    rules: Rules,
  ): fc.Arbitrary<Json> | undefined {
    if (Array.isArray(schema["enum"]))
      return fc.constantFrom(...schema["enum"].filter((each) => each !== null));
    if (schema["x-kubernetes-int-or-string"] === true)
      return fc.oneof(integers(schema), fc.constantFrom("1", "50%", "http"));
    switch (schema["type"]) {
      case "boolean":
        return fc.boolean();
      case "integer":
        return integers(schema);
      case "number":
        return fc.oneof(
          integers(schema),
          integers(schema).map((each) => within(schema, each + 0.5)),
        );
      case "string":
        return strings(schema);
      case "array":
        return this.list(schema, field);
      default:
        return this.object(schema, field, seeds, rules);
    }
  }

  private list(schema: JsonObject, field: string): fc.Arbitrary<Json> | undefined {
    const {
      items,
      minItems: minLength = 0,
      maxItems,
    } = schema as { items?: JsonObject; minItems?: number; maxItems?: number };
    const entry = this.read(items ?? {}, `${field}.[]`);
    const maxLength = Math.max(minLength, Math.min(maxItems ?? 4, 4));
    if (!entry) return minLength === 0 ? fc.constant([]) : undefined;
    const keys = schema["x-kubernetes-list-map-keys"] as string[] | undefined;
    const isUnique =
      keys !== undefined || schema["x-kubernetes-list-type"] === "set" || schema["uniqueItems"] === true;
    if (!isUnique) return fc.array(entry, { minLength, maxLength });
    const selector = (each: Json) =>
      JSON.stringify(
        keys && isJsonObject(each) ? keys.map((key) => each[key] ?? defaultOf(items, key)) : each,
      );
    return fc.uniqueArray(entry, { minLength, maxLength, selector });
  }

  private object(
    schema: JsonObject,
    field: string,
    seeds: readonly Json[],
    { fields, isTransition }: Rules,
  ): fc.Arbitrary<Json> | undefined {
    const {
      properties = {},
      required = [],
      additionalProperties,
    } = schema as {
      properties?: Readonly<Record<string, JsonObject>>;
      required?: readonly string[];
      additionalProperties?: JsonObject | boolean;
    };
    const isOpen = schema["x-kubernetes-preserve-unknown-fields"] === true;
    const own = Object.entries(properties);
    if (own.length === 0)
      return this.map(schema, field, isJsonObject(additionalProperties) ? additionalProperties : isOpen);
    const pathOf = (key: string) => (field === "" ? key : `${field}.${key}`);
    const values: Record<string, fc.Arbitrary<Json>> = {};
    for (const [key, inner] of own) {
      this.names.add(key);
      if (fields.has(key)) continue;
      const value = this.read(inner, pathOf(key));
      if (value) values[key] = value;
      else if (required.includes(key) && inner["default"] === undefined) return undefined;
    }
    // The default of a field is one of its values, unless others are declared.
    const requiredKeys = Object.keys(values).filter(
      (key) =>
        this.fuzzing.values?.[pathOf(key)] !== undefined ||
        (required.includes(key) && properties[key]?.["default"] === undefined),
    );
    const free = fc.record(values, { requiredKeys }) as fc.Arbitrary<JsonObject>;
    const ruled = [...fields].filter((key) => key in properties);
    if (ruled.length === 0) return free;
    for (const key of ruled) {
      const path = pathOf(key);
      this.known.add(path);
      if (isTransition) this.fix(path);
    }
    const objects = seeds.filter(isJsonObject);
    if (objects.length === 0) return undefined;
    return fc.tuple(free, fc.constantFrom(...objects)).map(([made, seed]) => ({
      ...made,
      ...Object.fromEntries(Object.entries(seed).filter(([key]) => fields.has(key))),
    }));
  }

  private map(
    schema: JsonObject,
    field: string,
    entry: JsonObject | boolean,
  ): fc.Arbitrary<Json> | undefined {
    if (entry === false) return fc.constant({});
    const value =
      entry === true ? fc.oneof(WORDS, fc.integer({ min: 0, max: 9 })) : this.read(entry, `${field}.[]`);
    if (!value) return fc.constant({});
    const { minProperties: minKeys = 0, maxProperties = 3 } = schema as {
      minProperties?: number;
      maxProperties?: number;
    };
    const keys = fc.oneof(
      { weight: 4, arbitrary: WORDS },
      { weight: 1, arbitrary: fc.constantFrom("a/b", "A_b", "/x", "0", " ") },
    );
    return fc.dictionary(keys, value, {
      minKeys,
      maxKeys: Math.max(minKeys, Math.min(3, maxProperties)),
      noNullPrototype: true,
    });
  }

  /** What the fixtures have in a field. */
  private seedsAt(field: string): Json[] {
    if (field === "") return [...this.seeds];
    return field.split(".").reduce<Json[]>(
      (values, key) =>
        values.flatMap((value) => {
          if (key !== "[]")
            return isJsonObject(value) && Object.hasOwn(value, key) ? [value[key] as Json] : [];
          return Array.isArray(value) ? value : isJsonObject(value) ? Object.values(value) : [];
        }),
      [...this.seeds],
    );
  }
}

/** What the rules in CEL of a schema read. */
interface Rules {
  /** The fields of the object that they read. */
  readonly fields: ReadonlySet<string>;
  /** Whether one reads the whole value. */
  readonly isWhole: boolean;
  /** Whether one compares with the old value. */
  readonly isTransition: boolean;
}

function rulesOf(schema: JsonObject): Rules {
  const rules = (schema["x-kubernetes-validations"] ?? []) as readonly { readonly rule?: string }[];
  const texts = rules.map(({ rule = "" }) => rule);
  const uses = texts.flatMap((text) => [
    ...text.matchAll(/\b(?:self|oldSelf)\b(?:\.([A-Za-z_]\w*)(?!\w*\())?/g),
  ]);
  const fields = uses.map(([, field]) => field);
  return {
    fields: new Set(fields.filter((field) => field !== undefined)),
    isWhole: fields.includes(undefined) || (texts.length > 0 && !isJsonObject(schema["properties"])),
    isTransition: texts.some((text) => /\boldSelf\b/.test(text)),
  };
}

function defaultOf(items: JsonObject | undefined, key: string): Json | undefined {
  return valueAt(items, `properties.${key}.default`);
}

interface Bounds {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: number;
}

function boundsOf(schema: JsonObject): { readonly min: number; readonly max: number } {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema as Bounds;
  return {
    min: minimum === undefined ? -2_147_483_648 : Math.ceil(minimum) + (exclusiveMinimum ? 1 : 0),
    max: maximum === undefined ? 2_147_483_647 : Math.floor(maximum) - (exclusiveMaximum ? 1 : 0),
  };
}

function within(schema: JsonObject, value: number): number {
  const { min, max } = boundsOf(schema);
  return Math.min(Math.max(value, min), max);
}

function integers(schema: JsonObject): fc.Arbitrary<number> {
  const { min, max: most } = boundsOf(schema);
  const max = Math.max(min, most);
  const { multipleOf = 1 } = schema as Bounds;
  const edges = [...ODD_NUMBERS, min, max].filter((each) => each >= min && each <= max);
  const near = Math.min(Math.max(0, min), max);
  const any = fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: near, max: Math.min(max, near + 20) }) },
    { weight: 2, arbitrary: fc.constantFrom(...edges) },
    { weight: 1, arbitrary: fc.integer({ min, max }) },
  );
  return multipleOf === 1 ? any : any.map((each) => Math.ceil(each / multipleOf) * multipleOf);
}

/** Undefined if only an API server knows. */
function strings(schema: JsonObject): fc.Arbitrary<string> | undefined {
  const {
    pattern,
    format,
    minLength = 0,
    maxLength = 1_000,
  } = schema as {
    pattern?: string;
    format?: string;
    minLength?: number;
    maxLength?: number;
  };
  if (pattern !== undefined) {
    const regex = regexOf(pattern);
    try {
      // A text of another length is refused later, with the whole object.
      return regex && fc.stringMatching(regex, { size: minLength > 3 ? "small" : "xsmall", maxLength });
    } catch {
      return undefined;
    }
  }
  if (format !== undefined && Object.hasOwn(FORMATS, format))
    return fc.constantFrom(...(FORMATS[format] ?? []));
  const padded = (text: string) => text.padEnd(minLength, "x").slice(0, Math.max(maxLength, minLength));
  return fc
    .oneof({ weight: 4, arbitrary: WORDS }, { weight: 2, arbitrary: ODD_WORDS }, fc.string({ maxLength: 20 }))
    .map(padded);
}
