import { isNamespaced, isSecretKind } from "../runtime/base/kinds";
import { isJsonObject, isObjectName, type Json, type JsonObject } from "../runtime/base/objects";
import type { CustomResourceKind } from "../runtime/operator/definition";
import { constantIn, EACH, isLabelValue, listedNames, parseTerm, type Step } from "../runtime/operator/uses";
import { checkKnownKind } from "./checkChildren";
import { type CustomResourceDefinition, storedSchemaOf } from "./customResourceDefinition";
import { didYouMean } from "./nearest";
import type { Report } from "./problems";
import type { CheckedDefinition } from "./schema";

type CheckedUse = CheckedDefinition["uses"][string];

/** The types of a value that can be a name. */
const NAMING_TYPES = ["string"];
/** The fields of `metadata` to which an object may refer, and which of them are maps. */
const METADATA = { name: false, namespace: false, uid: false, labels: true, annotations: true };
const PATH_REMEDY = "Give the path of a field, for example spec.credentialsSecret, or a constant in quotes:";

/**
 * Checks the `uses` of a definition against Kubernetes' kinds, and every field path against the schema of the custom resource. A
 * wrong path would silently give nothing for ever.
 *
 * @param resource undefined if the CRD could not be read
 */
export function checkUses(
  { uses, namespaces }: Pick<CheckedDefinition, "uses" | "namespaces">,
  resource: CustomResourceDefinition | undefined,
  report: Report,
): void {
  for (const [key, use] of Object.entries(uses)) {
    const field = `uses.${key}`;
    checkKnownKind(use, field, report);
    checkScope(use, field, namespaces, resource?.customResource, report);
    if (
      isSecretKind(use) &&
      use.labels !== undefined &&
      use.namespace === undefined &&
      namespaces === "all"
    ) {
      const complaint =
        "selects Secrets in all namespaces, and anyone who may list those may read every Secret";
      report(`${field}.labels`, complaint, "Give namespace, or write namespaces as a list.", ["namespaces"]);
    }
    for (const name of listedNames(use) ?? []) {
      if (isObjectName(name)) continue;
      report(`${field}.name`, "cannot be the name of an object", `${PATH_REMEDY} "'settings'".`);
    }
    const schema = resource && storedSchemaOf(resource);
    const terms = use.name === undefined ? Object.entries(use.labels ?? {}) : [["", use.name] as const];
    for (const [label, text] of terms) {
      const at = label === "" ? `${field}.name` : `${field}.labels.${label}`;
      const flaw = flawInTerm(text, schema);
      if (flaw) report(at, flaw.complaint, flaw.remedy);
      const constant = label === "" ? undefined : constantIn(text);
      if (constant !== undefined && !isLabelValue(constant)) {
        const remedy = "Use at most 63 letters, digits, -, _ and dots, a letter or digit first and last.";
        report(at, "cannot be the value of a label", remedy);
      }
    }
    const term = use.name === undefined ? undefined : parseTerm(use.name);
    if (use.names !== undefined && (!term || "constant" in term)) {
      report(`${field}.names`, "is only for a name that is the path of a field", "Leave it out.");
    }
  }
}

/** The scope of the kind, and of the custom resource. */
function checkScope(
  { apiVersion, kind, namespace }: CheckedUse,
  field: string,
  namespaces: CheckedDefinition["namespaces"],
  resource: CustomResourceKind | undefined,
  report: Report,
): void {
  const namespaced = isNamespaced(apiVersion, kind);
  if (namespaced === false && namespace !== undefined) {
    report(`${field}.namespace`, `is given for ${kind}, which is cluster-scoped`, "Leave it out.");
  }
  if (namespaced === false && namespaces !== "all") {
    report(field, `is ${kind}, which is cluster-scoped`, "Leave it out, or write namespaces: all.", [
      "namespaces",
    ]);
  }
  if (namespaced && namespace === undefined && resource?.namespaced === false) {
    const complaint = `is ${kind}, which is namespaced, and the CRD's scope is Cluster`;
    report(field, complaint, "Give the namespace, for example namespace: shared.");
  }
}

interface Flaw {
  readonly complaint: string;
  readonly remedy: string;
}

/** The problem of a constant or a path. Undefined if there is none. */
function flawInTerm(text: string, schema: JsonObject | undefined): Flaw | undefined {
  const term = parseTerm(text);
  if (!term) return { complaint: "is not a field path", remedy: `${PATH_REMEDY} "'settings'".` };
  if ("constant" in term) return undefined;
  const [root, ...rest] = term.path;
  if (root === "metadata") return flawInMetadata(rest);
  if (root !== "spec") {
    const isWord = term.path.length === 1 && typeof root === "string";
    const remedy = isWord
      ? `Is it a constant? Then write it in quotes of its own: "'${root}'".`
      : PATH_ADVICE;
    return { complaint: `is ${text}, which is not in spec or metadata`, remedy };
  }
  return schema && flawInSchema(["spec"], rest, propertyOf(schema, "spec"));
}

const PATH_ADVICE = "Begin it with spec or metadata: only these say what an object uses.";

function flawInMetadata(path: readonly Step[]): Flaw | undefined {
  const [field, key, ...rest] = path;
  const known = Object.keys(METADATA);
  if (typeof field !== "string" || !Object.hasOwn(METADATA, field)) {
    const shown = formatPath(["metadata", ...path]);
    return { complaint: `is ${shown}, which is not a field`, remedy: meant(String(field ?? ""), known) };
  }
  const isMap = METADATA[field as keyof typeof METADATA];
  const isRight = isMap ? typeof key === "string" && rest.length === 0 : key === undefined;
  if (isRight) return undefined;
  const remedy = isMap
    ? `Name one of them: metadata.${field}['example.com/uses'].`
    : `Write metadata.${field}.`;
  return { complaint: `is ${formatPath(["metadata", ...path])}, which is not a string`, remedy };
}

/** Follows a path into a schema. A part that the schema leaves open may have any field. */
function flawInSchema(
  before: Step[],
  path: readonly Step[],
  schema: JsonObject | undefined,
): Flaw | undefined {
  if (schema === undefined) {
    const complaint = `is ${formatPath([...before, ...path])}, and the CRD's schema has no ${formatPath(before)}`;
    return { complaint, remedy: "Add it to the CRD, or correct the path." };
  }
  const { type, items, additionalProperties, properties } = schema;
  const isOpen =
    schema["x-kubernetes-preserve-unknown-fields"] === true ||
    schema["x-kubernetes-embedded-resource"] === true;
  const [step, ...rest] = path;
  const here = formatPath(before);
  if (step === undefined) {
    if (isOpen || type === undefined || NAMING_TYPES.includes(String(type))) return undefined;
    const remedy =
      type === "array" ? `Write ${here}[*] for each of its entries.` : "Give the path of a string in it.";
    return { complaint: `is ${here}, which is of type ${String(type)}, not a string`, remedy };
  }
  if (type === "array" || step === EACH) {
    if (type === "array" && step === EACH)
      return flawInSchema([...before, EACH], rest, isJsonObject(items) ? items : {});
    if (isOpen && type !== "array") return undefined;
    const complaint =
      type === "array" ? `is a path into ${here}, a list` : `has [*] after ${here}, which is not a list`;
    return { complaint, remedy: type === "array" ? `Write ${here}[*].` : "Leave [*] out." };
  }
  const inner = propertyOf(schema, step);
  if (inner) return flawInSchema([...before, step], rest, inner);
  if (isJsonObject(additionalProperties)) return flawInSchema([...before, step], rest, additionalProperties);
  if (isOpen || additionalProperties === true) return undefined;
  const known = isJsonObject(properties) ? Object.keys(properties) : [];
  const complaint = `is ${formatPath([...before, ...path])}, and the CRD's schema has no ${formatPath([...before, step])}`;
  return { complaint, remedy: meant(step, known) };
}

function meant(word: string, known: readonly string[]): string {
  const otherwise =
    known.length === 0 ? "Add it to the CRD, or correct the path." : `Known are: ${known.join(", ")}.`;
  return didYouMean(word, known, otherwise);
}

function propertyOf({ properties }: JsonObject, name: string): JsonObject | undefined {
  if (!isJsonObject(properties) || !Object.hasOwn(properties, name)) return undefined;
  const found: Json | undefined = properties[name];
  return isJsonObject(found) ? found : {};
}

/** A field path as its author writes it. */
export function formatPath(path: readonly Step[]): string {
  return path.reduce<string>((text, step) => {
    if (step === EACH) return `${text}[*]`;
    if (!/^[A-Za-z_][\w-]*$/.test(step)) return `${text}['${step}']`;
    return text === "" ? step : `${text}.${step}`;
  }, "");
}
