import { fitting, schemaChecker } from "../runtime/base/contentSchema";
import { ENGINE_CONDITIONS, LAST_APPLIED_ANNOTATION, MEMORY_FIELD } from "../runtime/base/names";
import { type Condition, isJsonObject, type Json, type JsonObject } from "../runtime/base/objects";
import { schemaOfField } from "../runtime/base/storedForm";
import { LONGEST } from "../runtime/base/text";
import type { CustomResourceKind, Operator } from "../runtime/operator/definition";
import { checkPaths } from "./checkPaths";
import { checkSchema } from "./checkSchema";
import { DNS_LABEL } from "./fields/terms";
import type { Problems, Report } from "./problems";
import { readYaml } from "./readYaml";

/** The engine's conditions, with messages as long as they can be. */
const LONGEST_CONDITIONS: Condition[] = ENGINE_CONDITIONS.map((type, index) => ({
  type,
  status: index === 0 ? "True" : "False",
  reason: "Reconciled",
  message: "x".repeat(LONGEST),
  observedGeneration: 1,
  lastTransitionTime: "2026-01-01T00:00:00Z",
}));

/** A CustomResourceDefinition as its author wrote it, and the kind that it defines. */
export interface CustomResourceDefinition {
  readonly crd: JsonObject;
  readonly customResource: CustomResourceKind;
}

/**
 * Reads and checks a CRD file. Rare mistakes that the API server reports clearly, such as a default that does not fit its type, are
 * left to the API server.
 *
 * @param file absolute path
 * @param problems gets every problem, with line and column
 * @returns undefined if there was one
 */
export function readCustomResourceDefinition(
  file: string,
  problems: Problems,
): CustomResourceDefinition | undefined {
  const missing = "Name the CustomResourceDefinition's file as crd in the definition.";
  const documents = readYaml(file, missing, problems);
  if (documents === undefined) return undefined;
  const [document, another] = documents;
  if (another) {
    another.report(
      "the file",
      `has ${documents.length} documents`,
      "Keep one CustomResourceDefinition in it.",
    );
    return undefined;
  }
  if (!document || !isJsonObject(document.content)) {
    problems.in(file)("the file", "has no object in it", "Write a CustomResourceDefinition.");
    return undefined;
  }
  const { content: crd, report } = document;
  if (crd.kind !== "CustomResourceDefinition" || crd.apiVersion !== "apiextensions.k8s.io/v1") {
    report(
      "the document",
      `is ${show(crd.apiVersion)}, kind ${show(crd.kind)}, not a CustomResourceDefinition`,
      "Write apiVersion: apiextensions.k8s.io/v1 and kind: CustomResourceDefinition.",
    );
    return undefined;
  }
  const customResource = readKind(crd, report);
  return customResource && { crd: withoutServersPart(crd), customResource };
}

/**
 * A CRD without what a cluster has written into it: its status, and of its metadata everything but name, labels and annotations. An
 * exported CRD has it, and each of its fields would keep the CRD out of another cluster.
 */
function withoutServersPart({ apiVersion, kind, metadata, spec }: JsonObject): JsonObject {
  const { name, labels, annotations } = isJsonObject(metadata) ? metadata : {};
  const { [LAST_APPLIED_ANNOTATION]: _, ...authors } = isJsonObject(annotations) ? annotations : {};
  const isAnnotated = Object.keys(authors).length > 0;
  return {
    ...{ apiVersion, kind },
    metadata: { name, ...(labels !== undefined && { labels }), ...(isAnnotated && { annotations: authors }) },
    spec,
  } as JsonObject;
}

/** The versions of a CRD that are objects. */
export function versionsOf(crd: JsonObject): JsonObject[] {
  const versions = at(crd, "spec", "versions");
  return Array.isArray(versions) ? versions.filter(isJsonObject) : [];
}

/** The schema that a version of a CRD gives for `status`. Undefined if it gives none. */
export function statusSchemaOf(version: JsonObject): JsonObject | undefined {
  const schema = at(version, "schema", "openAPIV3Schema", "properties", "status");
  return isJsonObject(schema) ? schema : undefined;
}

/** Whether a webhook converts between the versions of a CRD. Otherwise only `apiVersion` changes. */
export function hasWebhook(crd: JsonObject): boolean {
  return at(crd, "spec", "conversion", "strategy") === "Webhook";
}

/** Says what a CRD needs that Argosy does not provide. Undefined if it needs nothing. */
export function conversionNote({ name, crd, customResource: { version } }: Operator): string | undefined {
  if (!hasWebhook(crd)) return undefined;
  return `${name}: its CRD converts versions by a webhook, which Argosy does not provide: requests in another version than ${version} fail while nothing serves it.`;
}

/** The schema of a custom resource in one version. Undefined if its CRD gives none. */
export function schemaOfVersion(crd: JsonObject, version: string): JsonObject | undefined {
  const schema = at(
    versionsOf(crd).find(({ name }) => name === version),
    "schema",
    "openAPIV3Schema",
  );
  return isJsonObject(schema) ? schema : undefined;
}

/** The same in the version that is stored. */
export function storedSchemaOf({ crd, customResource }: CustomResourceDefinition): JsonObject | undefined {
  return schemaOfVersion(crd, customResource.version);
}

/** The schema that a CRD gives for `spec` in the version that is stored. Undefined if it gives none. */
export function specSchemaOf(resource: CustomResourceDefinition): JsonObject | undefined {
  const schema = at(storedSchemaOf(resource), "properties", "spec");
  return isJsonObject(schema) ? schema : undefined;
}

const PLURAL_REMEDY = 'Write lower-case letters, digits and "-", for example plural: memcacheds.';

function readKind(crd: JsonObject, report: Report): CustomResourceKind | undefined {
  let complete = true;
  const problem: Report = (...words) => {
    complete = false;
    report(...words);
  };
  const word = (field: string, remedy: string): string => {
    const value = at(crd, ...field.split("."));
    if (typeof value === "string" && value !== "") return value;
    problem(field, value === undefined ? "is missing" : `is ${show(value)}, not a string`, remedy);
    return "";
  };
  const group = word("spec.group", "Give a domain of yours, for example group: cache.example.com.");
  const kind = word("spec.names.kind", "Name the kind, for example kind: Memcached.");
  const plural = word("spec.names.plural", PLURAL_REMEDY);
  const scope = word("spec.scope", "Write scope: Namespaced, or scope: Cluster.");
  if (scope && scope !== "Namespaced" && scope !== "Cluster") {
    problem("spec.scope", `is "${scope}"`, "Write scope: Namespaced, or scope: Cluster.");
  }
  // In a protected group, the API server accepts only a CRD that says who approved it (KEP-1111).
  const isProtected = at(crd, "metadata", "annotations", "api-approved.kubernetes.io") === undefined;
  if (group) checkGroup(group, isProtected, problem);
  const name = at(crd, "metadata", "name");
  if (plural && !DNS_LABEL.test(plural)) {
    problem("spec.names.plural", `is "${plural}", not a DNS label`, PLURAL_REMEDY);
  } else if (group && plural && name !== `${plural}.${group}`) {
    const remedy = `It must be the plural and the group: name: ${plural}.${group}.`;
    problem("metadata.name", name === undefined ? "is missing" : `is ${show(name)}`, remedy);
  }
  const stored = readStoredVersion(crd, problem);
  if (!complete || stored === undefined) return undefined;
  const statusSchema = statusSchemaOf(stored);
  return {
    group,
    version: String(stored.name),
    kind,
    plural,
    namespaced: scope === "Namespaced",
    ...(statusSchema && { statusSchema }),
  };
}

function checkGroup(group: string, isProtected: boolean, problem: Report): void {
  if (!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/.test(group)) {
    problem(
      "spec.group",
      `is "${group}", not a domain`,
      "Give a domain of yours, for example cache.example.com.",
    );
  }
  if (isProtected && /(^|\.)(k8s|kubernetes)\.io$/.test(group)) {
    problem(
      "spec.group",
      `is "${group}", which is reserved for Kubernetes' own kinds`,
      "Use a domain of yours.",
    );
  }
}

function readStoredVersion(crd: JsonObject, problem: Report): JsonObject | undefined {
  const versions = versionsOf(crd);
  if (versions.length === 0) {
    problem("spec.versions", "is missing or empty", "Give one version with served: true and storage: true.");
    return undefined;
  }
  for (const [index, version] of versions.entries()) {
    checkVersion(version, `spec.versions[${index}]`, problem);
  }
  const stored = versions.filter((version) => version.storage === true);
  if (stored.length !== 1) {
    const found = stored.length === 0 ? "has no version" : `has ${stored.length} versions`;
    problem("spec.versions", `${found} with storage: true`, "Write it for exactly one.");
  }
  for (const version of stored) {
    if (version.served === true) continue;
    problem(
      `version ${show(version.name)}`,
      "is stored, but is not served",
      "Write served: true as well as storage: true.",
    );
  }
  return stored[0];
}

function checkVersion(version: JsonObject, field: string, problem: Report): void {
  if (typeof version.name !== "string" || !/^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(version.name)) {
    const found = version.name === undefined ? "is missing" : `is ${show(version.name)}`;
    problem(`${field}.name`, found, "Name the version, for example name: v1alpha1.");
  }
  const schema = at(version, "schema", "openAPIV3Schema");
  const schemaField = `${field}.schema.openAPIV3Schema`;
  if (!isJsonObject(schema)) {
    problem(schemaField, "is missing", "Give the schema of the resource, at least type: object.");
    return;
  }
  let isSchema = true;
  checkSchema(schema, schemaField, (...words) => {
    isSchema = false;
    problem(...words);
  });
  if (isSchema) checkPaths(version, schema, field, problem);
  const status = statusSchemaOf(version);
  // Argosy writes statuses in the stored version alone.
  if (status && isSchema && version.storage === true)
    checkStatusSchema(status, `${schemaField}.properties.status`, problem);
}

/** What would keep Argosy's own fields from being written: `OWN_STATUS_FIELDS`. It adds those that the author's schema leaves out. */
function checkStatusSchema(status: JsonObject, field: string, problem: Report): void {
  if (status.type !== undefined && status.type !== "object") {
    problem(`${field}.type`, `is ${show(status.type)}`, "Write type: object; conditions are added to it.");
  }
  if (at(status, "properties", MEMORY_FIELD) !== undefined) {
    const remedy =
      "Give it another name: Argosy adds this field, and stores there what it must remember about an object.";
    problem(`${field}.properties.${MEMORY_FIELD}`, "is a reserved name", remedy);
  }
  const conditions = fitting(schemaOfField(status, "conditions") ?? {}, LONGEST_CONDITIONS);
  for (const [name, written] of Object.entries({ observedGeneration: 1, conditions })) {
    const place = schemaOfField(status, name);
    const flaw = place && (schemaChecker(place, name)(written) ?? flawOfConditions(name, conditions));
    if (flaw === undefined) continue;
    const remedy = `Leave ${name} out, and Argosy adds it. Or write ${name === "conditions" ? "the schema of metav1.Condition" : "type: integer"}.`;
    problem(`${field}.properties.${name}`, `does not accept what Argosy writes: ${flaw}`, remedy);
  }
}

/** Whether a list of conditions has no place for what makes them conditions. */
function flawOfConditions(name: string, conditions: readonly Condition[]): string | undefined {
  const isNamed = conditions.every(({ type, status }) => type !== undefined && status !== undefined);
  return name !== "conditions" || isNamed ? undefined : "its entries have no type or no status";
}

function at(value: Json | undefined, ...keys: string[]): Json | undefined {
  return keys.reduce<Json | undefined>((inner, key) => (isJsonObject(inner) ? inner[key] : undefined), value);
}

function show(value: Json | undefined): string {
  return value === undefined ? "nothing" : JSON.stringify(value);
}
