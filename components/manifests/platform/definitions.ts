import type { JsonObject, Manifest } from "../../../runtime/program";
import { awaited, labelsOf, type ManifestSet } from "../metadata";
import { ownsDefinitions, type PlatformOptions } from "./options";

/**
 * The CRDs of Argo Events, if they are ours. Their controller writes status by the subresource (argo-events,
 * pkg/reconciler/{eventbus,eventsource,sensor}/controller.go).
 */
export function buildArgoEventsDefinitions({ argoEvents }: PlatformOptions): ManifestSet {
  if (!ownsDefinitions(argoEvents)) return {};
  return Object.fromEntries(
    EVENTS_KINDS.map((each) => [each.plural, minimalDefinition("argo-events", each)]),
  );
}

/** An object whose fields Argo's controllers check. */
const ANY_OBJECT: JsonObject = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

/** The schema of an object with any fields, which server-side apply replaces as a whole: nothing of an earlier content is kept. */
export const WHOLE_OBJECT: JsonObject = { ...ANY_OBJECT, "x-kubernetes-map-type": "atomic" };

/** The column that the API server adds by itself only if there is no other one. */
const AGE_COLUMN: JsonObject = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };

const COMMON = {
  fields: { spec: ANY_OBJECT, status: ANY_OBJECT },
  required: ["spec"],
  statusSubresource: true,
  columns: [
    {
      name: "Deployed",
      type: "string",
      description: "Whether the controller has created its pods' Deployment or StatefulSet.",
      jsonPath: '.status.conditions[?(@.type=="Deployed")].status',
    },
    AGE_COLUMN,
  ],
} satisfies Partial<MinimalKind>;

const EVENTS_KINDS: readonly MinimalKind[] = [
  // Its plural is irregular.
  { kind: "EventBus", plural: "eventbus", singular: "eventbus", shortNames: ["eb"], ...COMMON },
  { kind: "EventSource", plural: "eventsources", singular: "eventsource", shortNames: ["es"], ...COMMON },
  { kind: "Sensor", plural: "sensors", singular: "sensor", shortNames: ["sn"], ...COMMON },
];

/**
 * The CRDs of Argo Workflows, if they are ours. Only two of the kinds have a status subresource. The controller writes a Workflow
 * and its status at once, and with the subresource every status would be lost (argo-workflows, manifests/base/crds;
 * `persistUpdates` in workflow/controller/operator.go).
 */
export function buildArgoWorkflowsDefinitions({ argoWorkflows }: PlatformOptions): ManifestSet {
  if (!ownsDefinitions(argoWorkflows)) return {};
  return Object.fromEntries(
    WORKFLOWS_KINDS.map((each) => [each.plural, minimalDefinition("argo-workflows", each)]),
  );
}

const SPEC = { fields: { spec: WHOLE_OBJECT }, required: ["spec"], statusSubresource: false };
const SPEC_AND_STATUS = { ...SPEC, fields: { spec: WHOLE_OBJECT, status: WHOLE_OBJECT } };
/** Several clients write the fields of one such object by merge patches: they are not replaced as a whole. */
const TASKS = {
  fields: { spec: ANY_OBJECT, status: ANY_OBJECT },
  required: ["spec"],
  statusSubresource: true,
};

const WORKFLOWS_KINDS: readonly MinimalKind[] = [
  {
    kind: "Workflow",
    plural: "workflows",
    singular: "workflow",
    shortNames: ["wf"],
    ...SPEC_AND_STATUS,
    columns: [
      { name: "Status", type: "string", jsonPath: ".status.phase", description: "Its phase." },
      { name: "Age", type: "date", jsonPath: ".status.startedAt", description: "Time since it was started." },
      {
        name: "Message",
        type: "string",
        jsonPath: ".status.message",
        description: "Why it is in this phase.",
      },
    ],
  },
  {
    kind: "WorkflowTemplate",
    plural: "workflowtemplates",
    singular: "workflowtemplate",
    shortNames: ["wftmpl"],
    ...SPEC,
  },
  {
    kind: "ClusterWorkflowTemplate",
    plural: "clusterworkflowtemplates",
    singular: "clusterworkflowtemplate",
    shortNames: ["clusterwftmpl", "cwft"],
    scope: "Cluster",
    ...SPEC,
  },
  {
    kind: "CronWorkflow",
    plural: "cronworkflows",
    singular: "cronworkflow",
    shortNames: ["cwf", "cronwf"],
    ...SPEC_AND_STATUS,
    columns: [
      { name: "Schedules", type: "string", jsonPath: ".spec.schedules", description: "When it runs." },
      { name: "Suspended", type: "boolean", jsonPath: ".spec.suspend", description: "Whether it is paused." },
      {
        name: "Last Run",
        type: "date",
        jsonPath: ".status.lastScheduledTime",
        description: "Time since its last run was due.",
      },
      AGE_COLUMN,
    ],
  },
  {
    kind: "WorkflowEventBinding",
    plural: "workfloweventbindings",
    singular: "workfloweventbinding",
    shortNames: ["wfeb"],
    ...SPEC,
    fields: { spec: ANY_OBJECT },
  },
  {
    kind: "WorkflowTaskSet",
    plural: "workflowtasksets",
    singular: "workflowtaskset",
    shortNames: ["wfts"],
    ...TASKS,
  },
  {
    kind: "WorkflowTaskResult",
    plural: "workflowtaskresults",
    singular: "workflowtaskresult",
    // It has no specification, because the object itself is the result (pkg/apis/workflow/v1alpha1/task_result_types.go).
    fields: {
      phase: { type: "string" },
      message: { type: "string" },
      outputs: ANY_OBJECT,
      progress: { type: "string" },
    },
    required: [],
    statusSubresource: false,
  },
  {
    kind: "WorkflowArtifactGCTask",
    plural: "workflowartifactgctasks",
    singular: "workflowartifactgctask",
    shortNames: ["wfat"],
    ...TASKS,
  },
];

/** A kind of Argo's, with the fields that its CRD needs. */
interface MinimalKind {
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  /** @default [] */
  readonly shortNames?: readonly string[];
  /** @default "Namespaced" */
  readonly scope?: "Namespaced" | "Cluster";
  /** The schema of each field except metadata. */
  readonly fields: Readonly<Record<string, JsonObject>>;
  /** The required fields, apart from metadata. */
  readonly required: readonly string[];
  /** Whether status is a subresource. If it is, a status in any other write is lost. */
  readonly statusSubresource: boolean;
  /** @default the API server's own: the age */
  readonly columns?: readonly JsonObject[];
}

/**
 * A CRD of Argo's that has only what the API server needs. Argo's complete ones take 2.8 MB each, which is more than a preview
 * can show or a state should hold.
 *
 * @param product - "argo-events"
 */
function minimalDefinition(product: string, each: MinimalKind): Manifest {
  const { kind, plural, singular, shortNames = [], columns } = each;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `${plural}.argoproj.io`,
      labels: labelsOf(product, "definitions"),
      // Objects of this kind can only be created then, and Pulumi does not wait for that by itself.
      annotations: awaited("Established"),
    },
    spec: {
      group: "argoproj.io",
      scope: each.scope ?? "Namespaced",
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular,
        ...(shortNames.length > 0 && { shortNames }),
      },
      versions: [
        {
          name: "v1alpha1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: rootSchema(each) },
          ...(each.statusSubresource && { subresources: { status: {} } }),
          ...(columns && { additionalPrinterColumns: columns }),
        },
      ],
    },
  };
}

function rootSchema({ fields, required }: MinimalKind): JsonObject {
  return {
    type: "object",
    required: ["metadata", ...required],
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object" },
      ...fields,
    },
  };
}
