import { setTimeout as pause } from "node:timers/promises";
import { ChildIndex, type UndoneChild } from "./children/childIndex";
import { ChildWriter } from "./children/childWriter";
import { Leftovers } from "./children/leftovers";
import type { Owner } from "./children/ownership";
import { Contests } from "./contests";
import { CustomResourceWatch } from "./customResourceWatch";
import type { Operator } from "./definition/definition";
import { HandlerPool } from "./handler/handlerPool";
import type { HandlerTransport } from "./handler/handlerTransport";
import { awaitKind } from "./kubernetes/awaitKind";
import { KubernetesClient } from "./kubernetes/client";
import type { ClusterConnection } from "./kubernetes/connection";
import { discover } from "./kubernetes/discovery";
import { ApiUnreachableError } from "./kubernetes/errors";
import { formatName, type ObjectName } from "./kubernetes/objects";
import type { Resource } from "./kubernetes/resource";
import { LeaderElection, NotLeadingError } from "./leaderElection";
import { Lull } from "./lull";
import { Metrics } from "./metrics";
import { fieldManagerOf, leaseNameOf } from "./names";
import { keyOf, nameOf } from "./objectKey";
import { findOperatorKinds } from "./operatorKinds";
import { type Outcome, type Priority, ReconcileQueue } from "./queue";
import type { ReconcileReport } from "./reconcileReport";
import { ReconcileRequests } from "./reconcileRequests";
import { Reconciler } from "./reconciler";
import { EventRecorder } from "./status/eventRecorder";
import { StatusWriter } from "./status/statusWriter";
import { type TrialResult, tryHandler } from "./trial";

/** What a {@link Controller} runs, where, and whom it tells. */
export interface ControllerOptions {
  readonly operator: Operator;
  readonly connection: ClusterConnection;
  readonly transport: HandlerTransport;
  /** The namespace of the Lease. */
  readonly namespace: string;
  /** Who this process is: unique among the operator's replicas. */
  readonly identity: string;
  /** What Kubernetes Events say of who reports, at most 128 characters: the pod's name. @default `identity` */
  readonly instance?: string;
  /** How long a lease holds without renewal, in seconds. @default 15 */
  readonly leaseSeconds?: number;
  /** Wait for kinds that the cluster does not serve yet, instead of failing at once. @default false */
  readonly awaitKinds?: boolean;
  /** Whether a change that the watch tells of begins a run; otherwise a hint has to. @default true */
  readonly heedsOwnWatch?: boolean;
  /** Called when the watch tells of an object that is new or has changed, and when it tells that one is gone. */
  readonly onChange?: (name: ObjectName, resourceVersion: string) => void;
  readonly onGone?: (name: ObjectName) => void;
  /** Names the Workflow that will tell of a run, before its status is written. @default none ever does */
  readonly runName?: (report: ReconcileReport) => string | undefined;
  /** Called after each reconcile. */
  readonly onReport?: (report: ReconcileReport) => void;
  /** Called with what an operator of the operator should know and no object tells: a lost watch, a lost lease. */
  readonly onNotice?: (notice: string) => void;
}

/** How long the end waits for what is still to be written or deleted: an API server that is away must not hold it up. */
const LAST_WRITES_GRACE_MS = 3_000;
/** A handler that asks to be asked again at once must not make a busy loop. */
const SHORTEST_WAIT_MS = 1_000;

/**
 * So many objects may wait before a hint of a further one is refused: names cost memory, and whoever can send hints can
 * make them up.
 */
const MOST_WAITING = 10_000;

/**
 * With so many objects waiting or in work, what only tells of the work goes on slowly; with so many whose children are being
 * written, statuses wait.
 */
const MANY_OBJECTS = 20;

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
  /** When what only tells of the work has its turn. It ends with {@link stop}. */
  readonly lull: Lull;
  private readonly client: KubernetesClient;
  private readonly pool: HandlerPool;
  private readonly events: EventRecorder;
  private readonly election: LeaderElection;
  private readonly queue: ReconcileQueue;
  private watch: CustomResourceWatch | undefined;
  private index: ChildIndex | undefined;
  private leftovers: Leftovers | undefined;
  private reconciler: Reconciler | undefined;
  private childResources: readonly Resource[] | undefined;
  private readonly requests = new ReconcileRequests();
  private readonly contests = new Contests();
  private resync: NodeJS.Timeout | undefined;
  /** Whether the election has told that we lead, and not yet that we do not. */
  private inTerm = false;
  private readonly stopping = new AbortController();
  /** The runs of a term as leader that has ended: the next term begins when they have. */
  private pausing: Promise<void> = Promise.resolve();

  constructor(private readonly options: ControllerOptions) {
    const { operator } = options;
    this.metrics = new Metrics(operator.name, {
      // A standby collects what changes too, for the term that it may get.
      queueDepth: () => (this.isLeading ? this.queue.depth : 0),
      queueOldestSeconds: () => this.queue.oldestSeconds,
      failing: () => this.queue.failing,
      contested: () => this.contests.size,
      active: () => this.queue.active,
      handlerProcesses: () => this.pool.size,
      children: () => this.index?.size ?? 0,
      isLeader: () => this.election.isLeading,
    });
    this.client = new KubernetesClient(options.connection, (request) => this.metrics.requested(request));
    this.queue = new ReconcileQueue({
      concurrency: operator.concurrency,
      work: (key, attempt) => this.work(key, attempt),
      isCrowded: () => (this.reconciler?.applying ?? 0) >= MANY_OBJECTS,
    });
    this.lull = new Lull({ stillMs: () => this.queue.stillMs, isBusy: () => this.isBusy });
    this.pool = new HandlerPool({
      transport: options.transport,
      timeoutMs: operator.timeoutSeconds * 1000,
      onStart: () => this.metrics.handlerStarted(),
      onFailure: ({ reason }) => this.metrics.handlerFailed(reason),
    });
    this.events = new EventRecorder({
      client: this.client,
      controller: fieldManagerOf(operator),
      instance: options.instance ?? options.identity,
      turn: (since) => this.lull.turn(since),
      onDrop: () => this.metrics.eventDropped(),
    });
    this.election = new LeaderElection({
      client: this.client,
      namespace: options.namespace,
      name: leaseNameOf(operator),
      identity: options.identity,
      onLeading: () => void this.lead(),
      onLost: () => this.follow(),
      onError: (error) => this.notice(`lease: ${error.message}`),
      ...(options.leaseSeconds !== undefined && { leaseSeconds: options.leaseSeconds }),
    });
  }

  /**
   * Finds the kinds, lists what is there, and stands for election. Resolves when it watches, leading or not.
   * @throws UnknownKindError where the cluster does not serve a declared kind or the custom resource, unless it is to
   *   wait for them; Error where it was stopped meanwhile
   */
  async start(): Promise<void> {
    const find = (apiVersion: string, kind: string) => this.find(apiVersion, kind);
    const { resource, childResources } = await findOperatorKinds(this.options.operator, find);
    this.stopping.signal.throwIfAborted();
    await this.assemble(resource, childResources);
    this.election.start();
  }

  /** Whether this process leads and reconciles. */
  get isLeading(): boolean {
    return this.election.isLeading;
  }

  /** Whether many objects wait for their reconcile or are in it: a storm, or an API server that is slow. */
  get isBusy(): boolean {
    return this.isLeading && this.queue.depth + this.queue.active >= MANY_OBJECTS;
  }

  /** The identity of the process that leads, as far as this one knows; undefined where none does. */
  get leader(): string | undefined {
    return this.election.holder;
  }

  /** Reconciles an object soon, as if it had changed. */
  trigger(name: ObjectName, priority: Priority = "change"): void {
    this.queue.add(keyOf(name), priority);
  }

  /**
   * An event from elsewhere says that an object may have changed, and the watch has not told of it: the object is read
   * anew and reconciled soon. That it is gone, or has never been, is no failure.
   * @returns whether it was taken; false where too many objects wait already
   */
  hint(name: ObjectName): boolean {
    if (this.queue.depth >= MOST_WAITING && !this.queue.has(keyOf(name))) return false;
    this.watch?.invalidate(name);
    this.trigger(name);
    return true;
  }

  /** Whether our own watch has told of that version of the object, and so has begun whatever run it needs. */
  knows(name: ObjectName, resourceVersion: string | undefined): boolean {
    if (resourceVersion === undefined || this.options.heedsOwnWatch === false) return false;
    return this.watch?.hasTold(name, resourceVersion) ?? false;
  }

  /**
   * Reconciles an object now, before routine work, and resolves with the report of a run that began after the call.
   * @throws NotLeadingError where we do not lead, or lose the lease meanwhile
   */
  async reconcileNow(name: ObjectName): Promise<ReconcileReport> {
    if (!this.isLeading || this.stopping.signal.aborted) throw new NotLeadingError();
    const key = keyOf(name);
    const report = this.requests.ask(key);
    this.watch?.invalidate(name);
    this.queue.add(key, "change");
    return report;
  }

  /**
   * Tries the handler on an example of the custom resource: nothing is read and nothing applied.
   * @throws Error where it is no such object; ReconcileFailure where the handler fails, or its answer would be refused
   */
  async tryHandler(object: unknown): Promise<TrialResult> {
    const { childResources, pool } = this;
    if (!childResources) throw new Error("the kinds of the children are not known yet");
    return tryHandler({ operator: this.options.operator, childResources, pool }, object);
  }

  /** The handler's files have changed: running work ends with the old ones, and every object sees the new. */
  renewHandler(): void {
    this.pool.renew();
    for (const name of this.watch?.names() ?? []) this.queue.add(keyOf(name), "change");
  }

  /**
   * Ends gracefully: no new work, running work to its end, its Events written, the lease given up.
   * @param graceMs how long running work may take. What has not ended then writes nothing more: whoever leads next
   *   does it over. @default for ever
   */
  async stop(graceMs?: number): Promise<void> {
    this.stopping.abort(new Error("stopped before it watched"));
    clearInterval(this.resync);
    await this.watch?.stop();
    const ended = this.queue.pause().then(() => true);
    const late = graceMs === undefined ? ended : pause(graceMs, false, { ref: false });
    if (!(await Promise.race([ended, late]))) await this.election.stop();
    this.queue.clear();
    this.requests.refuse(new NotLeadingError());
    this.lull.end();
    await upTo(LAST_WRITES_GRACE_MS, this.leftovers?.end());
    await this.index?.stop();
    await this.pool.close();
    await upTo(LAST_WRITES_GRACE_MS, this.events.flush());
    await this.election.stop();
    this.client.close();
  }

  private find(apiVersion: string, kind: string): Promise<Resource> {
    if (!this.options.awaitKinds) return discover(this.client, apiVersion, kind);
    const onWait = (reason: Error) => this.notice(`waiting: ${reason.message}`);
    return awaitKind(this.client, apiVersion, kind, { signal: this.stopping.signal, onWait });
  }

  private async assemble(resource: Resource, childResources: readonly Resource[]): Promise<void> {
    const { client, pool, events } = this;
    const { operator } = this.options;
    const fieldManager = fieldManagerOf(operator);
    const fence = () => this.election.assertLeading();
    const index = new ChildIndex({
      client,
      ownerKind: resource,
      fieldManager,
      kinds: childResources,
      namespaces: operator.namespaces,
      onChange: (owner, undone) => {
        if (undone && this.contests.undone(keyOf(owner))) this.tellContest(resource, owner, undone);
        const coalescingMs = undone ? UNDONE_COALESCING_MS : REPORT_COALESCING_MS;
        const delayMs = Math.max(coalescingMs, this.contests.delayMs(keyOf(owner)));
        this.queue.addAfter(keyOf(owner), delayMs, "child");
      },
      onInterruption: ({ kind }, error) => this.interrupted(kind, error),
    });
    const watch = new CustomResourceWatch({
      client,
      resource,
      namespaces: operator.namespaces,
      onTrigger: (name, priority, resourceVersion) => {
        if (priority === "change" && this.options.heedsOwnWatch === false) return;
        this.queue.add(keyOf(name), priority);
        if (priority === "change") this.options.onChange?.(name, resourceVersion);
      },
      onGone: (name, uid) => {
        if (uid !== undefined && this.isLeading) this.leftovers?.add(uid);
        this.queue.forget(keyOf(name));
        // Who waits for a run of it is told that it is gone.
        if (this.requests.has(keyOf(name))) this.queue.add(keyOf(name));
        this.options.onGone?.(name);
      },
      onInterruption: (error) => this.interrupted(resource.kind, error),
    });
    const children = new ChildWriter({ client, index, fieldManager, fence });
    const status = new StatusWriter({ client, resource, fieldManager, fence });
    this.leftovers = new Leftovers({ index, children, turn: (since) => this.lull.turn(since) });
    this.index = index;
    this.watch = watch;
    this.childResources = childResources;
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
      runName: this.options.runName,
      stepAside: () => this.queue.stepAside(),
    });
    // The children first: an object must not be reconciled while its children are unknown.
    await index.start();
    await watch.start();
  }

  private async lead(): Promise<void> {
    this.inTerm = true;
    await this.pausing;
    if (!this.inTerm || this.stopping.signal.aborted) return;
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
    this.pausing = this.queue.pause().then(() => {
      this.queue.clear();
      this.requests.refuse(new NotLeadingError());
    });
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
    const requests = this.requests.take(key);
    const report = await this.reconciler?.reconcile(nameOf(key), attempt);
    if (!report) return { done: true };
    this.metrics.reconciled(report);
    if (report.changes.length > 0) this.contests.changed(key);
    this.requests.answer(key, requests, report);
    try {
      this.options.onReport?.(report);
    } catch (error) {
      // A fault of whoever listens must not cost the queue a place.
      this.notice(`report of ${key}: ${(error as Error).message}`);
    }
    return outcomeOf(report);
  }

  /** Says on the object that somebody else wants its child otherwise, and who. */
  private tellContest({ apiVersion, kind }: Resource, owner: Owner, child: UndoneChild): void {
    const { uid, ...name } = owner;
    const who = child.by === undefined ? "deleted" : `changed by ${child.by}`;
    const note = `${child.kind} ${formatName(child)} is ${who} each time that it is applied: it is mended less often until that ends`;
    const object = { apiVersion, kind, metadata: { ...name, uid } };
    this.events.record(object, { type: "Warning", reason: "ChildContested", note, action: "Apply" });
    this.notice(`${formatName(owner)}: ${note}`);
  }

  private interrupted(kind: string, error: Error): void {
    this.metrics.watchInterrupted(kind);
    this.notice(`watch of ${kind}: ${error.message}`);
  }

  private notice(text: string): void {
    this.options.onNotice?.(text);
  }
}

/** Waits for something, but no longer than so many milliseconds. */
async function upTo(ms: number, ending: Promise<void> | undefined): Promise<void> {
  await Promise.race([ending, pause(ms, undefined, { ref: false })]);
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
