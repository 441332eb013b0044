import { RUNNER_PORTS } from "../../runtime/program";
import type { NetworkPolicy, Service } from "./kinds";
import { NOT_AWAITED } from "./metadata";

type Labels = Readonly<Record<string, string>>;

/** Pods to which others send something: hints or events. Their Service and their NetworkPolicy have the same name and labels. */
export interface CalledPods {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Labels;
}

/** The Service of such pods. @param port the name of the port that is called */
export function buildServiceOf({ name, namespace, labels }: CalledPods, port: string): Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace, labels, annotations: NOT_AWAITED },
    spec: {
      type: "ClusterIP",
      selector: labels,
      ports: [{ name: port, port: RUNNER_PORTS.hints, targetPort: port, protocol: "TCP" }],
    },
  };
}

/**
 * Admits traffic to such pods: from their callers, and Prometheus' requests for metrics. Traffic from the pods is not restricted.
 * @param callers the labels of the callers' pods, which are in the same namespace
 * @param prometheusNamespace undefined: that of any pod
 */
export function buildNetworkPolicyOf(
  { name, namespace, labels }: CalledPods,
  callers: readonly Labels[],
  prometheusNamespace: string | undefined,
): NetworkPolicy {
  const port = (number: number) => [{ port: number, protocol: "TCP" }];
  const from = callers.map((matchLabels) => ({ podSelector: { matchLabels } }));
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name, namespace, labels },
    spec: {
      podSelector: { matchLabels: labels },
      policyTypes: ["Ingress"],
      ingress: [
        ...(from.length > 0 ? [{ ports: port(RUNNER_PORTS.hints), from }] : []),
        { ports: port(RUNNER_PORTS.metrics), from: [{ namespaceSelector: monitoring(prometheusNamespace) }] },
      ],
    },
  };
}

/** The namespace of Prometheus. By default any monitoring of the cluster may ask, because the figures are no secret. */
function monitoring(name: string | undefined) {
  return name === undefined ? {} : { matchLabels: { "kubernetes.io/metadata.name": name } };
}
