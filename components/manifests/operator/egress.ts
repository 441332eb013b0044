import { type Destination, type Operator, RUNNER_PORTS } from "../../../runtime/program";
import type { NetworkPolicy } from "../kinds";
import { labelsOf } from "../metadata";
import { egressNameOf } from "../names";
import type { OperatorOptions } from "./options";
import { runnerLabels } from "./runner";

/**
 * Limits where the pods of an operator's handler may connect to. Undefined without `egress`.
 *
 * A NetworkPolicy is about whole pods. So it also limits the runner, which shares the handler's pod. The handler may reach what
 * the runner needs: the API server, DNS, and the port for hints of the operator's other runners. A runner that only begins runs
 * has no handler, and is not limited.
 *
 * Caveat: by DNS, a process can send something to any server of names.
 */
export function buildEgressPolicy(operator: Operator, options: OperatorOptions): NetworkPolicy | undefined {
  const { name, egress, execution } = operator;
  if (!egress) return undefined;
  const isResident = execution === "resident";
  const matchLabels = isResident ? runnerLabels(operator) : labelsOf(name, "run");
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: egressNameOf(name), namespace: options.platform.namespace, labels: matchLabels },
    spec: {
      podSelector: { matchLabels },
      policyTypes: ["Egress"],
      egress: [
        // A server of names may be a pod, or a process on the node.
        { ports: ["UDP", "TCP"].map((protocol) => ({ port: 53, protocol })) },
        ...(isResident ? [{ ports: tcp([RUNNER_PORTS.hints]), to: [{ podSelector: { matchLabels } }] }] : []),
        ...[...options.apiServer, ...egress].map(ruleOf),
      ],
    },
  };
}

function ruleOf({ cidr, namespace, podLabels, ports }: Destination) {
  const pods = {
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace ?? "" } },
    ...(podLabels && { podSelector: { matchLabels: podLabels } }),
  };
  return { ports: tcp(ports), to: [cidr === undefined ? pods : { ipBlock: { cidr } }] };
}

function tcp(ports: readonly number[]) {
  return ports.map((port) => ({ port, protocol: "TCP" }));
}
