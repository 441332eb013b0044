import { isRecord } from "../../base/json";
import type { KubernetesObject } from "../../base/objects";
import { type Parameter, WORKFLOW_LABELS } from "../../report/workflows";

/**
 * The answer to one task, as the Workflow controller takes it over into the Workflow's node
 * (`NodeResult`, pkg/apis/workflow/v1alpha1/task_set_types.go of argo-workflows v4.1.2).
 */
export interface NodeResult {
  readonly phase: "Succeeded" | "Failed";
  readonly message: string;
  readonly outputs: { readonly parameters: readonly Parameter[] };
}

/** The key of our plugin templates' body: `plugin: { argosy: { operator: "memcached" } }`. */
const PLUGIN = "argosy";
const DONE = ["Succeeded", "Failed", "Error", "Skipped", "Omitted"];

/**
 * The ids of the tasks in a WorkflowTaskSet that are the operator's and have no answer yet. None if the Workflow has ended: the
 * controller may clear the tasks later.
 */
export function openTasksOf(taskSet: KubernetesObject, operator: string): string[] {
  const { labels, deletionTimestamp } = taskSet.metadata;
  if (deletionTimestamp !== undefined || labels?.[WORKFLOW_LABELS.completed] === "true") return [];
  const tasks = recordIn(taskSet["spec"], "tasks");
  const nodes = recordIn(taskSet["status"], "nodes");
  return Object.keys(tasks).filter((id) => {
    const body = recordIn(recordIn(tasks, id), "plugin")[PLUGIN];
    const { phase } = recordIn(nodes, id);
    return (
      isRecord(body) && body["operator"] === operator && !(typeof phase === "string" && DONE.includes(phase))
    );
  });
}

/** The uid of the Workflow that a WorkflowTaskSet belongs to: another one may have taken its name. */
export function workflowUidOf(taskSet: KubernetesObject): string | undefined {
  return taskSet.metadata.ownerReferences?.find(({ kind }) => kind === "Workflow")?.uid;
}

function recordIn(value: unknown, key: string): Record<string, unknown> {
  const inner = isRecord(value) ? value[key] : undefined;
  return isRecord(inner) ? inner : {};
}
