import { statusSchemaOf } from "../../definition/customResourceDefinition";
import {
  isJsonObject,
  type Json,
  type JsonObject,
  type Manifest,
  MEMORY_FIELD,
  type Operator,
  schemaChecker,
} from "../../runtime/program";

/** `metav1.Condition`, with the limits of its kubebuilder markers (apimachinery, meta/v1/types.go). */
const CONDITION_SCHEMA: JsonObject = {
  type: "object",
  required: ["lastTransitionTime", "message", "reason", "status", "type"],
  properties: {
    type: {
      description: "The type of the condition: Ready, Reconciling, Stalled.",
      type: "string",
      maxLength: 316,
      pattern:
        "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
    },
    status: { description: "Whether it holds.", type: "string", enum: ["True", "False", "Unknown"] },
    reason: {
      description: "Why, in one word for programs.",
      type: "string",
      minLength: 1,
      maxLength: 1024,
      pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
    },
    message: { description: "Why, in words for people.", type: "string", maxLength: 32768 },
    lastTransitionTime: { description: "When status last changed.", type: "string", format: "date-time" },
    observedGeneration: {
      description: "The metadata.generation for which the condition was set.",
      type: "integer",
      format: "int64",
      minimum: 0,
    },
  },
};

/** The fields that Argosy writes into every status. */
const STATUS_PROPERTIES: JsonObject = {
  observedGeneration: {
    description: "The metadata.generation that was last reconciled.",
    type: "integer",
    format: "int64",
  },
  conditions: {
    description: "The latest observations of the object's state.",
    type: "array",
    items: CONDITION_SCHEMA,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
  },
  [MEMORY_FIELD]: {
    description:
      "What Argosy remembers about this object. Reserved for Argosy: handlers and users must not change it.",
    type: "object",
    // The field is replaced as a whole, so that content from another client, such as a restored backup, does not stay.
    "x-kubernetes-map-type": "atomic",
    "x-kubernetes-preserve-unknown-fields": true,
  },
};

/**
 * What kstatus must see of an object that no runner has looked at yet. It takes an object without conditions for current, so Flux would
 * not wait for it (fluxcd/cli-utils, pkg/kstatus/status/generic.go, checkGeneration). No object has this generation: the first one is
 * 1 (apiextensions-apiserver, pkg/registry/customresource/strategy.go, PrepareForCreate).
 */
const NOT_OBSERVED = 0;
/** What may refuse a status that has nothing else. The API server would then refuse the CRD, or every new object without a status. */
const RULES_OF_STATUS = [
  ...["default", "minProperties", "allOf", "anyOf", "oneOf", "not", "x-kubernetes-validations"],
] as const;

/** Age too, because the API server adds it by itself only if a version has no columns at all. */
const PRINTER_COLUMNS: readonly { name: string; type: string; jsonPath: string }[] = [
  { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
  { name: "Reason", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].reason' },
  { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
];

/**
 * The CustomResourceDefinition to install: the author's, with the additions that an operator needs in every version: the status
 * subresource, `status.observedGeneration`, `status.conditions`, `status.argosy` and the columns Ready, Reason and Age. The
 * author's own fields stay as they are. A new object is read with the observed generation 0, unless the author's rules may refuse such
 * a status. If the author gives no schema for status, unknown fields of it are preserved, because the
 * API server would silently drop them. No field of the status is required in the cluster: what the engine remembers of an object, and
 * a first failure, must be written before the handler has answered. Its answers are checked against the author's own schema.
 */
export function buildCustomResourceDefinition({ crd, customResource }: Operator): Manifest {
  const copy = structuredClone(crd);
  const spec = objectIn(copy, "spec");
  const versions = Array.isArray(spec.versions) ? spec.versions : [];
  return {
    ...copy,
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { ...objectIn(copy, "metadata"), name: crdNameOf({ customResource }) },
    spec: {
      ...spec,
      versions: versions.map((version) => (isJsonObject(version) ? complete(version) : version)),
    },
  };
}

/** The name of an operator's CRD, which Kubernetes derives from its plural and its group. */
export function crdNameOf({ customResource: { plural, group } }: Pick<Operator, "customResource">): string {
  return `${plural}.${group}`;
}

function complete(version: JsonObject): JsonObject {
  const schema = objectIn(version, "schema");
  const root = objectIn(schema, "openAPIV3Schema");
  const status = completeStatus(statusSchemaOf(version));
  const isAbout = RULES_OF_STATUS.some((rule) => JSON.stringify(root[rule] ?? "").includes("status"));
  const properties = { ...objectIn(root, "properties"), status: isAbout ? status : observable(status) };
  return {
    ...version,
    subresources: { status: {}, ...objectIn(version, "subresources") },
    schema: { ...schema, openAPIV3Schema: { ...root, properties } },
    additionalPrinterColumns: completeColumns(version.additionalPrinterColumns),
  };
}

function completeStatus(authors: JsonObject | undefined): JsonObject {
  const { required: _, ...status } = authors ?? { "x-kubernetes-preserve-unknown-fields": true };
  return {
    type: "object",
    ...status,
    properties: { ...structuredClone(STATUS_PROPERTIES), ...objectIn(status, "properties") },
  };
}

/** The same status, which every object has from its beginning: see {@link NOT_OBSERVED}. As it is, if its rules may refuse that. */
function observable(status: JsonObject): JsonObject {
  const properties = objectIn(status, "properties");
  const observed = objectIn(properties, "observedGeneration");
  const isFree = RULES_OF_STATUS.every((rule) => status[rule] === undefined && observed[rule] === undefined);
  if (!isFree || schemaChecker(observed, "observedGeneration")(NOT_OBSERVED) !== undefined) return status;
  const observedGeneration = { ...observed, default: NOT_OBSERVED };
  return { ...status, default: {}, properties: { ...properties, observedGeneration } };
}

function completeColumns(authors: Json | undefined): Json[] {
  const columns = Array.isArray(authors) ? authors : [];
  // kubectl prints names in capitals: "AGE" and "Age" would be two columns with one heading.
  const taken = columns.filter(isJsonObject).map(({ name }) => String(name).toLowerCase());
  return [...columns, ...PRINTER_COLUMNS.filter(({ name }) => !taken.includes(name.toLowerCase()))];
}

/** The object in a field of a CRD. An empty one if there is none. */
export function objectIn(parent: { readonly [field: string]: Json | undefined }, field: string): JsonObject {
  const value = parent[field];
  return isJsonObject(value) ? value : {};
}
