import { setTimeout as pause } from "node:timers/promises";
import { ChildIndex } from "./children/childIndex";
import { ChildWriter } from "./children/childWriter";
import { CustomResourceWatch } from "./customResourceWatch";
import type { Operator } from "./definition/definition";
import { HandlerPool } from "./handler/handlerPool";
import type { HandlerTransport } from "./handler/handlerTransport";
import { KubernetesClient } from "./kubernetes/client";
import type { ClusterConnection } from "./kubernetes/connection";
import { discover } from "./kubernetes/discovery";
import { ApiUnreachableError } from "./kubernetes/errors";
import type { ObjectName } from "./kubernetes/objects";
import type { Resource } from "./kubernetes/resource";
import { LeaderElection } from "./leaderElection";
import { Metrics } from "./metrics";
import { fieldManagerOf, leaseNameOf } from "./names";
import { keyOf, nameOf } from "./objectKey";
import { type Outcome, type Priority, ReconcileQueue } from "./queue";
import type { ReconcileReport } from "./reconcileReport";
import { Reconciler } from "./reconciler";
import { EventRecorder } from "./status/eventRecorder";
import { StatusWriter } from "./status/statusWriter";

/** What a {@link Controller} runs, where, and whom it tells. */
export interface ControllerOptions {
  readonly operator: Operator;
  readonly connection: ClusterConnection;
  readonly transport: HandlerTransport;
  /** The namespace of the Lease. */
  readonly namespace: string;
  /** Who this process is: unique among the operator's replicas. */
  readonly identity: string;
  /** How long a lease holds without renewal, in seconds. @default 15 */
  readonly leaseSeconds?: number;
  /** Called after each reconcile. */
  readonly onReport?: (report: ReconcileReport) => void;
  /** Called with what an operator of the operator should know and no object tells: a lost watch, a lost lease. */
  readonly onNotice?: (notice: string) => void;
}

/** How long the end waits for Kubernetes Events to be written: an API server that is away must not hold it up. */
const EVENTS_GRACE_MS = 3_000;
/** A handler that asks to be asked again at once must not make a busy loop. */
const SHORTEST_WAIT_MS = 1_000;

/** What somebody undid is mended at once, or nearly: a deletion of several children makes one reconcile. */
const UNDONE_COALESCING_MS = 20;
/** Reports of a child within this time make one reconcile: a Deployment that comes up writes its status many times. */
const REPORT_COALESCING_MS = 250;

/**
 * The engine of one operator: watches its custom resources and their children, and reconciles while it leads.
 *
 * It watches from the start, so that a standby is warm, but works only as the leader.
 */
export class Controller {
  readonly metrics: Metrics;
  private readonly client: KubernetesClient;
  private readonly pool: HandlerPool;
  private readonly events: EventRecorder;
  private readonly election: LeaderElection;
  private readonly queue: ReconcileQueue;
  private watch: CustomResourceWatch | undefined;
  private index: ChildIndex | undefined;
  private reconciler: Reconciler | undefined;
  private resync: NodeJS.Timeout | undefined;
  /** Whether the election has told that we lead, and not yet that we do not. */
  private inTerm = false;
  private stopping = false;
  /** The runs of a term as leader that has ended: the next term begins when they have. */
  private pausing: Promise<void> = Promise.resolve();

  constructor(private readonly options: ControllerOptions) {
    const { operator } = options;
    this.metrics = new Metrics(operator.name, {
      queueDepth: () => this.queue.depth,
      queueOldestSeconds: () => this.queue.oldestSeconds,
      active: () => this.queue.active,
      handlerProcesses: () => this.pool.size,
      children: () => this.index?.size ?? 0,
      isLeader: () => this.election.isLeading,
    });
    this.client = new KubernetesClient(options.connection, (request) => this.metrics.requested(request));
    this.queue = new ReconcileQueue({
      concurrency: operator.concurrency,
      work: (key, attempt) => this.work(key, attempt),
    });
    this.pool = new HandlerPool({
      transport: options.transport,
      timeoutMs: operator.timeoutSeconds * 1000,
      onFailure: ({ reason }) => this.metrics.handlerFailed(reason),
    });
    this.events = new EventRecorder({
      client: this.client,
      controller: fieldManagerOf(operator.name),
      instance: options.identity,
      onDrop: () => this.metrics.eventDropped(),
    });
    this.election = new LeaderElection({
      client: this.client,
      namespace: options.namespace,
      name: leaseNameOf(operator.name),
      identity: options.identity,
      onLeading: () => void this.lead(),
      onLost: () => this.follow(),
      onError: (error) => this.notice(`lease: ${error.message}`),
      ...(options.leaseSeconds !== undefined && { leaseSeconds: options.leaseSeconds }),
    });
  }

  /**
   * Finds the kinds, lists what is there, and stands for election. Resolves when it watches, leading or not.
   * @throws UnknownKindError where the cluster does not serve a declared kind or the custom resource
   */
  async start(): Promise<void> {
    const { operator } = this.options;
    const { group, version, kind } = operator.customResource;
    const resource = await discover(this.client, `${group}/${version}`, kind);
    const childResources = await Promise.all(
      operator.children.map((child) => discover(this.client, child.apiVersion, child.kind)),
    );
    await this.assemble(resource, childResources);
    this.election.start();
  }

  /** Whether this process leads and reconciles. */
  get isLeading(): boolean {
    return this.election.isLeading;
  }

  /** Reconciles an object soon, as if it had changed. An event from elsewhere is only a hint: this is how it comes in. */
  trigger(name: ObjectName, priority: Priority = "change"): void {
    this.queue.add(keyOf(name), priority);
  }

  /** The handler's files have changed: running work ends with the old ones, and every object sees the new. */
  renewHandler(): void {
    this.pool.renew();
    for (const name of this.watch?.names() ?? []) this.queue.add(keyOf(name), "change");
  }

  /** Ends gracefully: no new work, running work to its end, its Events written, the lease given up. */
  async stop(): Promise<void> {
    this.stopping = true;
    clearInterval(this.resync);
    await this.watch?.stop();
    await this.queue.pause();
    this.queue.clear();
    await this.index?.stop();
    await this.pool.close();
    await Promise.race([this.events.flush(), pause(EVENTS_GRACE_MS, undefined, { ref: false })]);
    await this.election.stop();
    this.client.close();
  }

  private async assemble(resource: Resource, childResources: readonly Resource[]): Promise<void> {
    const { client, pool, events } = this;
    const { operator } = this.options;
    const fieldManager = fieldManagerOf(operator.name);
    const fence = () => this.election.assertLeading();
    const index = new ChildIndex({
      client,
      ownerKind: resource,
      fieldManager,
      kinds: childResources,
      namespaces: operator.namespaces,
      onChange: (owner, undone) =>
        this.queue.addAfter(keyOf(owner), undone ? UNDONE_COALESCING_MS : REPORT_COALESCING_MS, "child"),
      onInterruption: ({ kind }, error) => this.interrupted(kind, error),
    });
    const watch = new CustomResourceWatch({
      client,
      resource,
      namespaces: operator.namespaces,
      onTrigger: (name, priority) => this.queue.add(keyOf(name), priority),
      onGone: (name) => this.queue.forget(keyOf(name)),
      onInterruption: (error) => this.interrupted(resource.kind, error),
    });
    const children = new ChildWriter({ client, index, fieldManager, fence });
    const status = new StatusWriter({ client, resource, fieldManager, fence });
    this.index = index;
    this.watch = watch;
    this.reconciler = new Reconciler({
      operator,
      resource,
      childResources,
      client,
      pool,
      index,
      children,
      status,
      events,
      fence,
      objects: watch,
    });
    // The children first: an object must not be reconciled while its children are unknown.
    await index.start();
    await watch.start();
  }

  private async lead(): Promise<void> {
    this.inTerm = true;
    await this.pausing;
    if (!this.inTerm || this.stopping) return;
    this.notice("leading");
    // Whatever happened before our term is found by looking at every object once.
    for (const name of this.watch?.names() ?? []) this.queue.add(keyOf(name), "routine");
    this.scheduleResync();
    this.queue.start();
  }

  private follow(): void {
    this.inTerm = false;
    this.notice("not leading any more");
    clearInterval(this.resync);
    // The next term begins with a look at every object: nothing of this one needs to wait for its backoff.
    this.pausing = this.queue.pause().then(() => this.queue.clear());
  }

  /** Every object once per `resyncSeconds`, a few at a time rather than all at once. */
  private scheduleResync(): void {
    const slices = 10;
    let slice = 0;
    clearInterval(this.resync);
    this.resync = setInterval(
      () => {
        const names = this.watch?.names() ?? [];
        for (let at = slice; at < names.length; at += slices) {
          const name = names[at];
          if (name) this.queue.add(keyOf(name), "routine");
        }
        slice = (slice + 1) % slices;
      },
      (this.options.operator.resyncSeconds * 1000) / slices,
    );
  }

  private async work(key: string, attempt: number): Promise<Outcome> {
    const report = await this.reconciler?.reconcile(nameOf(key), attempt);
    if (!report) return { done: true };
    this.metrics.reconciled(report);
    try {
      this.options.onReport?.(report);
    } catch (error) {
      // A fault of whoever listens must not cost the queue a place.
      this.notice(`report of ${key}: ${(error as Error).message}`);
    }
    return outcomeOf(report);
  }

  private interrupted(kind: string, error: Error): void {
    this.metrics.watchInterrupted(kind);
    this.notice(`watch of ${kind}: ${error.message}`);
  }

  private notice(text: string): void {
    this.options.onNotice?.(text);
  }
}

/** When the object of a report is due again. */
function outcomeOf({ result, skipped, failure, againAfterMs }: ReconcileReport): Outcome {
  if (failure) {
    const { permanent, retryAfterSeconds, cause } = failure;
    // Not the object's fault: when the API server is back, it must not wait for minutes.
    if (cause instanceof ApiUnreachableError)
      return { done: false, retryAfterMs: 1_000 + Math.random() * 2_000 };
    return {
      done: false,
      permanent,
      ...(retryAfterSeconds !== undefined && {
        retryAfterMs: Math.max(SHORTEST_WAIT_MS, retryAfterSeconds * 1000),
      }),
    };
  }
  // After a pause of this process its lease is renewed, if nobody has taken it: then the object's turn comes again.
  if (skipped === "not the leader") return { done: true, againAfterMs: SHORTEST_WAIT_MS };
  // What was read is older than what is there: the watch may have told us already, or may be about to.
  if (result === "skipped" && skipped === "changed meanwhile") return { done: true, againAfterMs: 0 };
  return {
    done: true,
    ...(againAfterMs !== undefined && { againAfterMs: Math.max(SHORTEST_WAIT_MS, againAfterMs) }),
  };
}
