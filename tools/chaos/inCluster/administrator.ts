import { KubernetesClient, PODS } from "../../../runtime/kubernetes/client";
import type { ClusterConnection } from "../../../runtime/kubernetes/connection";
import { isApiError } from "../../../runtime/kubernetes/errors";
import type { JsonObject, KubernetesObject, Manifest, ObjectName } from "../../../runtime/kubernetes/objects";
import { type Resource, resourcePath } from "../../../runtime/kubernetes/resource";
import { HttpTransport } from "../../../runtime/kubernetes/transport";

/** The kinds that an administrator of a chaos run handles. */
export const RESOURCES = {
  namespace: { apiVersion: "v1", kind: "Namespace", plural: "namespaces", namespaced: false },
  pod: PODS,
  service: { apiVersion: "v1", kind: "Service", plural: "services", namespaced: true },
  replicaSet: { apiVersion: "apps/v1", kind: "ReplicaSet", plural: "replicasets", namespaced: true },
  deployment: { apiVersion: "apps/v1", kind: "Deployment", plural: "deployments", namespaced: true },
  statefulSet: { apiVersion: "apps/v1", kind: "StatefulSet", plural: "statefulsets", namespaced: true },
  networkPolicy: {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    plural: "networkpolicies",
    namespaced: true,
  },
} as const satisfies Record<string, Resource>;

const SCALABLE: readonly Resource[] = [RESOURCES.deployment, RESOURCES.statefulSet];

/** Something that makes pods, and how many of them. */
export interface Workload {
  readonly resource: Resource;
  readonly name: ObjectName;
  readonly replicas: number;
}

/** A cluster in the hands of its administrator: what `kubectl` does, and with every right. */
export class Administrator {
  readonly client: KubernetesClient;
  /** The address of the API server. */
  readonly server: string;
  private readonly transport: HttpTransport;

  constructor(connection: ClusterConnection) {
    this.server = connection.server;
    this.client = new KubernetesClient(connection);
    this.transport = new HttpTransport(connection);
  }

  async list(resource: Resource, namespace: string, labelSelector?: string): Promise<KubernetesObject[]> {
    const found: KubernetesObject[] = [];
    const selection = { namespace, ...(labelSelector !== undefined && { labelSelector }) };
    await this.client.list(resource, selection, (page) => void found.push(...page));
    return found;
  }

  async apply(resource: Resource, manifest: Manifest): Promise<void> {
    await this.client.apply(resource, manifest, { fieldManager: "argosy-chaos", force: true });
  }

  /** Pods that are there and not about to go. */
  async pods(namespace: string, labelSelector: string): Promise<KubernetesObject[]> {
    const pods = await this.list(RESOURCES.pod, namespace, labelSelector);
    return pods.filter(({ metadata }) => !metadata.deletionTimestamp);
  }

  /** `kubectl delete pod --force`: at once, and without asking whether it has ended. */
  async kill({ metadata: { name, namespace } }: KubernetesObject): Promise<void> {
    try {
      const path = resourcePath(RESOURCES.pod, { name, namespace });
      await this.transport.send({ method: "DELETE", path, body: { gracePeriodSeconds: 0 } });
    } catch (error) {
      if (!isApiError(error, 404)) throw error;
    }
  }

  /** What a pod is made by, and made anew by. @throws Error where it is nothing that can be scaled */
  async workloadOf({ metadata }: KubernetesObject): Promise<Workload> {
    const { namespace } = metadata;
    let [owner] = metadata.ownerReferences ?? [];
    if (owner?.kind === RESOURCES.replicaSet.kind) {
      const replicaSet = await this.client.get(RESOURCES.replicaSet, { namespace, name: owner.name });
      [owner] = replicaSet?.metadata.ownerReferences ?? [];
    }
    const resource = SCALABLE.find(({ kind }) => kind === owner?.kind);
    if (!owner || !resource) throw new Error(`nobody makes pod ${metadata.name} anew`);
    const name = { namespace, name: owner.name };
    const { replicas = 1 } = ((await this.client.get(resource, name))?.["spec"] ?? {}) as {
      replicas?: number;
    };
    return { resource, name, replicas };
  }

  /** `kubectl scale`. */
  async scale({ resource, name }: Workload, replicas: number): Promise<void> {
    const path = resourcePath(resource, name, "scale");
    const contentType = "application/merge-patch+json";
    await this.transport.send({ method: "PATCH", path, contentType, body: { spec: { replicas } } });
  }

  /** `kubectl rollout restart`. */
  async restart({ resource, name }: Workload): Promise<void> {
    const annotations = { "kubectl.kubernetes.io/restartedAt": new Date().toISOString() };
    const patch: JsonObject = { spec: { template: { metadata: { annotations } } } };
    await this.client.mergePatch(resource, name, patch);
  }

  close(): void {
    this.client.close();
    this.transport.close();
  }
}
