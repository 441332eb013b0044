import type { Shape, Struct, StructField } from "./shapes";

/**
 * The types of a custom resource in TypeScript, as a declaration file.
 * @param kind "Cache"
 */
export function typescriptTypes(kind: string, apiVersion: string, structs: readonly Struct[]): string {
  return `// Made by "argosy types" of the CRD. Make it again when that has changed.

${structs.map(declaration).join("\n")}
export interface ${kind} {
  readonly apiVersion: ${JSON.stringify(apiVersion)};
  readonly kind: ${JSON.stringify(kind)};
  readonly metadata: Metadata;
  readonly spec: ${kind}Spec;
  readonly status?: ${kind}Status;
}

export interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly generation?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** An object of any kind. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  // biome-ignore lint/suspicious/noExplicitAny: every kind has fields of its own
  readonly [field: string]: any;
}

/** What reconcile and finalize are given. */
export interface Request {
  readonly key: string;
  readonly event: "reconcile" | "finalize";
  readonly object: ${kind};
  readonly children: readonly KubernetesObject[];
  readonly attempt: number;
  readonly dryRun?: true;
  readonly [field: string]: unknown;
}

/** What reconcile answers. */
export interface Answer {
  readonly children: readonly KubernetesObject[];
  readonly status?: ${kind}Status;
  readonly requeueAfterSeconds?: number;
  readonly [field: string]: unknown;
}
`;
}

function declaration({ name, description, fields }: Struct): string {
  const lines = fields.map(field);
  if (lines.length === 0) {
    return `${comment(description, "")}export type ${name} = Readonly<Record<string, unknown>>;\n`;
  }
  return `${comment(description, "")}export interface ${name} {\n${lines.join("")}}\n`;
}

function field({ name, shape, isOptional, description }: StructField): string {
  const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
  return `${comment(description, "  ")}  readonly ${key}${isOptional ? "?" : ""}: ${typeOf(shape)};\n`;
}

function comment(description: string | undefined, indent: string): string {
  return description === undefined ? "" : `${indent}/** ${description.replaceAll("*/", "*\\/")} */\n`;
}

function typeOf(shape: Shape): string {
  switch (shape.is) {
    case "integer":
      return "number";
    case "any":
      return "unknown";
    case "literals":
      return shape.values.map((value) => JSON.stringify(value)).join(" | ");
    case "integerOrString":
      return "number | string";
    case "list": {
      const inner = typeOf(shape.of);
      return `readonly ${inner.includes(" ") ? `(${inner})` : inner}[]`;
    }
    case "map":
      return `Readonly<Record<string, ${typeOf(shape.of)}>>`;
    case "nullable":
      return `${typeOf(shape.of)} | null`;
    case "struct":
      return shape.name;
    default:
      return shape.is;
  }
}
