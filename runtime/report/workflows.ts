import { isRecord, scalarText } from "../base/json";
import type { KubernetesObject } from "../base/objects";
import type { Resource } from "../base/resource";

/** Argo Workflows' kinds, as far as the engine uses them. The engine knows Argo only as objects of the API. */
export const WORKFLOWS: Resource = {
  apiVersion: "argoproj.io/v1alpha1",
  kind: "Workflow",
  plural: "workflows",
  namespaced: true,
};
/** The templates of Workflows. */
export const WORKFLOW_TEMPLATES: Resource = {
  ...WORKFLOWS,
  kind: "WorkflowTemplate",
  plural: "workflowtemplates",
};
/** The tasks of one Workflow that are done outside of Argo's own pods. It has the Workflow's name. */
export const WORKFLOW_TASK_SETS: Resource = {
  ...WORKFLOWS,
  kind: "WorkflowTaskSet",
  plural: "workflowtasksets",
};

/** Labels of Argo Workflows (workflow/common/common.go of argo-workflows v4.1.2). */
export const WORKFLOW_LABELS = {
  /** On pods and WorkflowTaskResults: the Workflow's name. */
  workflow: "workflows.argoproj.io/workflow",
  /** "true": the controller does nothing more with the Workflow. */
  completed: "workflows.argoproj.io/completed",
  phase: "workflows.argoproj.io/phase",
  template: "workflows.argoproj.io/workflow-template",
  instanceId: "workflows.argoproj.io/controller-instanceid",
  /** "Pending": the controller is to write the Workflow to its archive, and does not delete it before. */
  archiving: "workflows.argoproj.io/workflow-archiving-status",
} as const;

/** The one template of a resident operator's WorkflowTemplate. */
export const RECONCILE_TEMPLATE = "reconcile";

/** The WorkflowTemplate of an operator: it has the operator's name. */
export function workflowTemplateOf(operator: string): string {
  return operator;
}

/**
 * Selects the Workflows that have not completed and belong to the controller with this instance id. "" is the controller that has
 * none.
 */
export function liveSelector(instanceId: string): string {
  const { completed, instanceId: label } = WORKFLOW_LABELS;
  return `${completed}!=true,${instanceId === "" ? `!${label}` : `${label}=${instanceId}`}`;
}

/** The label that gives a Workflow to the controller with this instance id. */
export function instanceLabel(instanceId: string): Record<string, string> {
  return instanceId === "" ? {} : { [WORKFLOW_LABELS.instanceId]: instanceId };
}

/** One parameter of a Workflow's arguments, or of a node's outputs. */
export interface Parameter {
  readonly name: string;
  readonly value: string;
}

/** The `spec` of a Workflow, as far as the engine reads it. */
export interface WorkflowSpec {
  readonly workflowTemplateRef?: { readonly name?: string };
  readonly arguments?: { readonly parameters?: readonly { name: string; value?: unknown }[] };
  /** "Terminate" or "Stop": its end was requested. If it is suspended, it does not end before it is resumed. */
  readonly shutdown?: string;
  /** Whether it is suspended: its controller does nothing more for it, and it keeps its locks. */
  readonly suspend?: boolean;
}

/** The `spec` of a Workflow. */
export function specOf(workflow: KubernetesObject): WorkflowSpec {
  const spec = workflow["spec"];
  return isRecord(spec) ? (spec as WorkflowSpec) : {};
}

/** The `status` of a Workflow, as far as the engine reads it (argo-workflows, pkg/apis/workflow/v1alpha1/workflow_types.go). */
export interface WorkflowStatus {
  /** "" until the controller has written once. A Workflow that waits for its lock or its turn has a phase too. */
  readonly phase?: string;
  readonly message?: string;
  /** When it got its lock, as RFC 3339. */
  readonly startedAt?: string;
  /** The locks that it has, and those for which it waits. */
  readonly synchronization?: unknown;
  /** The template as it was when the controller first saw the Workflow, which is long before it has its lock. */
  readonly storedWorkflowTemplateSpec?: unknown;
  readonly nodes?: Readonly<Record<string, WorkflowNode>>;
  /** `nodes`, if there are many. */
  readonly compressedNodes?: string;
  readonly offloadNodeStatusVersion?: string;
}

/** The status of one node of a Workflow: a container, a pod, or the whole. */
export interface WorkflowNode {
  readonly displayName?: string;
  readonly phase?: string;
  readonly message?: string;
  /** The lock for which it waits, if it waits for one. */
  readonly synchronizationStatus?: { readonly waiting?: string } | null;
}

/** The `status` of a Workflow. Nothing checks what users write there, so entries of `nodes` that are no nodes are left out. */
export function statusOf(workflow: KubernetesObject): WorkflowStatus {
  const status = workflow["status"];
  if (!isRecord(status)) return {};
  const { nodes, ...rest } = status;
  if (!isRecord(nodes)) return rest as WorkflowStatus;
  const known = Object.entries(nodes).filter(([, node]) => isRecord(node));
  return { ...rest, nodes: Object.fromEntries(known) as Record<string, WorkflowNode> };
}

/** Whether any node of a Workflow is beyond the state in which it waits for its pod. */
export function hasBegun(workflow: KubernetesObject): boolean {
  const { nodes = {}, compressedNodes, offloadNodeStatusVersion } = statusOf(workflow);
  if (compressedNodes || offloadNodeStatusVersion) return true;
  return Object.values(nodes).some(({ phase }) => phase !== "Pending");
}

/**
 * The value of a parameter of a Workflow. "" if the Workflow does not have the parameter: that is the default of every parameter
 * of our templates.
 */
export function parameterOf(workflow: KubernetesObject, name: string): string {
  const parameters: unknown = specOf(workflow).arguments?.parameters;
  const entries: unknown[] = Array.isArray(parameters) ? parameters : [];
  const value = entries.filter(isRecord).find((parameter) => parameter["name"] === name)?.["value"];
  // A number without quotes reaches Argo as text as well (`AnyString`). Anything else is not a value.
  return scalarText(value) ?? "";
}

/** Whether a Workflow has ended, or is being deleted. It then has no lock, and waits for none. */
export function hasEnded(workflow: KubernetesObject): boolean {
  const { phase } = statusOf(workflow);
  return (
    workflow.metadata.labels?.[WORKFLOW_LABELS.completed] === "true" ||
    workflow.metadata.deletionTimestamp !== undefined ||
    phase === "Succeeded" ||
    isFailure(phase)
  );
}

/** Whether the phase of a Workflow or a node says that it has failed. It is Error if a pod was lost, or could not be made. */
export function isFailure(phase: string | undefined): boolean {
  return phase === "Failed" || phase === "Error";
}

/** Whether a Workflow has ended, or its end was requested: its result is no longer wanted. */
export function isOver(workflow: KubernetesObject): boolean {
  return hasEnded(workflow) || specOf(workflow).shutdown !== undefined;
}

/** Parameters of all of our WorkflowTemplates. Each has the default "". */
export const RUN_PARAMETERS = {
  /** Namespace of the custom resource; "" for one of cluster scope. */
  namespace: "namespace",
  /** Name of the custom resource. */
  name: "name",
  /** The uid of the custom resource, if the submitter knows it. A run for another object of the same name does nothing. */
  uid: "uid",
  /**
   * A whole object as JSON. The handler is tried on this object alone, nothing is applied, and the handler's answer is the
   * output.
   */
  object: "object",
  /** A schedule of the operator that should be due in the run. Only operators with schedules have the parameter. */
  schedule: "schedule",
} as const;

/** A further parameter of the WorkflowTemplates of operators with `uses`, with the default "". */
export const USED_PARAMETER = {
  /** In addition to `object`: examples of what the object uses, as JSON. A trial reads nothing of the cluster. */
  used: "used",
} as const;

/** The output of a run that says how long its steps took, as text. */
export const TIMINGS_OUTPUT = "timings";
