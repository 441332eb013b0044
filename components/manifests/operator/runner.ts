import { formerIdentitiesOf, type Operator } from "../../../runtime/program";
import { buildNetworkPolicyOf, buildServiceOf, type CalledPods } from "../calledPods";
import type { Deployment, NetworkPolicy, PodDisruptionBudget, PodSpec, Service } from "../kinds";
import { labelsOf, TAKEN_BACK } from "../metadata";
import { intakePodLabels, runnerNameOf, sensorPodLabels } from "../names";
import { POD_SECURITY, placementFields, podMetadata } from "../pods";
import { transformed } from "../transform";
import type { OperatorFiles } from "./configMaps";
import {
  buildHandlerContainer,
  buildHandlerShellContainer,
  buildRunnerContainer,
  needsHandlerShell,
} from "./containers";
import { FILES_ANNOTATION, keptFiles } from "./keptFiles";
import type { OperatorOptions } from "./options";
import { buildVolumes, dispatcherVolumes } from "./volumes";

/** How long a roll-out may take before it counts as failed, in seconds. Images are pulled in this time. */
const ROLLOUT_SECONDS = 300;
/** The longest that a roll-out or a drain waits for one pod to end. In seconds. */
const LONGEST_END_SECONDS = 120;
/** How long a runner needs to end after the answer that it waits for, in seconds. */
const ENDING_SECONDS = 20;

/** The labels by which an operator's resident runners are selected. */
export function runnerLabels(operator: Operator): Record<string, string> {
  return labelsOf(operator.name, "runner");
}

/**
 * The Deployment of an operator's runner. If runs have pods of their own, it is alone in its pod.
 * @throws TransformError if the program's transform does something that it may not
 */
export function buildRunner(operator: Operator, options: OperatorOptions, files: OperatorFiles): Deployment {
  const labels = runnerLabels(operator);
  const replicas = replicasOf(operator, options);
  const kept = operator.rollout && { annotations: { [FILES_ANNOTATION]: keptFiles(operator, files) } };
  return transformed(
    "runner",
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { ...metadataOf(operator, options), annotations: TAKEN_BACK },
      spec: {
        replicas: replicas as number,
        selector: { matchLabels: labels },
        strategy: strategyOf(operator),
        progressDeadlineSeconds: ROLLOUT_SECONDS,
        // Old ReplicaSets name ConfigMaps that are gone. To go back, run `pulumi up` with the earlier program. With a staged roll-out
        // they have the files themselves: several versions may halt one after another.
        revisionHistoryLimit: operator.rollout ? 5 : 2,
        template: {
          metadata: podMetadata("runner", { labels, ...kept }, options, operator.name),
          spec: buildPod(operator, options, files),
        },
      },
    },
    options,
  );
}

/**
 * The new runner watches before the old one goes, and their Lease ensures that only one of them writes. A runner of another
 * installation has a Lease of its own, and its Deployment has this name too. So it must have ended before the new one begins.
 */
function strategyOf(operator: Operator): NonNullable<Deployment["spec"]["strategy"]> {
  const hadThisName = formerIdentitiesOf(operator).some(({ name }) => name === operator.name);
  return hadThisName
    ? { type: "Recreate" }
    : { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } };
}

function buildPod(operator: Operator, options: OperatorOptions, files: OperatorFiles): PodSpec {
  const isAlone = operator.execution === "pod";
  const hasHandlerShell = !isAlone && needsHandlerShell(operator, options);
  const longestEnd = isAlone ? ENDING_SECONDS : operator.timeoutSeconds + ENDING_SECONDS;
  return {
    serviceAccountName: runnerNameOf(operator.name),
    // The runner's token comes from a volume that only the runner mounts.
    automountServiceAccountToken: false,
    // An author could not rely on a variable for each Service of the namespace.
    enableServiceLinks: false,
    securityContext: POD_SECURITY,
    // A running reconcile is ended properly, unless it takes too long for a node to wait.
    terminationGracePeriodSeconds: Math.min(longestEnd, LONGEST_END_SECONDS),
    ...(hasHandlerShell && { initContainers: [buildHandlerShellContainer(operator, options, "resident")] }),
    containers: [
      buildRunnerContainer(operator, options, "resident"),
      ...(isAlone ? [] : [buildHandlerContainer(operator, options, "resident")]),
    ],
    volumes: isAlone
      ? dispatcherVolumes(files)
      : buildVolumes(operator, options, files, "resident", hasHandlerShell),
    ...(replicasOf(operator, options) !== 1 && { topologySpreadConstraints: [spread(operator)] }),
    ...placementFields("runner", options, operator.name),
    // A runner that is alone has no handler.
    ...(!isAlone && options.runtimeClassName !== undefined && { runtimeClassName: options.runtimeClassName }),
  };
}

/** Prefers nodes of their own. */
function spread(operator: Operator) {
  return {
    maxSkew: 1,
    topologyKey: "kubernetes.io/hostname",
    whenUnsatisfiable: "ScheduleAnyway",
    labelSelector: { matchLabels: runnerLabels(operator) },
  };
}

/** The Service to which the Sensor and the intake post hints. Undefined if neither does. */
export function buildService(operator: Operator, options: OperatorOptions): Service | undefined {
  return sendersTo(operator, options).length === 0
    ? undefined
    : buildServiceOf(metadataOf(operator, options), "hints");
}

/**
 * Admits traffic to the runners: hints from the Sensors of the event path, whatever their shard, what the intake wakes, and
 * Prometheus' requests for metrics. Traffic from the runners is not restricted, because a handler may have to reach anything.
 */
export function buildNetworkPolicy(operator: Operator, options: OperatorOptions): NetworkPolicy {
  const senders = sendersTo(operator, options);
  // A standby passes its hints on to the leader.
  const callers = senders.length > 0 ? [...senders, runnerLabels(operator)] : [];
  return buildNetworkPolicyOf(metadataOf(operator, options), callers, options.platform.prometheusNamespace);
}

/**
 * The labels of the pods that send hints to an operator's runners. The event path carries no events of objects that are not ours, and
 * the intake asks only operators whose objects events wake.
 */
function sendersTo(
  { watch, on = [], installation }: Operator,
  { eventPathName, platform }: OperatorOptions,
): readonly Readonly<Record<string, string>>[] {
  const wakes = on.some((event) => "wake" in event);
  return [
    ...(platform.argoEvents && !watch ? [sensorPodLabels(eventPathName)] : []),
    ...(wakes ? [intakePodLabels(installation)] : []),
  ];
}

/** A drain takes one runner at a time. */
export function buildPodDisruptionBudget(operator: Operator, options: OperatorOptions): PodDisruptionBudget {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: metadataOf(operator, options),
    spec: {
      maxUnavailable: 1,
      selector: { matchLabels: runnerLabels(operator) },
      // A runner that does not come up must not prevent a node from being drained.
      unhealthyPodEvictionPolicy: "AlwaysAllow",
    },
  };
}

function metadataOf(operator: Operator, { platform }: OperatorOptions): CalledPods {
  return {
    name: runnerNameOf(operator.name),
    namespace: platform.namespace,
    labels: runnerLabels(operator),
  };
}

/** The program's choice for this operator wins over its choice for all, which may be only known later. */
function replicasOf(operator: Operator, options: OperatorOptions): number | string {
  return operator.replicas ?? options.replicas;
}
