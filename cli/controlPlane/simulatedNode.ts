import { isTrue } from "../../runtime/base/objects";
import type { ApiClient } from "./apiClient";

const name = "node-0";

/** Capacity for the children of a few thousand custom resources. Nothing runs, so it costs nothing. */
const capacity = { cpu: "1000", memory: "4Ti", pods: "10000" };

const node = {
  apiVersion: "v1",
  kind: "Node",
  metadata: {
    name,
    annotations: { "kwok.x-k8s.io/node": "fake", "node.alpha.kubernetes.io/ttl": "0" },
    labels: {
      "kubernetes.io/arch": "amd64",
      "kubernetes.io/hostname": name,
      "kubernetes.io/os": "linux",
      "kubernetes.io/role": "agent",
      "node-role.kubernetes.io/agent": "",
      type: "kwok",
    },
  },
  spec: { podCIDR: "10.0.0.0/16", podCIDRs: ["10.0.0.0/16"] },
  status: { allocatable: capacity, capacity, nodeInfo: { architecture: "amd64", operatingSystem: "linux" } },
};

/** Creates the one node that kwok simulates. This is the same as `kwokctl scale node --replicas 1`, without its start-up time. */
export async function createNode(client: ApiClient): Promise<void> {
  const answer = await client.call("POST", "/api/v1/nodes", node);
  if (answer.status !== 201 && answer.status !== 409) throw new Error(`the node was refused: ${answer.text}`);
}

/** Whether kwok has made the node Ready; also false while there is no answer. */
export async function isNodeReady(client: ApiClient): Promise<boolean> {
  const answer = await client.call("GET", `/api/v1/nodes/${name}`).catch(() => undefined);
  if (answer?.status !== 200) return false;
  const { status } = JSON.parse(answer.text) as { status?: unknown };
  return isTrue(status, "Ready");
}
