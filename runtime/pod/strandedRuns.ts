import { hasBegun, statusOf } from "../argo/workflows";
import type { KubernetesObject } from "../kubernetes/objects";
import { OBJECT_UID_LABEL } from "../names";
import { configMapsOf } from "./footprint";

const UNTOUCHED_MS = 120_000;

/**
 * Tells which runs that have not ended will not begin, and would keep every other run of their object from it:
 *
 * - Those that name other ConfigMaps than the WorkflowTemplate does now. A roll-out removes the ConfigMaps that it has
 *   replaced, and a pod that names one of these never begins.
 * - Those that the Workflow controller has passed over: one whose beginning it could not write, since the API server was
 *   away, it takes up again only after a long while, or when it is restarted (argo-workflows,
 *   workflow/controller/operator.go, setExecWorkflow and persistUpdates).
 *
 * Only those that carry an object's uid as a label, which the Sensor and the resync give them: what somebody submits is
 * run.
 *
 * @param template the WorkflowTemplate of the runs
 * @param untouchedMs a run that the Workflow controller has not touched for so long is one that it passed over
 */
export function strandedRuns(
  template: KubernetesObject,
  untouchedMs = UNTOUCHED_MS,
): (run: KubernetesObject) => boolean {
  const current = configMapsOf(template["spec"]);
  const untouchedSince = Date.now() - untouchedMs;
  return (run) =>
    run.metadata.labels?.[OBJECT_UID_LABEL] !== undefined &&
    (isOutdated(run, current) || isPassedOver(run, untouchedSince));
}

function isOutdated(run: KubernetesObject, current: ReadonlySet<string>): boolean {
  if (hasBegun(run)) return false;
  return [...configMapsOf(statusOf(run).storedWorkflowTemplateSpec)].some((name) => !current.has(name));
}

function isPassedOver(run: KubernetesObject, untouchedSince: number): boolean {
  const { phase = "" } = statusOf(run);
  return phase === "" && Date.parse(run.metadata.creationTimestamp ?? "") < untouchedSince;
}
