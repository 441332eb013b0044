import { type Manifest, type Operator, RUNNER_PORTS } from "../../../runtime/program";
import { NOT_AWAITED } from "../awaited";
import { sensorPodLabels } from "../eventPath/podTemplate";
import { runnerNameOf } from "./names";
import type { OperatorOptions } from "./options";
import { runnerLabels } from "./residentPod";

/** The Service to which the Sensor posts its hints. */
export function buildService(operator: Operator, options: OperatorOptions): Manifest {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { ...metadataOf(operator, options), annotations: NOT_AWAITED },
    spec: {
      type: "ClusterIP",
      selector: runnerLabels(operator),
      ports: [{ name: "hints", port: RUNNER_PORTS.hints, targetPort: "hints", protocol: "TCP" }],
    },
  };
}

/**
 * Who may speak to the runners: hints come from the Sensors of the event path, whatever their shard, and Prometheus asks
 * for metrics. Whom they may speak to is left open: a handler's purpose may be anywhere.
 */
export function buildNetworkPolicy(operator: Operator, options: OperatorOptions): Manifest {
  const port = (number: number) => [{ port: number, protocol: "TCP" }];
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: metadataOf(operator, options),
    spec: {
      podSelector: { matchLabels: runnerLabels(operator) },
      policyTypes: ["Ingress"],
      ingress: [
        {
          ports: port(RUNNER_PORTS.hints),
          from: [
            { podSelector: { matchLabels: sensorPodLabels(options.eventPathName) } },
            // A standby passes its hints on to the leader.
            { podSelector: { matchLabels: runnerLabels(operator) } },
          ],
        },
        { ports: port(RUNNER_PORTS.metrics), from: [{ namespaceSelector: monitoring(options) }] },
      ],
    },
  };
}

/** Unless it is told where, any monitoring of the cluster, wherever it is: the figures are no secret. */
function monitoring({ prometheusNamespace }: OperatorOptions) {
  if (prometheusNamespace === undefined) return {};
  return { matchLabels: { "kubernetes.io/metadata.name": prometheusNamespace } };
}

/** A drain takes one runner at a time. */
export function buildPodDisruptionBudget(operator: Operator, options: OperatorOptions): Manifest {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: metadataOf(operator, options),
    spec: {
      maxUnavailable: 1,
      selector: { matchLabels: runnerLabels(operator) },
      // One that does not come up shall not keep a node from being drained.
      unhealthyPodEvictionPolicy: "AlwaysAllow",
    },
  };
}

function metadataOf(operator: Operator, { platform }: OperatorOptions): Manifest["metadata"] {
  return {
    name: runnerNameOf(operator.name),
    namespace: platform.namespace,
    labels: runnerLabels(operator),
  };
}
