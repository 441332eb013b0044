import { hasBegun, statusOf } from "../../argo/workflows";
import type { KubernetesObject } from "../../kubernetes/objects";
import { configMapsOf } from "../withoutWatches/footprint";
import { isReplaceable } from "./liveRuns";
import { blocksQueue, isOverdue } from "./stuckRuns";

const UNTOUCHED_MS = 120_000;

/**
 * Says which runs have not ended and never will. They would block every other run of their object, or of their operator:
 *
 * - Those that name other ConfigMaps than the WorkflowTemplate does now. A roll-out removes the ConfigMaps that it has replaced,
 *   and a pod that names a removed one never begins.
 * - Those that the Workflow controller has skipped. If it could not write the beginning of a run, because the API server was out
 *   of reach, it comes back to that run only after a long time, or when it is restarted (argo-workflows,
 *   workflow/controller/operator.go, setExecWorkflow and persistUpdates).
 * - Those that are overdue: see {@link isOverdue}. The kubelet has ended their pods by then.
 * - Those that somebody suspended while they waited for their turn: see {@link blocksQueue}. They have no pod.
 *
 * Only those count that another run replaces: see {@link isReplaceable}.
 *
 * @param template the WorkflowTemplate of the runs
 * @param now by the API server's clock, in milliseconds since 1970
 * @param untouchedMs the Workflow controller has skipped a run that it has not touched for this long
 */
export function strandedRuns(
  template: KubernetesObject,
  now: number,
  untouchedMs = UNTOUCHED_MS,
): (run: KubernetesObject) => boolean {
  const current = configMapsOf(template["spec"]);
  const untouchedSince = now - untouchedMs;
  return (run) =>
    isReplaceable(run) &&
    (isOutdated(run, current) ||
      isPassedOver(run, untouchedSince) ||
      isOverdue(run, now) ||
      blocksQueue(run));
}

function isOutdated(run: KubernetesObject, current: ReadonlySet<string>): boolean {
  if (hasBegun(run)) return false;
  return [...configMapsOf(statusOf(run).storedWorkflowTemplateSpec)].some((name) => !current.has(name));
}

function isPassedOver(run: KubernetesObject, untouchedSince: number): boolean {
  const { phase = "" } = statusOf(run);
  return phase === "" && Date.parse(run.metadata.creationTimestamp ?? "") < untouchedSince;
}
