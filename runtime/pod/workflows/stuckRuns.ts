import { specOf, statusOf, WORKFLOW_LABELS } from "../../argo/workflows";
import { ReconcileFailure } from "../../failure";
import { isRecord } from "../../json/json";
import { type KubernetesObject, writtenAt } from "../../kubernetes/objects";

/** By how much a run may outlast its time until it counts as overdue, in milliseconds: the controller may be away. */
const GRACE_MS = 5 * 60_000;

/**
 * Whether somebody has suspended a run: the Workflow controller does nothing more for it. If somebody terminates the run as well, the
 * controller does not end it either, until it is resumed (argo-workflows, workflow/controller/operator.go, operate, ShouldSuspend).
 */
export function isSuspended(run: KubernetesObject): boolean {
  return specOf(run).suspend === true;
}

/**
 * Whether a run was suspended while it waited for its turn. The Workflow controller gives a turn only to the first of the queue, and
 * never to this run: all runs of the operator behind it wait (argo-workflows, workflow/sync/semaphore.go, checkAcquire).
 */
export function blocksQueue(run: KubernetesObject): boolean {
  const { nodes = {} } = statusOf(run);
  return isSuspended(run) && Object.values(nodes).some((node) => node.synchronizationStatus?.waiting);
}

/**
 * Whether the Workflow controller should have ended a run long ago, by the deadline that it enforces (argo-workflows,
 * workflow/controller/operator.go, getWorkflowDeadline). It does not enforce the deadline of a suspended run. The time counts from
 * the last write of the run, since `startedAt` is by the controller's clock.
 * @param now by the API server's clock, in milliseconds since 1970
 */
export function isOverdue(run: KubernetesObject, now: number): boolean {
  const { startedAt, storedWorkflowTemplateSpec: stored } = statusOf(run);
  const seconds = isRecord(stored) ? stored["activeDeadlineSeconds"] : undefined;
  if (startedAt === undefined || typeof seconds !== "number" || isSuspended(run)) return false;
  return writtenAt(run) + seconds * 1000 + GRACE_MS < now;
}

/**
 * Says why a run that has its object's lock will not end by itself, so that all others of the object wait for ever. Undefined if
 * the run may end. A run that is suspended before it has the lock does not block others yet.
 * @param now see {@link isOverdue}
 */
export function whyStuck(run: KubernetesObject, now: number): ReconcileFailure | undefined {
  if (!hasLock(run)) return undefined;
  const { name, namespace, labels } = run.metadata;
  if (isSuspended(run)) {
    const others = blocksQueue(run)
      ? "all runs of the operator behind it in the queue"
      : "all other runs of the object";
    const instanceId = labels?.[WORKFLOW_LABELS.instanceId];
    const argo = `argo -n ${namespace}${instanceId ? ` --instanceid ${instanceId}` : ""}`;
    const message = `Workflow ${name} is suspended, and ${others} wait for it: ${argo} resume ${name}`;
    return new ReconcileFailure("RunSuspended", message);
  }
  if (isOverdue(run, now)) {
    const message = `Workflow ${name} has not ended although its deadline has passed, and all other runs of the object wait for it: kubectl -n ${namespace} delete workflow ${name}`;
    return new ReconcileFailure("RunOverdue", message);
  }
  return undefined;
}

/**
 * Whether a run has its object's lock. A run that waited for the lock and was suspended meanwhile still gets the lock, but stays in
 * the phase Pending (argo-workflows, workflow/controller/operator.go, operate).
 */
function hasLock(run: KubernetesObject): boolean {
  const { phase = "", synchronization } = statusOf(run);
  if (phase !== "" && phase !== "Pending") return true;
  const mutex = isRecord(synchronization) ? synchronization["mutex"] : undefined;
  const holding = isRecord(mutex) ? mutex["holding"] : undefined;
  return Array.isArray(holding) && holding.length > 0;
}
