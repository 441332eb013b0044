import type { Operator } from "../../../runtime/program";
import { placementFields } from "../../placement";
import { labelsOf } from "../labels";
import { POD_SECURITY } from "../podSecurity";
import type { OperatorFiles } from "./configMaps";
import { buildHandlerContainer, buildKitContainer, buildRunnerContainer } from "./containers";
import { runnerNameOf } from "./names";
import type { OperatorOptions } from "./options";
import { buildVolumes } from "./volumes";

/** How long a roll-out may take before it counts as failed: images are pulled in it. In seconds. */
const ROLLOUT_SECONDS = 300;
/** The longest that a roll-out or a drain waits for one pod to end. In seconds. */
const LONGEST_END_SECONDS = 120;
/** What a runner needs to end beside the answer that it waits for. In seconds. */
const ENDING_SECONDS = 15;

/** Labels of an operator's resident runners, and what selects them. */
export function runnerLabels(operator: Operator): Record<string, string> {
  return labelsOf(operator.name, "runner");
}

/** The specification of a resident runner's pod. */
export function buildResidentPod(operator: Operator, options: OperatorOptions, files: OperatorFiles) {
  return {
    serviceAccountName: runnerNameOf(operator.name),
    // The runner's token comes by a volume, which only the runner mounts.
    automountServiceAccountToken: false,
    // A variable for each Service of the namespace is no environment that an author could rely on.
    enableServiceLinks: false,
    securityContext: POD_SECURITY,
    // A reconcile that runs is ended, unless it takes too long for a node to wait.
    terminationGracePeriodSeconds: Math.min(operator.timeoutSeconds + ENDING_SECONDS, LONGEST_END_SECONDS),
    initContainers: [buildKitContainer(operator, options, "resident")],
    containers: [
      buildRunnerContainer(operator, options, "resident"),
      buildHandlerContainer(operator, options, "resident"),
    ],
    volumes: buildVolumes(operator, files, "resident"),
    ...(replicasOf(operator, options) > 1 && { topologySpreadConstraints: [spread(operator)] }),
    ...placementFields(options.placement),
  };
}

/** The specification of the runner's Deployment, but for its pod. */
export function buildResidentRollout(operator: Operator, options: OperatorOptions) {
  return {
    replicas: replicasOf(operator, options),
    selector: { matchLabels: runnerLabels(operator) },
    // The new one watches before the old one goes; the lease sees to it that only one of them writes.
    strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    progressDeadlineSeconds: ROLLOUT_SECONDS,
    // Old ones name ConfigMaps that are gone: going back is another `pulumi up`.
    revisionHistoryLimit: 2,
  };
}

/** On nodes of their own where that is possible. */
function spread(operator: Operator) {
  return {
    maxSkew: 1,
    topologyKey: "kubernetes.io/hostname",
    whenUnsatisfiable: "ScheduleAnyway",
    labelSelector: { matchLabels: runnerLabels(operator) },
  };
}

/** What the program says of this operator alone goes before what it says of all. */
function replicasOf(operator: Operator, options: OperatorOptions): number {
  return operator.replicas ?? options.replicas;
}
