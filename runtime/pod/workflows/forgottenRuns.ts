import {
  hasBegun,
  instanceLabel,
  WORKFLOW_LABELS,
  WORKFLOW_TASK_RESULTS,
  WORKFLOWS,
} from "../../argo/workflows";
import { isRecord } from "../../json/json";
import { type KubernetesClient, PODS } from "../../kubernetes/client";
import { isApiError } from "../../kubernetes/errors";
import { type KubernetesObject, writtenAt } from "../../kubernetes/objects";
import { deleteRuns, isReplaceable, type Version, versionOf } from "./liveRuns";
import { isOverdue, isSuspended } from "./stuckRuns";

/** For how long nothing of a run must have changed, in milliseconds. The Workflow controller needs a second or two, or ten. */
const QUIET_MS = 120_000;
/**
 * A run that reminders do not help is replaced after this time without a change, in milliseconds. It is longer than Argo itself
 * waits for the outputs of a pod that has ended (argo-workflows, workflow/controller/taskresult.go, recentlyCompleted).
 */
const HOPELESS_MS = 15 * 60_000;
/** How often the Workflow controller is reminded of one run: at most once in each resync. */
const MOST_REMINDERS = 3;
/** The most runs whose pods are asked for in one list: a selector is a part of an address. */
const NAMES_AT_ONCE = 100;
/** The longest value of a label. A pod of a Workflow has the Workflow's name as a label. */
const LONGEST_LABEL = 63;

/** A run that has not ended, and of which nothing has changed for a while. */
export interface QuietRun extends Version {
  /** Whether its Workflow says that its pod has begun. */
  readonly hasBegun: boolean;
  /** See {@link isReplaceable}. */
  readonly isReplaceable: boolean;
  /** When its Workflow was last written to, in milliseconds since 1970. */
  readonly changedAt: number;
}

/**
 * The run, if nothing of it has changed for long enough. Undefined otherwise, and for a run that does not go on because somebody
 * suspended it or because its time is over: see stuckRuns.ts and strandedRuns.ts.
 * @param now by the API server's clock, in milliseconds since 1970
 */
export function quietRun(run: KubernetesObject, now: number, quietMs = QUIET_MS): QuietRun | undefined {
  if (isSuspended(run) || isOverdue(run, now) || run.metadata.name.length > LONGEST_LABEL) return undefined;
  const changedAt = writtenAt(run);
  if (changedAt > now - quietMs) return undefined;
  return { ...versionOf(run), hasBegun: hasBegun(run), isReplaceable: isReplaceable(run), changedAt };
}

/** What {@link wakeForgottenRuns} works with. */
export interface ForgottenRunsOptions {
  readonly client: KubernetesClient;
  /** The namespace of the operator's Workflows. */
  readonly namespace: string;
  /** The Workflow controller's instance id; "" for none. */
  readonly instanceId: string;
  /** See {@link quietRun}, in milliseconds. @default 120000 */
  readonly quietMs?: number | undefined;
  /** Called for each run that the Workflow controller is reminded of, or that is replaced. */
  readonly onNotice?: (what: string, message: string) => void;
  /** Called for each run that cannot be mended. The others are mended all the same. */
  readonly onError?: (what: string, error: Error) => void;
}

/**
 * Reminds the Workflow controller of runs that it has forgotten: nothing of their Workflows changes although their pods have
 * ended or are gone. If the controller's last write of a Workflow is refused, for instance by a webhook, it looks at that
 * Workflow again after 20 minutes at the earliest (argo-workflows, workflow/controller/operator.go, persistUpdates;
 * controller.go, workflowResyncPeriod).
 *
 * These runs go on by themselves, and are left alone:
 *
 * - one that waits for its lock, for its operator's turn, or for a ResourceQuota: it has not begun, and has no pod;
 * - one whose pod waits for a node or an image, or is at work: the pod is there and has not ended.
 *
 * The reminder is a WorkflowTaskResult with the Workflow's name as a label. It has no result, and the controller looks at the
 * Workflow as soon as it sees it (workflow/controller/taskresult.go). The controller deletes it with the run's own when the run
 * ends. A change of the Workflow would do the same, but who may change Workflows can give them any pod.
 *
 * A run that three reminders do not help is replaced: its Workflow is deleted, if another run replaces it. No two runs
 * of an object are at work then, because its pod has ended.
 *
 * @returns whether the controller was reminded of any run, or any run was deleted
 * @throws ApiError, ApiUnreachableError if the pods cannot be listed
 */
export async function wakeForgottenRuns(
  runs: readonly QuietRun[],
  options: ForgottenRunsOptions,
): Promise<boolean> {
  const { client, namespace, instanceId, quietMs = QUIET_MS, onNotice, onError } = options;
  let hasActed = false;
  for (const { run, since } of await forgottenOf(runs, client, namespace)) {
    if (since > client.now() - quietMs) continue;
    const what = `Workflow ${run.metadata.name}`;
    try {
      if (await remind(run, { client, namespace, instanceId })) {
        hasActed = true;
        onNotice?.(
          what,
          "its pod has ended, but the Workflow has not: the resync reminds the Workflow controller",
        );
      } else if (run.isReplaceable && since < client.now() - HOPELESS_MS) {
        const spared = await deleteRuns(client, [run]);
        hasActed ||= spared.length === 0;
        if (spared.length === 0) onNotice?.(what, "it did not end after its pod, and is replaced");
      }
    } catch (error) {
      onError?.(what, error as Error);
    }
  }
  return hasActed;
}

/** A run whose pod has ended or is gone, and the time of the last change that is known of it, in milliseconds since 1970. */
interface Forgotten {
  readonly run: QuietRun;
  readonly since: number;
}

/** Those of the runs whose pods have ended or are gone. */
async function forgottenOf(
  runs: readonly QuietRun[],
  client: KubernetesClient,
  namespace: string,
): Promise<Forgotten[]> {
  const forgotten: Forgotten[] = [];
  for (let first = 0; first < runs.length; first += NAMES_AT_ONCE) {
    const some = runs.slice(first, first + NAMES_AT_ONCE);
    const names = some.map(({ metadata }) => metadata.name);
    const labelSelector = `${WORKFLOW_LABELS.workflow} in (${names.join(",")})`;
    const ends = new Map<string, number>();
    await client.list(PODS, { namespace, labelSelector }, (pods) => {
      for (const pod of pods) {
        const name = pod.metadata.labels?.[WORKFLOW_LABELS.workflow] ?? "";
        ends.set(name, Math.max(ends.get(name) ?? 0, endOf(pod)));
      }
    });
    for (const run of some) {
      const end = ends.get(run.metadata.name);
      if (end === undefined && !run.hasBegun) continue;
      forgotten.push({ run, since: Math.max(run.changedAt, end ?? 0) });
    }
  }
  return forgotten.filter(({ since }) => since < Number.POSITIVE_INFINITY);
}

/**
 * When a pod that has ended was last written to, in milliseconds since 1970. Infinity if the pod has not ended. The times of its
 * containers are by the clock of its node.
 */
function endOf(pod: KubernetesObject): number {
  const status = isRecord(pod["status"]) ? pod["status"] : {};
  if (status["phase"] !== "Succeeded" && status["phase"] !== "Failed") return Number.POSITIVE_INFINITY;
  return writtenAt(pod);
}

/**
 * Creates the next reminder of a run. The reminders are counted by their names, so that nothing need be read.
 * @returns false if there were enough
 */
async function remind(
  { metadata: { name, uid } }: QuietRun,
  { client, namespace, instanceId }: Pick<ForgottenRunsOptions, "client" | "namespace" | "instanceId">,
): Promise<boolean> {
  const { apiVersion, kind } = WORKFLOW_TASK_RESULTS;
  for (let count = 1; count <= MOST_REMINDERS; count++) {
    const metadata = {
      name: `${name}.reminder-${count}`,
      namespace,
      labels: { ...instanceLabel(instanceId), [WORKFLOW_LABELS.workflow]: name },
      ownerReferences: [{ apiVersion: WORKFLOWS.apiVersion, kind: WORKFLOWS.kind, name, uid }],
    };
    try {
      await client.create(WORKFLOW_TASK_RESULTS, { apiVersion, kind, metadata });
      return true;
    } catch (error) {
      if (!isApiError(error, 409)) throw error;
    }
  }
  return false;
}
