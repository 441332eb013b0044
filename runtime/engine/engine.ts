import { UNSERVED_REMEDY } from "../failure";
import type { DueSchedule } from "../handler/contract";
import { HandlerPool } from "../handler/handlerPool";
import { awaitKind } from "../kubernetes/awaitKind";
import { KubernetesClient } from "../kubernetes/client";
import { isApiError } from "../kubernetes/errors";
import { apiVersionOf, keyOf, type ObjectName } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { leaseApi } from "../leadership/lease";
import { NotLeadingError } from "../leadership/term";
import { leaseNameOf } from "../names";
import type { ReconcileReport } from "../reconcile/report";
import { ReconcileRequests } from "../reconcile/requests";
import type { TrialResult } from "../reconcile/trial";
import { Alarms } from "../work/alarms";
import { Arrivals } from "../work/arrivals";
import { Resync } from "../work/resync";
import { Triggers } from "../work/triggers";
import { Workers } from "../work/workers";
import { type KeyState, WorkQueue } from "../work/workQueue";
import type { EngineOptions } from "./engineOptions";
import { Leading } from "./leading";
import { Metrics } from "./metrics";
import { ObjectWork } from "./objectWork";
import { newParts, type Parts } from "./parts";
import { Wakeups } from "./wakeups";

/** An object of an operator, and the state of the work on it. */
export interface ObjectState extends ObjectName, KeyState {
  /** Undefined if the object is gone and only its remains are known. */
  readonly uid: string | undefined;
}

/**
 * For each handler that may be asked at once, at most this many objects may be between the handler's answer and the end of their
 * writes. Their answers are held in memory.
 */
const AT_WORK_FOR_EACH_HANDLER = 16;

/**
 * How often a change of an object that we do not own may lead to a run. Custom resources change when somebody wants something.
 * The status of a Deployment changes many times in a roll-out, and other kinds change for ever.
 */
const RATE_OF_OTHERS = { burst: 5, refillMs: 2_000 };

/**
 * The engine of one operator: watches its custom resources and their children, and reconciles while it leads. It watches
 * from the start, so that a standby is warm.
 *
 * This file puts the parts together. Each part's guarantees are in its own module.
 */
export class Engine {
  readonly metrics: Metrics;
  private readonly client: KubernetesClient;
  private readonly pool: HandlerPool;
  private readonly queue: WorkQueue;
  private readonly workers: Workers;
  private readonly triggers: Triggers;
  private readonly resync: Resync;
  private readonly wakeups: Wakeups;
  private readonly work: ObjectWork;
  private readonly requests = new ReconcileRequests();
  /** When schedules of objects are due. */
  private readonly alarms: Alarms;
  private readonly stopping = new AbortController();
  private readonly notice = (text: string): void => this.options.onNotice?.(text);
  /** Undefined until the custom resource's kind is known. */
  private parts: Parts | undefined;
  private leading: Leading | undefined;

  constructor(private readonly options: EngineOptions) {
    const { operator, connection, transport } = options;
    this.metrics = this.newMetrics();
    if (options.traces) this.metrics.observeTraces(options.traces.figures);
    this.client = new KubernetesClient(connection, (request) => this.metrics.requested(request));
    this.pool = new HandlerPool({
      transport,
      timeoutMs: options.timeoutMs ?? operator.timeoutSeconds * 1000,
      most: operator.concurrency,
      onStart: () => this.metrics.handlerStarted(),
      onFailure: ({ reason }) => this.metrics.handlerFailed(reason),
      onLateAnswer: () => this.metrics.answeredLate(),
    });
    const resyncMs = operator.resyncSeconds * 1000;
    this.queue = new WorkQueue({
      longestWaitMs: resyncMs,
      ...(operator.watch && { rateLimit: RATE_OF_OTHERS }),
    });
    this.workers = new Workers({
      queue: this.queue,
      concurrency: operator.concurrency,
      mostAtWork: operator.concurrency * AT_WORK_FOR_EACH_HANDLER,
      work: (key, attempt, leave) => this.work.do(key, attempt, leave),
    });
    this.triggers = new Triggers({ queue: this.queue, wake: () => this.workers.wake() });
    this.alarms = new Alarms({
      // A schedule that is due waits for no backoff. A new term begins with a look at every object.
      onDue: (key) => this.isLeading && this.triggers.add(key, "routine"),
    });
    const { client, queue, triggers, requests, alarms, metrics } = this;
    const shared = {
      ...options,
      queue,
      triggers,
      arrivals: new Arrivals(),
      requests,
      alarms,
      parts: () => this.knownParts(),
      isActive: () => this.isLeading,
      notice: this.notice,
    };
    this.wakeups = new Wakeups(shared);
    this.work = new ObjectWork({
      ...shared,
      client,
      metrics,
      term: () => this.leading?.term,
      stopping: this.stopping.signal,
    });
    this.resync = new Resync({
      periodMs: resyncMs,
      relist: () => this.wakeups.relist(),
      keys: () => this.wakeups.names().map(keyOf),
      add: (key, afterMs) => this.triggers.add(key, "routine", afterMs),
    });
  }

  /**
   * Waits until the cluster serves the objects' kind, begins to watch and stands for election. Resolves when everything that
   * can be listed was listed. Kinds of children that the cluster does not serve yet are awaited beside the work.
   * @throws Error if it was stopped meanwhile
   */
  async start(): Promise<void> {
    const { customResource } = this.options.operator;
    const { signal } = this.stopping;
    const onWait = (reason: Error) => this.notice(`waiting: ${reason.message}`);
    const apiVersion = apiVersionOf(customResource);
    const resource = await awaitKind(this.client, apiVersion, customResource.kind, { signal, onWait });
    signal.throwIfAborted();
    this.parts = this.newParts(resource);
    this.leading = this.newLeading(this.parts);
    await this.parts.watches.start();
    this.leading.start();
  }

  /**
   * Ends gracefully: begins no new work, ends the work in progress, and writes the reports that still wait. If the work in
   * progress takes long, another process leads meanwhile. The new leader leaves alone only the objects that are still worked on
   * here.
   * @param graceMs how long work in progress may take, in milliseconds. Handlers that have not answered by then are killed. Their
   *   work writes nothing more, and the next leader does it again. @default for ever
   */
  async stop(graceMs?: number): Promise<void> {
    this.stopping.abort(new Error("stopped before it watched"));
    await this.leading?.stop(graceMs);
    this.queue.clear();
    this.alarms.clear();
    await Promise.all([this.parts?.watches.stop(), this.pool.close()]);
    this.client.close();
  }

  /** Whether this process leads and reconciles. */
  get isLeading(): boolean {
    return this.leading?.isLeading ?? false;
  }

  /** The identity of the process that leads, as far as this one knows. Undefined if none does. */
  get leader(): string | undefined {
    return this.leading?.leader;
  }

  /** Every object that is known now, for people to look at. */
  objects(): ObjectState[] {
    const { watches } = this.parts ?? {};
    return (watches?.names() ?? []).map((name) => ({
      ...name,
      uid: watches?.objects.uidOf(name),
      ...this.alarms.withAlarm(keyOf(name), this.queue.stateOf(keyOf(name))),
    }));
  }

  /**
   * An event from elsewhere says that an object may have changed, and the watch has not reported that. The object is read from
   * the API server and reconciled soon. If the object is gone or never existed, this is not a failure.
   * @returns whether the hint was accepted. False if too many objects wait already
   * @throws Error if the objects' kind is not known yet
   */
  hint(name: ObjectName): boolean {
    const isAccepted = this.triggers.accepts(keyOf(name));
    if (isAccepted) this.wakeups.reread(keyOf(name), "hint");
    return isAccepted;
  }

  /** Whether our own watch has reported that version of the object. If so, the run that the version needs has begun. */
  knows(name: ObjectName, resourceVersion: string | undefined): boolean {
    if (resourceVersion === undefined) return false;
    return this.parts?.watches.objects.hasReported(name, resourceVersion) ?? false;
  }

  /**
   * Reconciles an object now, before routine work, and resolves with the report of a run that began after the call.
   * @param due a schedule that should be due in that run
   * @throws NotLeadingError if we do not lead, or lose the lease meanwhile
   */
  async reconcileNow(name: ObjectName, due?: DueSchedule): Promise<ReconcileReport> {
    if (!this.isLeading || this.stopping.signal.aborted) throw new NotLeadingError();
    const report = this.requests.ask(keyOf(name), due);
    this.wakeups.reread(keyOf(name), "request");
    return report;
  }

  /**
   * Tries the handler on an example of the custom resource. Nothing is read and nothing is applied. The trial takes one of the
   * operator's `concurrency` handler processes.
   * @param used examples of the objects that it uses
   * @throws Error if the example is not such an object; ReconcileFailure if the handler fails, or its answer would be refused
   */
  async tryHandler(object: unknown, used: unknown = {}): Promise<TrialResult> {
    return this.knownParts().trials.run(object, used);
  }

  /** A text of a handler that is in no report, without the values of the Secrets that handlers were given. */
  masked(text: string): string {
    return this.parts?.reconciler.masked(text) ?? text;
  }

  /**
   * The handler's files have changed. Work in progress ends with the old files, and every object is reconciled with the new ones.
   */
  renewHandler(): void {
    this.pool.renew();
    for (const name of this.parts?.watches.names() ?? []) this.triggers.add(keyOf(name), "change");
  }

  private knownParts(): Parts {
    if (!this.parts)
      throw new Error(`the kind ${this.options.operator.customResource.kind} is not known yet`);
    return this.parts;
  }

  private newParts(resource: Resource): Parts {
    const { client, pool, metrics, wakeups } = this;
    const { operator, namespace, recorder, usedPollMs, identity, instance = identity } = this.options;
    return newParts({
      resource,
      client,
      pool,
      metrics,
      operator,
      namespace,
      recorder,
      instance,
      usedPollMs,
      listener: wakeups,
      isActive: () => this.isLeading,
      onInterruption: (kind, error) => this.interrupted(kind, error),
      notice: this.notice,
    });
  }

  private newLeading({ watches, outbox, orphans }: Parts): Leading {
    const { client, queue, workers, pool: handlers, resync, requests, wakeups, notice } = this;
    const { operator, namespace, identity, leaseSeconds } = this.options;
    return new Leading({
      client,
      queue,
      workers,
      handlers,
      resync,
      requests,
      wakeups,
      watches,
      outbox,
      orphans,
      lease: leaseApi(client, namespace, leaseNameOf(operator)),
      identity,
      notice,
      leaseSeconds,
    });
  }

  private newMetrics(): Metrics {
    return new Metrics(this.options.operator.name, {
      // A standby collects changes too, for the term that it may get.
      queueDepth: () => (this.isLeading ? this.queue.depth : 0),
      queueOldestSeconds: () => (this.isLeading ? this.queue.oldestMs / 1000 : 0),
      failing: () => (this.isLeading ? this.queue.failing : 0),
      contested: () => this.triggers.contested,
      active: () => this.workers.keys.size,
      handlerProcesses: () => this.pool.size,
      children: () => this.parts?.watches.children.size ?? 0,
      isLeader: () => this.isLeading,
    });
  }

  private interrupted(kind: string, error: Error): void {
    this.metrics.watchInterrupted(kind);
    // If any other kind is not served, the objects that need it say what to do.
    const isOwn = kind === this.options.operator.customResource.kind;
    const remedy = isOwn && isApiError(error, 404) ? `. ${UNSERVED_REMEDY}` : "";
    this.notice(`watch of ${kind}: ${error.message}${remedy}`);
  }
}
