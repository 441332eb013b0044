import { isJsonObject, type Json, type JsonObject } from "../../runtime/base/objects";

/** A type of a CRD's schema, in the form of handlers' languages. */
export type Shape =
  | { readonly is: "string" | "integer" | "number" | "boolean" | "any" }
  | { readonly is: "literals"; readonly values: readonly (string | number | boolean)[] }
  | { readonly is: "integerOrString" }
  | { readonly is: "list"; readonly of: Shape }
  | { readonly is: "map"; readonly of: Shape }
  | { readonly is: "nullable"; readonly of: Shape }
  /** A {@link Struct}, by its name. */
  | { readonly is: "struct"; readonly name: string };

/** An object with known fields. It has none if the schema does not describe its fields. */
export interface Struct {
  /** "CacheSpecPlan" */
  readonly name: string;
  readonly description?: string;
  readonly fields: readonly StructField[];
}

/** A field of a {@link Struct}. */
export interface StructField {
  readonly name: string;
  readonly shape: Shape;
  /** Whether a handler may find it missing, because it is neither required nor has a default. */
  readonly isOptional: boolean;
  readonly description?: string;
}

/** The names that every file of types has, in addition to those of its kind, and the keywords of Python that a kind may be called. */
const OTHER_TYPES: ReadonlySet<string> = new Set([
  ...["Metadata", "Request", "Answer", "FinalizeAnswer", "Failure", "Reports", "Children", "Typed"],
  ...["KubernetesObject", "Record", "Readonly", "Due", "Used", "Error", "Reconciled", "Finalized"],
  ...["Any", "Literal", "NotRequired", "TypedDict", "Mapping", "Sequence"],
  ...["True", "False", "None"],
]);

/** The name of the type of a kind's objects: the kind, if no other type has this name. */
export function typeNameOf(kind: string): string {
  return OTHER_TYPES.has(kind) ? `${kind}Resource` : kind;
}

/**
 * The types of a custom resource as its handler gets it: with the defaults filled in.
 * @param name the beginning of the type of `spec`: "Cache"
 * @returns every struct, each after the structs that it names, including those of `spec` and `status`
 */
export function structsOf(name: string, schema: JsonObject): Struct[] {
  const structs = new Structs();
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  for (const part of ["spec", "status"] as const) {
    const inner = properties[part];
    const own = isJsonObject(inner) ? inner : {};
    shapeOf({ type: "object", properties: {}, ...own }, `${name}${capital(part)}`, structs);
  }
  return structs.all;
}

/** The structs that were found, and the names that they have. */
class Structs {
  readonly all: Struct[] = [];
  private readonly names = new Set<string>();

  /** A name that no other struct has: `fooBar` and `foo-bar` would both be "FooBar". */
  nameLike(wanted: string): string {
    let name = wanted;
    for (let count = 2; this.names.has(name); count++) name = `${wanted}${count}`;
    this.names.add(name);
    return name;
  }
}

function shapeOf(schema: JsonObject, name: string, structs: Structs): Shape {
  const shape = plainShape(schema, name, structs);
  return schema.nullable === true ? { is: "nullable", of: shape } : shape;
}

function plainShape(schema: JsonObject, wanted: string, structs: Structs): Shape {
  const { type, items, properties, additionalProperties } = schema;
  if (schema["x-kubernetes-int-or-string"] === true) return { is: "integerOrString" };
  const values = Array.isArray(schema.enum) ? schema.enum.filter(isLiteral) : [];
  if (values.length > 0) return { is: "literals", values };
  if (type === "array") {
    return { is: "list", of: isJsonObject(items) ? shapeOf(items, `${wanted}Item`, structs) : { is: "any" } };
  }
  if (isJsonObject(properties)) {
    const name = structs.nameLike(wanted);
    structs.all.push(structOf(schema, properties, name, structs));
    return { is: "struct", name };
  }
  if (isJsonObject(additionalProperties)) {
    return { is: "map", of: shapeOf(additionalProperties, `${wanted}Value`, structs) };
  }
  if (type === "object") return { is: "map", of: { is: "any" } };
  if (type === "string" || type === "integer" || type === "number" || type === "boolean") return { is: type };
  return { is: "any" };
}

function structOf(schema: JsonObject, properties: JsonObject, name: string, structs: Structs): Struct {
  const required = Array.isArray(schema.required) ? schema.required : [];
  const fields = Object.entries(properties).map(([field, value]): StructField => {
    const inner = isJsonObject(value) ? value : {};
    return {
      name: field,
      shape: shapeOf(inner, `${name}${capital(field)}`, structs),
      isOptional: !required.includes(field) && inner.default === undefined,
      ...descriptionOf(inner),
    };
  });
  return { name, fields, ...descriptionOf(schema) };
}

function descriptionOf({ description }: JsonObject): { description?: string } {
  return typeof description === "string" ? { description: description.replaceAll(/\s+/g, " ").trim() } : {};
}

function isLiteral(value: Json): value is string | number | boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}

/** "maxSize" as part of a type's name: "MaxSize". Characters that an identifier may not have are left out. */
function capital(field: string): string {
  return field
    .split(/[^A-Za-z0-9]+/)
    .map((word) => (word[0] ?? "").toUpperCase() + word.slice(1))
    .join("");
}
