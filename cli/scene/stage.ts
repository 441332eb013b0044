import type { FailureReason } from "../../runtime/base/failure";
import type { Condition, KubernetesObject, Manifest } from "../../runtime/base/objects";
import type { Resource } from "../../runtime/base/resource";
import {
  builtIn,
  type Engine,
  type KubernetesClient,
  type Operator,
  type ReconcileReport,
  resourceOf,
} from "../../runtime/cli";
import { until } from "../common/until";
import type { HandlerCopy } from "./handlerCopy";
import { NotHeldError } from "./scene";

/** A Memcached as the API server returns it. */
export interface Memcached extends KubernetesObject {
  spec: { size: number };
  status?: { readyReplicas?: number; observedGeneration?: number; conditions?: Condition[] };
}

/** The child that runs the instances. */
export interface Deployment extends KubernetesObject {
  spec: { replicas: number };
  status?: { readyReplicas?: number };
}

/** What a {@link Stage} is made of. */
export interface StageOptions {
  /** A client with the rights of the cluster's user. */
  readonly client: KubernetesClient;
  readonly operator: Operator;
  readonly controller: Pick<Engine, "renewHandler">;
  readonly handler: HandlerCopy;
  /** The reports of the engine so far. The list grows while the scene is played. */
  readonly reports: readonly ReconcileReport[];
  /** The namespace of the scene's objects. */
  readonly namespace: string;
  /** How long the scene waits for anything, in milliseconds. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

const DEPLOYMENT = builtIn("apps/v1", "Deployment");
const SERVICE = builtIn("v1", "Service");
const EVENT = builtIn("events.k8s.io/v1", "Event");

/** The surroundings of the scene's steps: a cluster, as its user sees it, and the handler, as its author does. */
export class Stage {
  readonly handler: HandlerCopy;
  readonly operator: Operator;
  private readonly resource: Resource;

  constructor(private readonly options: StageOptions) {
    this.resource = resourceOf(options.operator.customResource);
    this.handler = options.handler;
    this.operator = options.operator;
  }

  /** Waits until something exists. @param what a whole sentence that should become true */
  until<T>(what: string, probe: () => Promise<T | undefined>): Promise<T> {
    const { deadlineMs, signal } = this.options;
    return until(probe, { what, deadlineMs, signal });
  }

  /**
   * Makes a dry run of a creation. The API server delays the first creation of a new kind by two seconds
   * (apiextensions-apiserver, customresource_handler.go), and this delay must not count for the engine.
   */
  async rehearse(): Promise<void> {
    await this.options.client.create(this.resource, this.manifestOf("rehearsal", 0), { dryRun: true });
  }

  async createMemcached(name: string, size: number): Promise<void> {
    await this.options.client.create(this.resource, this.manifestOf(name, size));
  }

  async resize(name: string, size: number): Promise<Memcached> {
    return (await this.options.client.mergePatch(this.resource, this.named(name), {
      spec: { size },
    })) as Memcached;
  }

  async deleteMemcached(name: string): Promise<void> {
    await this.options.client.delete(this.resource, this.named(name));
  }

  async memcached(name: string): Promise<Memcached | undefined> {
    return (await this.options.client.get(this.resource, this.named(name))) as Memcached | undefined;
  }

  async deployment(name: string): Promise<Deployment | undefined> {
    return (await this.options.client.get(DEPLOYMENT, this.named(name))) as Deployment | undefined;
  }

  service(name: string): Promise<KubernetesObject | undefined> {
    return this.options.client.get(SERVICE, this.named(name));
  }

  /** Edits a Deployment by hand. */
  async editReplicas(name: string, replicas: number): Promise<void> {
    await this.options.client.mergePatch(DEPLOYMENT, this.named(name), { spec: { replicas } });
  }

  async deleteService(name: string): Promise<void> {
    await this.options.client.delete(SERVICE, this.named(name));
  }

  /** Waits until a Memcached's newest generation is Ready with this number of replicas. */
  untilReady(name: string, size: number): Promise<Memcached> {
    return this.until(`Memcached ${name} is Ready with ${size} replicas`, async () => {
      const object = await this.memcached(name);
      if (!object || object.status?.observedGeneration !== object.metadata.generation) return undefined;
      const isReady = readyOf(object)?.status === "True" && object.status?.readyReplicas === size;
      return isReady ? object : undefined;
    });
  }

  /** Waits until the Ready condition of a Memcached reports this failure. */
  untilFailed(name: string, reason: FailureReason): Promise<Condition> {
    return this.until(`Memcached ${name} is not Ready, for the reason ${reason}`, async () => {
      const object = await this.memcached(name);
      const ready = object && readyOf(object);
      return ready?.reason === reason && ready.observedGeneration === object?.metadata.generation
        ? ready
        : undefined;
    });
  }

  /** Waits until the engine has reported a reconcile of a Memcached that satisfies a condition. */
  untilReported(
    name: string,
    what: string,
    isWanted: (report: ReconcileReport) => boolean,
  ): Promise<ReconcileReport> {
    return this.until(`the engine reports ${what} of Memcached ${name}`, async () =>
      this.options.reports.find((report) => report.name === name && isWanted(report)),
    );
  }

  /** Waits until the engine has reported this failure again, after at least one retry. */
  untilRetried(name: string, reason: FailureReason): Promise<ReconcileReport> {
    const isRetry = ({ attempt, failure }: ReconcileReport) => attempt > 1 && failure?.reason === reason;
    return this.untilReported(name, `a second attempt, which ends with ${reason},`, isRetry);
  }

  /** Waits until an Event about a Memcached has this reason. Returns the note of the Event. */
  untilEvent(name: string, reason: string): Promise<string> {
    const { client, namespace } = this.options;
    return this.until(`an Event with the reason ${reason} about Memcached ${name}`, async () => {
      let note: string | undefined;
      await client.list(EVENT, { namespace }, (events) => {
        for (const event of events) {
          const { name: about } = event["regarding"] as { name: string };
          if (about === name && event["reason"] === reason) note = String(event["note"]);
        }
      });
      return note;
    });
  }

  /** A text that changes whenever the operator has changed a child with this name. */
  async versionOfChildren(name: string): Promise<string> {
    const children = [await this.deployment(name), await this.service(name)];
    // A Deployment's resourceVersion changes with its status, and its generation only with its specification.
    return children
      .map((child) => {
        if (!child) return "missing";
        const { uid, generation, resourceVersion } = child.metadata;
        return `${child.kind} ${uid} at ${generation ?? resourceVersion}`;
      })
      .join(", ");
  }

  /** Every Memcached of the scene. */
  async memcacheds(): Promise<Memcached[]> {
    const { client, namespace } = this.options;
    return (await client.listAll(this.resource, { namespace })) as Memcached[];
  }

  /** Informs the engine that the handler's files have changed, as `npm run dev` does. */
  renewHandler(): void {
    this.options.controller.renewHandler();
  }

  private manifestOf(name: string, size: number): Manifest {
    const { apiVersion, kind } = this.resource;
    return { apiVersion, kind, metadata: this.named(name), spec: { size } };
  }

  private named(name: string): { name: string; namespace: string } {
    return { name, namespace: this.options.namespace };
  }
}

/** The Ready condition. */
export function readyOf(object: Memcached): Condition | undefined {
  return object.status?.conditions?.find(({ type }) => type === "Ready");
}

/** @throws NotHeldError if the observation is not the one that a step expects */
export function expect(held: boolean, expected: string, seen: string): asserts held {
  if (!held) throw new NotHeldError(expected, seen);
}
