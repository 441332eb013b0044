import { SOURCE_TYPES } from "../../definition/eventSources";
import { operatorSchema } from "../../definition/jsonSchema";
import { code, table } from "./table";

/** The part of JSON Schema that zod uses for a definition. */
interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** A group of fields within another field: "children[]", "uses.<name>". */
interface Group {
  readonly path: string;
  readonly schema: Schema;
}

const INTRODUCTION = `# operator.yaml

Every field of an operator's definition. This page is generated from the schema that checks the file, like [operator.schema.json](../../operator.schema.json), which editors use for completion. [Handlers](../handlers.md#the-definition) has examples.

\`handler\`, \`children\`, and either \`crd\` or \`watch\` are required. You choose the names in angle brackets. \`[]\` means each entry of a list.
`;

/** docs/reference/operator-yaml.md: every field of operator.yaml, with the fields within it. */
export function operatorYamlPage(): string {
  const schema = operatorSchema("") as Schema;
  return [
    INTRODUCTION,
    fieldsOf({ path: "", schema }, false),
    ...within({ path: "", schema }).map(section),
  ].join("\n");
}

function section(group: Group): string {
  return `## ${code(group.path)}\n\n${fieldsOf(group, true)}`;
}

function fieldsOf({ schema }: Group, tellsRequired: boolean): string {
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) => {
    const isRequired = tellsRequired && schema.required?.includes(name);
    return [
      code(name),
      isSource(name) ? "object" : typeOf(field),
      [field.description, isRequired && "Required."].filter(Boolean).join(" "),
    ];
  });
  return table(["field", "type", "meaning"], rows);
}

/** Whether a field is one of Argo's event sources. Their fields are Argo's own. */
function isSource(name: string): boolean {
  return SOURCE_TYPES.some((type) => type === name);
}

/** The groups of fields within a group, and within these groups. */
function within({ path, schema }: Group): Group[] {
  const children = Object.entries(schema.properties ?? {})
    .filter(([name]) => !isSource(name))
    .flatMap(([name, field]) => groupsOf(path === "" ? name : `${path}.${name}`, field));
  return children.flatMap((group) => [group, ...within(group)]);
}

/** The groups that a field has: as an object, as the entries of a list or a map, or as one of several forms. */
function groupsOf(path: string, field: Schema): Group[] {
  if (field.properties) return [{ path, schema: field }];
  if (field.items) return groupsOf(`${path}[]`, field.items);
  if (typeof field.additionalProperties === "object")
    return groupsOf(`${path}.<name>`, field.additionalProperties);
  return (field.anyOf ?? []).flatMap((form) => groupsOf(path, form));
}

/** In a few words: "string", "list of strings", "0 to 3600". */
function typeOf(field: Schema): string {
  const { type, items, additionalProperties, anyOf, minimum, maximum } = field;
  if (field.enum) return field.enum.map((value) => code(String(value))).join(", ");
  if (field.const !== undefined) return code(String(field.const));
  if (anyOf) return [...new Set(anyOf.map(typeOf))].join(", or ");
  if (type === "array") return items ? `list of ${plural(typeOf(items))}` : "list";
  if (type === "string") return "string";
  if (type === "integer" || type === "number") return rangeOf(minimum, maximum);
  if (type === undefined) return "any value";
  if (type === "object")
    return isMap(field) ? `map of ${plural(typeOf(additionalProperties as Schema))}` : "object";
  return type;
}

function rangeOf(minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER): string {
  const least = minimum > Number.MIN_SAFE_INTEGER;
  if (maximum < Number.MAX_SAFE_INTEGER) return least ? `${minimum} to ${maximum}` : `at most ${maximum}`;
  return least ? `${minimum} or more` : "number";
}

function isMap({ properties, additionalProperties }: Schema): boolean {
  return properties === undefined && typeof additionalProperties === "object";
}

/** "strings", "strings or objects". */
function plural(type: string): string {
  const types = type
    .split(", or ")
    .map((each) => (/^(string|object|any value)$/.test(each) ? `${each}s` : each));
  return types.join(" or ");
}
