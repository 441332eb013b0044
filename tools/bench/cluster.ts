import { until } from "../../cli/common/until";
import type { KubernetesObject, Manifest } from "../../runtime/base/objects";
import { KubernetesClient } from "../../runtime/kubernetes/client";
import type { ClusterConnection } from "../../runtime/kubernetes/connection";
import { builtIn } from "../../runtime/kubernetes/discovery";
import { isApiError } from "../../runtime/kubernetes/errors";
import { HttpTransport } from "../../runtime/kubernetes/transport";
import type { ReflectorSink } from "../../runtime/observe/reflector";
import { Reflector } from "../../runtime/observe/reflector";
import { textOf } from "../objects";
import { countWrites, parseMetrics } from "./metrics";

/** The namespace of every object that the benchmark makes. */
export const NAMESPACE = "benchmark";

/** The paths of the collections with an operator's objects and the objects that the cluster creates from them, owners first. */
const collections = {
  memcacheds: `/apis/cache.example.com/v1alpha1/namespaces/${NAMESPACE}/memcacheds`,
  deployments: `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`,
  services: `/api/v1/namespaces/${NAMESPACE}/services`,
  replicaSets: `/apis/apps/v1/namespaces/${NAMESPACE}/replicasets`,
  pods: `/api/v1/namespaces/${NAMESPACE}/pods`,
  endpoints: `/api/v1/namespaces/${NAMESPACE}/endpoints`,
  endpointSlices: `/apis/discovery.k8s.io/v1/namespaces/${NAMESPACE}/endpointslices`,
  events: `/api/v1/namespaces/${NAMESPACE}/events`,
};

/** A kind of object that the benchmark lists or deletes. */
export type Collection = keyof typeof collections;

/** The objects that the benchmark creates, and those to be cleared. */
export interface ClusterOptions {
  /** `spec.size` of the Memcacheds: how many pods each of their Deployments has. @default 1 */
  readonly size?: number;
  /** The objects to create instead of Memcacheds: their collection, and the manifest for a name. */
  readonly work?: { readonly collection: Collection; readonly manifest: (name: string) => Manifest };
  /** The paths of further collections that are cleared together with the work, because an operator keeps something there. */
  readonly further?: readonly string[];
}

/** See {@link Cluster.createAtOnce}. */
const IN_FLIGHT = 20;
const POLL_MS = 250;
const SERVED_TIMEOUT_MS = 60_000;
const CLEAR_TIMEOUT_MS = 600_000;

/** The driver's own access to the control plane: few requests, little work for each. */
export class Cluster {
  private readonly transport: HttpTransport;
  private readonly client: KubernetesClient;

  /** @param signal ends every request and wait */
  constructor(
    connection: ClusterConnection,
    private readonly signal: AbortSignal,
    private readonly options: ClusterOptions = {},
  ) {
    this.transport = new HttpTransport(connection);
    this.client = new KubernetesClient(connection);
  }

  /** Creates a namespace and the CRD, and waits until the API serves the kind. */
  async install(crd: Manifest): Promise<void> {
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } };
    await this.post("/api/v1/namespaces", namespace);
    await this.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd);
    await this.until("the CRD is served", SERVED_TIMEOUT_MS, () => this.isServed("memcacheds"));
  }

  /** The number of pods of each Memcached's Deployment. */
  get size(): number {
    return this.options.size ?? 1;
  }

  /** Creates a Memcached, or the object that replaces it. */
  async create(name: string): Promise<void> {
    const { work } = this.options;
    if (work) return this.post(collections[work.collection], work.manifest(name));
    await this.post(collections.memcacheds, {
      apiVersion: "cache.example.com/v1alpha1",
      kind: "Memcached",
      metadata: { name },
      spec: { size: this.size },
    });
  }

  /**
   * Creates this many objects, with 20 create calls in progress.
   * @param nameOf gives the name of the object whose create call begins now, the first of index 0
   */
  async createAtOnce(count: number, nameOf: (index: number) => string): Promise<void> {
    let begun = 0;
    const createInTurn = async (): Promise<void> => {
      while (begun < count) await this.create(nameOf(begun++));
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, createInTurn));
  }

  /** Deletes a Memcached, without waiting for its children. */
  async delete(name: string): Promise<void> {
    await this.transport.send({
      method: "DELETE",
      path: `${collections.memcacheds}/${name}`,
      signal: this.signal,
    });
  }

  /** Every object of a collection. */
  async list(collection: Collection): Promise<KubernetesObject[]> {
    return this.get(collections[collection]);
  }

  /**
   * CPU time of the API server's process so far.
   * @see https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics
   */
  async serverCpuMs(): Promise<number> {
    const metrics = await textOf(this.transport, "/metrics", this.signal);
    const [sample] = parseMetrics(metrics, "process_cpu_seconds_total");
    if (!sample) throw new Error("the API server does not report its CPU time");
    return sample.value * 1000;
  }

  /** The writes of all clients that the API server has answered so far: see {@link countWrites}. */
  async writes(): Promise<Map<string, number>> {
    return countWrites(await textOf(this.transport, "/metrics", this.signal));
  }

  /** The driver's only watch: the Deployments' metadata. The caller starts and stops it. */
  watchDeployments(sink: ReflectorSink): Reflector {
    const resource = builtIn("apps/v1", "Deployment");
    return new Reflector({ client: this.client, resource, namespace: NAMESPACE, metadataOnly: true, sink });
  }

  /** Deletes all objects of the work, owners first, and waits until they are gone. */
  async clear(): Promise<void> {
    await this.until("all objects are gone", CLEAR_TIMEOUT_MS, async () => {
      if (await this.isEmpty()) return true;
      // Repeatedly, because a controller with an outdated cache may still create something.
      for (const path of this.cleared) {
        const request = `${path}?gracePeriodSeconds=0&propagationPolicy=Background`;
        await this.transport.send({ method: "DELETE", path: request, signal: this.signal });
      }
      return false;
    });
  }

  /** Closes idle connections. */
  close(): void {
    this.transport.close();
    this.client.close();
  }

  private until(what: string, deadlineMs: number, holds: () => Promise<boolean>): Promise<boolean> {
    return until(holds, { what, deadlineMs, pollMs: POLL_MS, signal: this.signal });
  }

  private get cleared(): string[] {
    return [...Object.values(collections), ...(this.options.further ?? [])];
  }

  private async isEmpty(): Promise<boolean> {
    for (const path of this.cleared) {
      if ((await this.get(`${path}?limit=1`)).length > 0) return false;
    }
    return true;
  }

  private async isServed(collection: Collection): Promise<boolean> {
    try {
      await this.list(collection);
      return true;
    } catch (error) {
      if (isApiError(error, 404)) return false;
      throw error;
    }
  }

  private async get(path: string): Promise<KubernetesObject[]> {
    const request = { method: "GET", path, signal: this.signal } as const;
    return (await this.transport.send<{ items: KubernetesObject[] }>(request)).body.items;
  }

  private async post(path: string, body: Manifest): Promise<void> {
    await this.transport.send({ method: "POST", path, body, signal: this.signal });
  }
}
