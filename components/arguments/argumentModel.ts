// What the schemas say of the arguments: for the configuration's keys, and for what is generated from them.
import type { z } from "zod";
import type { About } from "../manifests/about";

/** What an argument takes. */
export type ArgumentType =
  | { readonly kind: "string" | "integer" | "boolean" | "any" }
  | {
      readonly kind: "words";
      readonly type: string;
      readonly description: string;
      readonly words: readonly string[];
    }
  | { readonly kind: "list" | "map"; readonly each: Argument }
  | { readonly kind: "either"; readonly types: readonly Argument[] }
  | {
      readonly kind: "object";
      readonly type: string;
      readonly description: string;
      readonly fields: readonly Argument[];
    };

/** An argument, or an entry of a list or a map. */
export interface Argument extends Omit<About, "type"> {
  readonly name: string;
  readonly type: ArgumentType;
  /** Whole sentences. */
  readonly description: string;
  readonly isOptional: boolean;
  /** Whether it takes a value that is only known later. */
  readonly isLater: boolean;
  /** The value if it is left out. */
  readonly default?: unknown;
}

type Told = About & { readonly description?: string };

/** The argument that a schema describes. @param parent the name of the type that it is a field of */
export function argumentOf(name: string, schema: z.core.$ZodType, parent = ""): Argument {
  const layers = layersOf(schema);
  const told: Told = Object.assign({}, ...layers.map(metaOf).reverse());
  const { description = "", type = typeNameOf(parent, name), ...about } = told;
  const kinds = layers.map(({ _zod }) => _zod.def.type);
  const defaults = layers.flatMap(({ _zod: { def } }) =>
    def.type === "default" ? [(def as z.core.$ZodDefaultDef).defaultValue] : [],
  );
  return {
    ...about,
    name,
    description,
    type: typeOf(layers.at(-1) as z.core.$ZodType, { type, description }),
    isOptional: kinds.some((kind) => ["optional", "default", "prefault"].includes(kind)),
    isLater: kinds.includes("pipe"),
    ...(defaults.length > 0 && { default: defaults[0] }),
  };
}

/** A schema and those inside it, down to the one of the value itself. */
function layersOf(schema: z.core.$ZodType): z.core.$ZodType[] {
  const { def } = schema._zod as { readonly def: object };
  const inner =
    "innerType" in def
      ? def.innerType
      : (def as { type?: string }).type === "pipe"
        ? (def as z.core.$ZodPipeDef).out
        : undefined;
  return inner === undefined ? [schema] : [schema, ...layersOf(inner as z.core.$ZodType)];
}

function metaOf(schema: z.core.$ZodType): Told {
  return ((schema as z.ZodType).meta() ?? {}) as Told;
}

function typeOf(
  schema: z.core.$ZodType,
  { type, description }: { type: string; description: string },
): ArgumentType {
  const { def } = schema._zod;
  switch (def.type) {
    case "string":
      return { kind: "string" };
    case "number":
      return { kind: "integer" };
    case "boolean":
      return { kind: "boolean" };
    case "enum":
      return {
        kind: "words",
        type,
        description,
        words: Object.values((def as z.core.$ZodEnumDef).entries).map(String),
      };
    case "literal":
      return {
        kind: "words",
        type,
        description,
        words: (def as z.core.$ZodLiteralDef<string>).values.map(String),
      };
    case "array":
      return { kind: "list", each: argumentOf("", (def as z.core.$ZodArrayDef).element, type) };
    case "record":
      return { kind: "map", each: argumentOf("", (def as z.core.$ZodRecordDef).valueType, type) };
    case "union":
      return {
        kind: "either",
        types: (def as z.core.$ZodUnionDef).options.map((option) => argumentOf("", option, type)),
      };
    case "object":
      return {
        kind: "object",
        type,
        description,
        fields: Object.entries((def as z.core.$ZodObjectDef).shape).map(([name, field]) =>
          argumentOf(name, field, type),
        ),
      };
    default:
      return { kind: "any" };
  }
}

function typeNameOf(parent: string, name: string): string {
  return `${parent}${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
}
