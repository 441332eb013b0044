import type { KubernetesObject } from "../../../runtime/base/objects";
import { resourcePath } from "../../../runtime/base/resource";
import { PODS } from "../../../runtime/kubernetes/client";
import type { ClusterConnection } from "../../../runtime/kubernetes/connection";
import { builtIn } from "../../../runtime/kubernetes/discovery";
import { ifRefused } from "../../../runtime/kubernetes/errors";
import { Objects, type Reference } from "../../objects";

/** The kinds that an administrator of a chaos run handles. */
export const RESOURCES = {
  namespace: builtIn("v1", "Namespace"),
  pod: PODS,
  service: builtIn("v1", "Service"),
  replicaSet: builtIn("apps/v1", "ReplicaSet"),
  deployment: builtIn("apps/v1", "Deployment"),
  statefulSet: builtIn("apps/v1", "StatefulSet"),
  networkPolicy: builtIn("networking.k8s.io/v1", "NetworkPolicy"),
} as const;

const SCALABLE: readonly string[] = [RESOURCES.deployment.kind, RESOURCES.statefulSet.kind];

/** An object that creates pods, and its number of pods. */
export interface Workload extends Reference {
  readonly replicas: number;
}

/** A cluster with an administrator's rights, and the operations of `kubectl`. */
export class Administrator extends Objects {
  /** The address of the API server. */
  readonly server: string;

  constructor(connection: ClusterConnection) {
    super(connection, "argosy-chaos");
    this.server = connection.server;
  }

  /** Pods that exist and are not being deleted. */
  async pods(namespace: string, labelSelector: string): Promise<KubernetesObject[]> {
    const pods = await this.list(RESOURCES.pod, namespace, labelSelector);
    return pods.filter(({ metadata }) => !metadata.deletionTimestamp);
  }

  /** `kubectl delete pod --force`: at once, without waiting until it has ended. */
  async kill({ metadata: { name, namespace } }: KubernetesObject): Promise<void> {
    const path = resourcePath(RESOURCES.pod, { name, namespace });
    const request = { method: "DELETE", path, body: { gracePeriodSeconds: 0 } } as const;
    await this.transport.send(request).catch(ifRefused(404, undefined));
  }

  /** The object that creates a pod and replaces it. @throws Error if that object cannot be scaled */
  async workloadOf(pod: KubernetesObject): Promise<Workload> {
    const { metadata } = pod;
    const namespace = metadata.namespace ?? "";
    const ownerOf = (object: KubernetesObject | undefined): Reference | undefined => {
      const [owner] = object?.metadata.ownerReferences ?? [];
      return owner && { ...owner, metadata: { namespace, name: owner.name } };
    };
    let owner = ownerOf(pod);
    if (owner?.kind === RESOURCES.replicaSet.kind) owner = ownerOf(await this.find(owner));
    if (!owner || !SCALABLE.includes(owner.kind))
      throw new Error(`no controller replaces pod ${metadata.name}`);
    const { replicas = 1 } = ((await this.find(owner))?.["spec"] ?? {}) as { replicas?: number };
    return { ...owner, replicas };
  }

  /** `kubectl rollout restart`. */
  async restart(workload: Workload): Promise<void> {
    const annotations = { "kubectl.kubernetes.io/restartedAt": new Date().toISOString() };
    await this.patch(workload, { spec: { template: { metadata: { annotations } } } });
  }
}
