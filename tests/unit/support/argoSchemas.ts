import { readFileSync } from "node:fs";
import path from "node:path";
import Ajv, { type ValidateFunction } from "ajv";
import { isRecord } from "../../../runtime/base/json";

/** Kinds that Argo's own JSON schemas describe. */
export type ArgoKind =
  | "EventBus"
  | "EventSource"
  | "Sensor"
  | "Workflow"
  | "WorkflowTemplate"
  | "ClusterWorkflowTemplate"
  | "CronWorkflow";

/** What is wrong with a manifest, a line each: where, and what. Nothing where it is in order. */
export type ArgoValidator = (manifest: unknown) => string[];

/** Made by `trim.mjs` in the same folder, which says from what. */
const FOLDER = path.resolve(__dirname, "../../schemas");
const FILES = ["argo-events.json", "argo-workflows.json"];

/** The release of Argo whose schemas a file has: "v1.9.11". */
export function argoRelease(project: "argo-events" | "argo-workflows"): string {
  const { $comment } = JSON.parse(readFileSync(path.join(FOLDER, `${project}.json`), "utf8"));
  return /\/blob\/([^/]+)\//.exec($comment)?.[1] ?? "";
}

const validators = new Map<ArgoKind, ArgoValidator>();
let compilers: readonly Compiler[] | undefined;

/** One file of schemas: those of whole kinds, by kind. */
interface Compiler {
  readonly ajv: Ajv;
  readonly references: ReadonlyMap<string, string>;
}

/**
 * Checks manifests of a kind against Argo's own JSON schema, closed: an unknown field is an error, which the API
 * server would keep in silence or drop.
 *
 * ```ts
 * assert.deepEqual(argoValidator("Sensor")(sensor), []);
 * ```
 */
export function argoValidator(kind: ArgoKind): ArgoValidator {
  const known = validators.get(kind);
  if (known) return known;
  compilers ??= FILES.map(load);
  const { ajv, reference } = locate(kind, compilers);
  const compiled = ajv.getSchema(reference);
  if (!compiled) throw new Error(`${reference} is not there`);
  const validator: ArgoValidator = (manifest) => problemsOf(kind, compiled, manifest);
  validators.set(kind, validator);
  return validator;
}

function locate(kind: ArgoKind, all: readonly Compiler[]): { ajv: Ajv; reference: string } {
  for (const { ajv, references } of all) {
    const reference = references.get(kind);
    if (reference !== undefined) return { ajv, reference };
  }
  throw new Error(`No schema of Argo describes ${kind}`);
}

function load(file: string): Compiler {
  const schema: unknown = JSON.parse(readFileSync(path.join(FOLDER, file), "utf8"));
  if (!isRecord(schema) || !isRecord(schema.definitions)) throw new Error(`${file} has no definitions`);
  const references = new Map<string, string>();
  for (const [name, definition] of Object.entries(schema.definitions)) {
    close(definition);
    const properties = isRecord(definition) && isRecord(definition.properties) ? definition.properties : {};
    if (isRecord(properties.kind) && typeof properties.kind.const === "string") {
      references.set(properties.kind.const, `${file}#/definitions/${name}`);
    }
  }
  // The file of Argo Workflows knows only the text of what Kubernetes takes as a number too (intstr.go).
  const intOrString = schema.definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"];
  if (isRecord(intOrString)) intOrString.type = ["integer", "string"];
  // To optimize the code of such large schemas takes longer than it saves in the few manifests that are checked.
  const code = { optimize: false };
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false, verbose: true, code });
  ajv.addSchema({ ...schema, $id: file });
  return { ajv, references };
}

/** Closes a schema and those in it, where it names its fields and does not say that there may be more. */
function close(schema: unknown): void {
  if (!isRecord(schema)) return;
  const { properties, items, additionalProperties } = schema;
  for (const each of isRecord(properties) ? Object.values(properties) : []) close(each);
  for (const each of Array.isArray(items) ? items : [items, additionalProperties]) close(each);
  for (const part of [schema.allOf, schema.anyOf, schema.oneOf]) {
    // Each part knows only its own fields: to close it would refuse those of the others.
    if (Array.isArray(part) && part.length > 0) return;
  }
  const open = schema["x-kubernetes-preserve-unknown-fields"] === true;
  if (isRecord(properties) && additionalProperties === undefined && !open)
    schema.additionalProperties = false;
}

function problemsOf(kind: ArgoKind, validate: ValidateFunction, manifest: unknown): string[] {
  const identity = isRecord(manifest) ? `${manifest.apiVersion}, ${manifest.kind}` : "nothing";
  // The schemas do not require them.
  if (identity !== `argoproj.io/v1alpha1, ${kind}`) return [`/: is ${identity}, not a ${kind} of Argo`];
  if (validate(manifest)) return [];
  return (validate.errors ?? []).map(({ instancePath, keyword, params, message, data }) => {
    const where = instancePath || "/";
    if (keyword === "additionalProperties") return `${where}: has no field "${params.additionalProperty}"`;
    return `${where}: ${message}${keyword === "required" ? "" : `, is ${JSON.stringify(data)}`}`;
  });
}
