import type { Shape, Struct, StructField } from "./shapes";

/** Names that no field of a class may have. */
const KEYWORDS = new Set(
  (
    "False None True and as assert async await break class continue def del elif else except finally for from global if import in " +
    "is lambda nonlocal not or pass raise return try while with yield"
  ).split(" "),
);

/**
 * The types of a custom resource in Python, as a module of TypedDicts.
 * @param kind "Cache"
 */
export function pythonTypes(kind: string, apiVersion: string, structs: readonly Struct[]): string {
  return `# Made by "argosy types" of the CRD. Make it again when that has changed.

from typing import Any, Literal, NotRequired, TypedDict

${structs.map(declaration).join("\n\n")}

class Metadata(TypedDict):
    name: str
    namespace: NotRequired[str]
    uid: str
    generation: NotRequired[int]
    labels: NotRequired[dict[str, str]]
    annotations: NotRequired[dict[str, str]]


class ${kind}(TypedDict):
    apiVersion: Literal[${JSON.stringify(apiVersion)}]
    kind: Literal[${JSON.stringify(kind)}]
    metadata: Metadata
    spec: ${kind}Spec
    status: NotRequired[${kind}Status]


class Request(TypedDict):
    """What reconcile and finalize are given."""

    key: str
    event: Literal["reconcile", "finalize"]
    object: ${kind}
    children: list[dict[str, Any]]
    attempt: int
    dryRun: NotRequired[bool]


class Answer(TypedDict):
    """What reconcile answers."""

    children: list[dict[str, Any]]
    status: NotRequired[${kind}Status]
    requeueAfterSeconds: NotRequired[float]
`;
}

function declaration({ name, description, fields }: Struct): string {
  if (fields.length === 0) return `${name} = dict[str, Any]\n`;
  const isPlain = fields.every(({ name: key }) => /^[A-Za-z_]\w*$/.test(key) && !KEYWORDS.has(key));
  if (!isPlain) return functional(name, description, fields);
  const text =
    description === undefined ? "" : `    ${JSON.stringify(description).replace(/^"|"$/g, '"""')}\n\n`;
  const lines = fields.map((each) => `${comment(each, "    ")}    ${each.name}: ${fieldType(each)}\n`);
  return `class ${name}(TypedDict):\n${text}${lines.join("")}`;
}

/** For fields whose names are no names in Python. */
function functional(name: string, description: string | undefined, fields: readonly StructField[]): string {
  const lines = fields.map(
    (each) => `${comment(each, "        ")}        ${JSON.stringify(each.name)}: ${fieldType(each)},\n`,
  );
  const above = description === undefined ? "" : `# ${description}\n`;
  return `${above}${name} = TypedDict(\n    "${name}",\n    {\n${lines.join("")}    },\n)\n`;
}

function comment({ description }: StructField, indent: string): string {
  return description === undefined ? "" : `${indent}# ${description}\n`;
}

function fieldType({ shape, isOptional }: StructField): string {
  return isOptional ? `NotRequired[${typeOf(shape)}]` : typeOf(shape);
}

function typeOf(shape: Shape): string {
  switch (shape.is) {
    case "string":
      return "str";
    case "integer":
      return "int";
    case "number":
      return "float";
    case "boolean":
      return "bool";
    case "any":
      return "Any";
    case "literals":
      // A number with a fraction is no literal in Python's types.
      return shape.values.every((value) => typeof value !== "number" || Number.isInteger(value))
        ? `Literal[${shape.values.map(literal).join(", ")}]`
        : "float";
    case "integerOrString":
      return "int | str";
    case "list":
      return `list[${typeOf(shape.of)}]`;
    case "map":
      return `dict[str, ${typeOf(shape.of)}]`;
    case "nullable":
      return `${typeOf(shape.of)} | None`;
    default:
      return shape.name;
  }
}

function literal(value: string | number | boolean): string {
  return typeof value === "boolean" ? (value ? "True" : "False") : JSON.stringify(value);
}
