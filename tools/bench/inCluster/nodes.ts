import type { KubernetesObject } from "../../../runtime/base/objects";
import type { ClusterConnection } from "../../../runtime/kubernetes/connection";
import { Objects } from "../../objects";

/** The properties of a node that affect the figures. */
interface NodeStatus {
  readonly capacity?: Readonly<Record<string, string>>;
  readonly nodeInfo?: Readonly<Record<string, string>>;
}

/** The nodes of a cluster, a line each, because figures of two clusters are not comparable. */
export async function describeNodes(connection: ClusterConnection): Promise<string[]> {
  const objects = new Objects(connection, "argosy-bench");
  try {
    return (await objects.list({ apiVersion: "v1", kind: "Node" })).map(describeNode);
  } finally {
    objects.close();
  }
}

/** "node node1: 2 processors, 23.5 GiB, Kubernetes v1.34.1, containerd://1.6.20, …" */
function describeNode({ metadata, status }: KubernetesObject): string {
  const { capacity = {}, nodeInfo = {} } = (status ?? {}) as NodeStatus;
  const gibibytes = Number.parseInt(capacity["memory"] ?? "0", 10) / 2 ** 20;
  const parts = [
    `${capacity["cpu"]} processors`,
    `${gibibytes.toFixed(1)} GiB`,
    `Kubernetes ${nodeInfo["kubeletVersion"]}`,
    nodeInfo["containerRuntimeVersion"],
    nodeInfo["osImage"],
    nodeInfo["kernelVersion"],
  ];
  return `node ${metadata.name}: ${parts.join(", ")}`;
}
