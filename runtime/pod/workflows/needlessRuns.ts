import type { RunTarget } from "../../argo/runTarget";
import { isOver, statusOf, WORKFLOW_LABELS, WORKFLOWS } from "../../argo/workflows";
import type { Operator } from "../../definition/definition";
import type { KubernetesClient } from "../../kubernetes/client";
import { type KubernetesObject, keyOf } from "../../kubernetes/objects";
import { OBJECT_UID_LABEL } from "../../names";
import { compareTexts } from "../../text/compareTexts";
import { predecessorUidsIn } from "../withoutWatches/predecessors";
import { deleteRuns, isReplaceable, isRunOf, objectOfRun } from "./liveRuns";
import { isSuspended } from "./stuckRuns";

/** Where runs are deleted, and for which one. */
export interface NeedlessRunsOptions {
  readonly operator: Operator;
  readonly client: KubernetesClient;
  /** The namespace of the operator's Workflows. */
  readonly namespace: string;
  /** The Workflow of the run that deletes them. */
  readonly workflow: string;
}

/**
 * Deletes the Workflows of the same object that wait for the end of this one, except the newest that nobody has suspended. The
 * newest will see all changes for which the others were made. So an object that changes all the time has one run and a few that
 * wait, not hundreds. The newest stays even if a run that has just ended saw the last change too: that run may have failed, and a
 * change within the same second makes no Workflow of its own (POD_EVENT_FILTER).
 *
 * Only those are deleted that another run replaces: see {@link isReplaceable}.
 *
 * @returns how many were deleted
 * @throws ApiError, ApiUnreachableError
 */
export async function deleteNeedlessRuns(
  target: Extract<RunTarget, { kind: "object" }>,
  { operator, client, namespace, workflow }: NeedlessRunsOptions,
): Promise<number> {
  if (target.uid === undefined) return 0;
  const labelSelector = `${OBJECT_UID_LABEL}=${target.uid},${WORKFLOW_LABELS.completed}!=true`;
  const waiting: KubernetesObject[] = [];
  await client.list(WORKFLOWS, { namespace, labelSelector }, (items) => {
    waiting.push(
      ...items.filter(
        (item) => item.metadata.name !== workflow && waits(item) && isFor(item, target, operator),
      ),
    );
  });
  const [, ...needless] = waiting.sort(newestFirst);
  const spared = await deleteRuns(client, needless);
  return needless.length - spared.length;
}

/** Those that somebody has suspended come last: until they are resumed, they see no change. */
function newestFirst(one: KubernetesObject, other: KubernetesObject): number {
  const place = (run: KubernetesObject) => `${isSuspended(run) ? 0 : 1} ${run.metadata.creationTimestamp}`;
  return compareTexts(place(other), place(one));
}

/** Whether the Workflow has not begun: the controller has not seen it yet, or it waits for the object's lock. */
function waits(workflow: KubernetesObject): boolean {
  if (isOver(workflow)) return false;
  const { phase = "", nodes = {} } = statusOf(workflow);
  return (phase === "" || phase === "Pending") && Object.keys(nodes).length === 0;
}

/**
 * Whether the Workflow is the operator's for that object, and for nothing else. Anybody can write the label, other operators write
 * it on their own runs for the object, and a trial is about no object.
 * A run to which the resync says whose children are left is not replaced by another: the resync submits no further run for an object
 * that always has one.
 */
function isFor(
  workflow: KubernetesObject,
  target: Extract<RunTarget, { kind: "object" }>,
  operator: Operator,
): boolean {
  if (!isRunOf(workflow, operator) || !isReplaceable(workflow) || predecessorUidsIn(workflow).length > 0)
    return false;
  const other = objectOfRun(workflow, operator);
  return other !== undefined && other.uid === target.uid && keyOf(other.name) === keyOf(target.name);
}
