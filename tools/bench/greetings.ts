import { until } from "../../cli/common/until";
import type { JsonObject, KubernetesObject, Manifest } from "../../runtime/base/objects";
import { KubernetesClient } from "../../runtime/kubernetes/client";
import type { ClusterConnection } from "../../runtime/kubernetes/connection";
import { builtIn } from "../../runtime/kubernetes/discovery";
import { isApiError } from "../../runtime/kubernetes/errors";
import { HttpTransport } from "../../runtime/kubernetes/transport";
import { Reflector } from "../../runtime/observe/reflector";
import { textOf } from "../objects";
import { NAMESPACE } from "./cluster";
import { parseMetrics } from "./metrics";

const GREETINGS = `/apis/hello.example.com/v1/namespaces/${NAMESPACE}/greetings`;
const CONFIG_MAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
/** Kubernetes makes one ConfigMap in each namespace: the certificate of the API server. */
const OF_KUBERNETES = 1;
const IN_FLIGHT = 20;
const POLL_MS = 500;
const SERVED_TIMEOUT_MS = 60_000;
/** The first changes do not count: they start the handler's process, which an operator of many objects has long had. */
const WARM_UP = 5;
/** The ConfigMap that no operator reconciles. */
const UNRECONCILED = "unreconciled";
/** A change that is not seen at the child by then counts as lost. */
const LOST_MS = 30_000;

/** The name of the object of this number. */
function nameOf(number: number): string {
  return `greeting-${number}`;
}

/** The driver's access to the objects of examples/01-minimal, each with a ConfigMap as its child. */
export class Greetings {
  private readonly transport: HttpTransport;
  private readonly client: KubernetesClient;
  /** How many there are. */
  size = 0;

  /** @param signal ends every request and wait */
  constructor(
    connection: ClusterConnection,
    private readonly signal: AbortSignal,
  ) {
    this.transport = new HttpTransport(connection);
    this.client = new KubernetesClient(connection);
  }

  /** Creates the namespace and the CRD, and waits until the API serves the kind. */
  async install(crd: Manifest): Promise<void> {
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } };
    await this.post("/api/v1/namespaces", namespace);
    await this.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd);
    await this.until("the CRD is served", SERVED_TIMEOUT_MS, () =>
      this.countOf(GREETINGS).then(
        () => true,
        (error: unknown) => {
          if (isApiError(error, 404)) return false;
          throw error;
        },
      ),
    );
  }

  /** Creates objects until there are `size` of them. */
  async growTo(size: number): Promise<void> {
    const createInTurn = async (): Promise<void> => {
      while (this.size < size) {
        const number = this.size++;
        await this.post(GREETINGS, {
          apiVersion: "hello.example.com/v1",
          kind: "Greeting",
          metadata: { name: nameOf(number) },
          spec: { to: `World ${number}` },
        });
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, createInTurn));
  }

  /** Waits until each object has its child. @throws DeadlineError */
  async untilObserved(deadlineMs: number): Promise<void> {
    let missing = this.size;
    const what = () => `all children exist: ${missing} are missing`;
    await until(
      async () => {
        missing = this.size + OF_KUBERNETES - (await this.countOf(CONFIG_MAPS));
        return missing <= 0;
      },
      { what, deadlineMs, pollMs: POLL_MS, signal: this.signal },
    );
  }

  /**
   * Changes single objects, each at random, and waits each time until a watch shows the change at the child. In turn with these, it
   ** changes a ConfigMap that no operator reconciles, which is what the API server alone needs.
   * @returns from just before each change until it is seen, in milliseconds
   */
  async change(
    times: number,
    restMs: number,
  ): Promise<{ latencies: number[]; serverAlone: number[]; lost: number }> {
    const waiting = new Map<string, (at: number) => void>();
    const see = ({ metadata }: KubernetesObject) => waiting.get(metadata.name)?.(performance.now());
    const reflector = new Reflector({
      client: this.client,
      resource: builtIn("v1", "ConfigMap"),
      namespace: NAMESPACE,
      metadataOnly: true,
      from: await this.client.versionOf(builtIn("v1", "ConfigMap"), { namespace: NAMESPACE }, this.signal),
      sink: { listing: () => {}, set: see, listed: () => {}, remove: () => {} },
    });
    const timeOf = async (name: string, path: string, body: JsonObject): Promise<number | undefined> => {
      const seen = new Promise<number>((resolve) => waiting.set(name, resolve));
      const changedAt = performance.now();
      const contentType = "application/merge-patch+json";
      await this.transport.send({ method: "PATCH", path, body, contentType, signal: this.signal });
      const seenAt = await Promise.race([seen, this.rest(LOST_MS)]);
      waiting.delete(name);
      return seenAt === undefined ? undefined : seenAt - changedAt;
    };
    await this.post(CONFIG_MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: UNRECONCILED } });
    reflector.startWatching();
    const latencies: number[] = [];
    const serverAlone: number[] = [];
    let lost = 0;
    try {
      await this.rest(1_000);
      for (let time = -WARM_UP; time < times; time++) {
        const text = `change ${time} at ${Date.now()}`;
        const name = nameOf(Math.floor(Math.random() * this.size));
        const own = await timeOf(name, `${GREETINGS}/${name}`, { spec: { to: text } });
        if (own === undefined) lost++;
        else if (time >= 0) latencies.push(own);
        await this.rest(restMs);
        const alone = await timeOf(UNRECONCILED, `${CONFIG_MAPS}/${UNRECONCILED}`, { data: { text } });
        if (time >= 0 && alone !== undefined) serverAlone.push(alone);
        await this.rest(restMs);
      }
    } finally {
      await reflector.stopWatching();
      await this.transport.send({
        method: "DELETE",
        path: `${CONFIG_MAPS}/${UNRECONCILED}`,
        signal: this.signal,
      });
    }
    return { latencies, serverAlone, lost };
  }

  /** What the API server's process has used so far, and the calls that it has answered except those about leases, by verb. */
  async server(): Promise<{ cpuMs: number; residentMiB: number; calls: Record<string, number> }> {
    const text = await textOf(this.transport, "/metrics", this.signal);
    const value = (metric: string) => parseMetrics(text, metric)[0]?.value ?? Number.NaN;
    const calls: Record<string, number> = {};
    for (const { labels, value: count } of parseMetrics(text, "apiserver_request_total")) {
      const { verb = "", resource = "", subresource } = labels;
      if (!["greetings", "configmaps", "events"].includes(resource)) continue;
      const what = `${verb} ${resource}${subresource ? `/${subresource}` : ""}`;
      calls[what] = (calls[what] ?? 0) + count;
    }
    return {
      cpuMs: value("process_cpu_seconds_total") * 1_000,
      residentMiB: value("process_resident_memory_bytes") / 2 ** 20,
      calls,
    };
  }

  /** Closes idle connections. */
  close(): void {
    this.transport.close();
    this.client.close();
  }

  private rest(ms: number): Promise<undefined> {
    return new Promise((resolve) => setTimeout(resolve, ms, undefined));
  }

  private until(what: string, deadlineMs: number, holds: () => Promise<boolean>): Promise<boolean> {
    return until(holds, { what, deadlineMs, pollMs: POLL_MS, signal: this.signal });
  }

  private async countOf(path: string): Promise<number> {
    const request = { method: "GET", path: `${path}?limit=1`, signal: this.signal } as const;
    const { body } = await this.transport.send<{
      metadata: { remainingItemCount?: number };
      items: unknown[];
    }>(request);
    return body.items.length + (body.metadata.remainingItemCount ?? 0);
  }

  private async post(path: string, body: Manifest): Promise<void> {
    await this.transport.send({ method: "POST", path, body, signal: this.signal });
  }
}
