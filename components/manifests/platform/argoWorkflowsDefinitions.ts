import type { ManifestSet } from "../manifestSet";
import {
  AGE_COLUMN,
  ANY_OBJECT,
  type MinimalKind,
  minimalDefinition,
  WHOLE_OBJECT,
} from "./minimalDefinition";
import { ownsDefinitions, type PlatformOptions } from "./options";

/**
 * The CRDs of Argo Workflows, where they are ours. Only two of the kinds have a status subresource: the controller
 * writes a Workflow and its status at once, and with the subresource every status would be lost
 * (argo-workflows, manifests/base/crds; `persistUpdates` in workflow/controller/operator.go).
 */
export function buildArgoWorkflowsDefinitions({ argoWorkflows }: PlatformOptions): ManifestSet {
  if (!ownsDefinitions(argoWorkflows)) return {};
  return Object.fromEntries(KINDS.map((each) => [each.plural, minimalDefinition("argo-workflows", each)]));
}

const SPEC = { fields: { spec: WHOLE_OBJECT }, required: ["spec"], statusSubresource: false };
const SPEC_AND_STATUS = { ...SPEC, fields: { spec: WHOLE_OBJECT, status: WHOLE_OBJECT } };
/** Several clients write the fields of one such object by merge patches: they are not replaced as a whole. */
const TASKS = {
  fields: { spec: ANY_OBJECT, status: ANY_OBJECT },
  required: ["spec"],
  statusSubresource: true,
};

const KINDS: readonly MinimalKind[] = [
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
    // It has no specification: the result is the object (pkg/apis/workflow/v1alpha1/task_result_types.go).
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
