import { isOver, liveSelector, specOf, WORKFLOWS, workflowTemplateOf } from "../argo/workflows";
import type { Operator } from "../definition/definition";
import type { KubernetesClient } from "../kubernetes/client";
import type { KubernetesObject } from "../kubernetes/objects";

/** Whose runs are looked at, and where. */
export interface LiveRunsOptions {
  readonly operator: Operator;
  readonly client: KubernetesClient;
  /** The namespace of the operator's Workflows. */
  readonly namespace: string;
  /** The Workflow controller's instance id; "" for none. */
  readonly instanceId: string;
}

/**
 * Gives every Workflow of the operator's runs that has not ended, one after another: there may be thousands.
 * @throws ApiError, ApiUnreachableError
 */
export async function eachLiveRun(
  { operator, client, namespace, instanceId }: LiveRunsOptions,
  look: (run: KubernetesObject) => void,
): Promise<void> {
  const template = workflowTemplateOf(operator.name);
  await client.list(WORKFLOWS, { namespace, labelSelector: liveSelector(instanceId) }, (workflows) => {
    for (const workflow of workflows) {
      if (specOf(workflow).workflowTemplateRef?.name === template && !isOver(workflow)) look(workflow);
    }
  });
}

/**
 * Deletes these Workflows, and none that was created later with the same name.
 * @returns how many were still there
 * @throws ApiError, ApiUnreachableError
 */
export async function deleteRuns(
  client: KubernetesClient,
  runs: readonly KubernetesObject[],
): Promise<number> {
  const deleted = await Promise.all(
    runs.map(({ metadata }) => client.delete(WORKFLOWS, metadata, { uid: metadata.uid })),
  );
  return deleted.filter((done) => done).length;
}
