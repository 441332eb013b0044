// The one table of runs that have not ended.
import { ReconcileFailure } from "../../base/failure";
import { isRecord } from "../../base/json";
import { RUN_ANNOTATION } from "../../base/names";
import { type KubernetesObject, keyOf, type ObjectName, writtenAt } from "../../base/objects";
import type { Operator } from "../../operator/definition";
import { runName } from "../../report/runRecorder";
import {
  hasBegun,
  parameterOf,
  RUN_PARAMETERS,
  specOf,
  statusOf,
  WORKFLOW_LABELS,
  workflowTemplateOf,
} from "../../report/workflows";
import { programOfRun } from "./footprint";

/** A Workflow of the operator's runs that has not ended, as far as the dispatcher needs it. */
export interface LiveRun extends ObjectName {
  readonly uid: string;
  readonly resourceVersion: string;
  /** The key of the object that it is about. */
  readonly object: string;
  /** The uid of that object. "" if a user has submitted the run without it. */
  readonly objectUid: string;
  /** The mark that the dispatcher gave it. Undefined: a user submitted it, or resubmitted a run of ours. */
  readonly mark: string | undefined;
  /** When it was created and last written to, by the API server's clock, in milliseconds since 1970. */
  readonly createdAt: number;
  readonly changedAt: number;
  /** Whether the Workflow controller has looked at it. */
  readonly isSeen: boolean;
  /** Whether its pod has begun. */
  readonly hasBegun: boolean;
  readonly isSuspended: boolean;
  /**
   * Whether it waits for its operator's turn. The Workflow controller gives a turn only to the first of the queue. If that one is
   * suspended, it never gets its turn, and all behind it wait (argo-workflows, workflow/sync/semaphore.go, checkAcquire).
   */
  readonly isQueued: boolean;
  /**
   * Whether it has its object's lock. A run that is suspended while it waits for the lock still gets the lock, but stays in the
   * phase Pending (argo-workflows, workflow/controller/operator.go, operate).
   */
  readonly hasLock: boolean;
  /** The deadline that the controller enforces once it has the lock, and the longest life of its pod, in seconds. */
  readonly deadlineSeconds: number | undefined;
  readonly podSeconds: number | undefined;
  /** A fingerprint of the program that it runs: see `programOfRun`. */
  readonly program: string | undefined;
  /** What Argo says about why it waits. "" if nothing. */
  readonly message: string;
  readonly instanceId: string | undefined;
}

/** The facts about a Workflow. Undefined if it is no run of this operator about an object. */
export function liveRunOf(workflow: KubernetesObject, operator: Operator): LiveRun | undefined {
  const { workflowTemplateRef, suspend } = specOf(workflow);
  const name = parameterOf(workflow, RUN_PARAMETERS.name);
  if (workflowTemplateRef?.name !== workflowTemplateOf(operator.name) || name === "") return undefined;
  const { phase = "", startedAt, message = "", nodes = {}, synchronization } = statusOf(workflow);
  const { storedWorkflowTemplateSpec: stored } = statusOf(workflow);
  const { metadata } = workflow;
  const mutex = isRecord(synchronization) ? synchronization["mutex"] : undefined;
  const holding = isRecord(mutex) ? mutex["holding"] : undefined;
  const all = Object.values(nodes);
  return {
    name: metadata.name,
    namespace: metadata.namespace,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    object: keyOf({ namespace: parameterOf(workflow, RUN_PARAMETERS.namespace) || undefined, name }),
    objectUid: parameterOf(workflow, RUN_PARAMETERS.uid),
    mark: markIn(workflow, operator),
    createdAt: Date.parse(metadata.creationTimestamp ?? "") || 0,
    changedAt: writtenAt(workflow),
    isSeen: phase !== "",
    hasBegun: hasBegun(workflow),
    isSuspended: suspend === true,
    isQueued: all.some((node) => node.synchronizationStatus?.waiting),
    hasLock: (phase !== "" && phase !== "Pending") || (Array.isArray(holding) && holding.length > 0),
    deadlineSeconds: startedAt === undefined ? undefined : secondsIn(stored),
    podSeconds: secondsIn(isRecord(stored) && Array.isArray(stored["templates"]) && stored["templates"][0]),
    program: programOfRun(workflow),
    message: message || (all.find((node) => node.phase === "Pending" && node.message)?.message ?? ""),
    instanceId: metadata.labels?.[WORKFLOW_LABELS.instanceId],
  };
}

/** The name of a run of ours. It follows from its mark, so that a copy with all labels and annotations has another name. */
export function nameOfRun(
  operator: string,
  object: ObjectName & { readonly uid: string },
  mark: string,
): string {
  return runName(operator, { name: object.name }, [object.uid, mark]);
}

function markIn(workflow: KubernetesObject, { name: operator }: Operator): string | undefined {
  const mark = workflow.metadata.annotations?.[RUN_ANNOTATION];
  if (mark === undefined) return undefined;
  const name = parameterOf(workflow, RUN_PARAMETERS.name);
  const uid = parameterOf(workflow, RUN_PARAMETERS.uid);
  return workflow.metadata.name === nameOfRun(operator, { name, uid }, mark) ? mark : undefined;
}

function secondsIn(spec: unknown): number | undefined {
  const seconds = isRecord(spec) ? spec["activeDeadlineSeconds"] : undefined;
  return typeof seconds === "number" ? seconds : undefined;
}

/** The state of a run that has not ended. */
export type RunState = "suspended" | "outdated" | "unseen" | "overdue" | "forgotten" | "pending" | "running";

/** The controller looks at a new Workflow within a second or two. If it was away, it looks at all when it is back. In milliseconds. */
const UNSEEN_MS = 5 * 60_000;
/** By how much a run may outlast its time until it counts as overdue, in milliseconds: the controller may be away. */
const GRACE_MS = 5 * 60_000;
/** Longer than Argo itself waits for the outputs of a pod that has ended (workflow/controller/taskresult.go, recentlyCompleted). */
const FORGOTTEN_MS = 15 * 60_000;

/**
 * The one table of runs that have not ended:
 *
 * | state | sign | what becomes of one of ours | what becomes of another |
 * | --- | --- | --- | --- |
 * | suspended | a user has suspended it | its object says so. If others wait behind it in Argo's queue, it is replaced | its object says so |
 * | outdated | it has not begun, and the template has another program: a roll-out may have removed what its pod needs | replaced | nothing |
 * | unseen | the controller has not looked at it for five minutes: its write of the beginning failed | replaced | nothing |
 * | overdue | its deadline has passed, and the controller has not ended it | replaced | its object says so |
 * | forgotten | it has begun, and nothing of it has changed for 15 minutes, nor for longer than its pod may live | replaced | nothing |
 * | pending | it has not begun: it waits for a lock, its turn, a quota, a node or an image | the object says so after ten seconds | nothing |
 * | running | its pod is at work | nothing | nothing |
 *
 * If the controller's last write of a Workflow was refused, it comes back to that Workflow after 20 minutes or when it is restarted
 * (argo-workflows, workflow/controller/operator.go, persistUpdates; controller.go, workflowResyncPeriod).
 *
 * @param now by the API server's clock, in milliseconds since 1970
 * @param program that of the template now. Undefined if that is not known
 */
export function stateOfRun(run: LiveRun, now: number, program: string | undefined): RunState {
  const quietMs = now - run.changedAt;
  if (run.isSuspended) return "suspended";
  const isOld = run.program !== undefined && program !== undefined && run.program !== program;
  if (!run.hasBegun && isOld) return "outdated";
  if (!run.isSeen) return now - run.createdAt > UNSEEN_MS ? "unseen" : "pending";
  const { deadlineSeconds = Number.POSITIVE_INFINITY, podSeconds = Number.POSITIVE_INFINITY } = run;
  // Counted from the last write, since the time of its beginning is by the controller's clock.
  if (quietMs > deadlineSeconds * 1000 + GRACE_MS) return "overdue";
  if (!run.hasBegun) return "pending";
  return quietMs > Math.max(FORGOTTEN_MS, podSeconds * 1000 + GRACE_MS) ? "forgotten" : "running";
}

/**
 * Says why a run will not end by itself, so that all others of its object wait for ever. Undefined if the run may end, or has not its
 * object's lock yet.
 * @param state see {@link stateOfRun}
 */
export function whyStuck(run: LiveRun, state: RunState): ReconcileFailure | undefined {
  if (!run.hasLock || (state !== "suspended" && state !== "overdue")) return undefined;
  const { name, namespace, instanceId } = run;
  if (state === "overdue") {
    const message = `Workflow ${name} has not ended although its deadline has passed, and all other runs of the object wait for it: kubectl -n ${namespace} delete workflow ${name}`;
    return new ReconcileFailure("RunOverdue", message);
  }
  const others = run.isQueued
    ? "all runs of the operator behind it in the queue"
    : "all other runs of the object";
  const argo = `argo -n ${namespace}${instanceId ? ` --instanceid ${instanceId}` : ""}`;
  const message = `Workflow ${name} is suspended, and ${others} wait for it: ${argo} resume ${name}`;
  return new ReconcileFailure("RunSuspended", message);
}

/** Whether a run of ours is deleted, so that another one can take its place. */
export function isReplaced(run: LiveRun, state: RunState): boolean {
  return (
    ["outdated", "unseen", "overdue", "forgotten"].includes(state) || (state === "suspended" && run.isQueued)
  );
}
