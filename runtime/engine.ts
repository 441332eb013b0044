import { setTimeout as pause } from "node:timers/promises";
import type { DriftedChild } from "./children/childStore";
import { ChildWriter, ownManagers } from "./children/childWriter";
import { Orphans } from "./children/orphans";
import type { Owner } from "./children/ownership";
import type { Operator } from "./definition/definition";
import { HandlerPool } from "./handler/handlerPool";
import type { HandlerTransport } from "./handler/handlerTransport";
import { awaitKind } from "./kubernetes/awaitKind";
import { KubernetesClient } from "./kubernetes/client";
import type { ClusterConnection } from "./kubernetes/connection";
import { discover } from "./kubernetes/discovery";
import { formatName, type ObjectName } from "./kubernetes/objects";
import type { Resource } from "./kubernetes/resource";
import { Leadership } from "./leadership/leadership";
import { leaseApi } from "./leadership/lease";
import { Metrics } from "./metrics";
import { fieldManagerOf, formerManagersOf, leaseNameOf } from "./names";
import { keyOf, nameOf } from "./objectKey";
import { EventWriter } from "./outbox/eventWriter";
import { messageAbout } from "./outbox/message";
import { Outbox } from "./outbox/outbox";
import type { Recorder } from "./outbox/recorder";
import { Teller } from "./outbox/teller";
import type { Outcome } from "./reconcile/outcome";
import { Reconcile } from "./reconcile/reconcile";
import type { ReconcileReport } from "./reconcile/report";
import { ReconcileRequests } from "./reconcile/requests";
import { type TrialResult, tryHandler } from "./reconcile/trial";
import { Statuses } from "./status/statuses";
import { StatusWriter } from "./status/statusWriter";
import { NotLeadingError, type Term } from "./term";
import type { GoneObject, ObjectChange } from "./watch/customResources";
import { Watches } from "./watches";
import { Contests } from "./work/contests";
import { Pace } from "./work/pace";
import { Resync } from "./work/resync";
import { Runner } from "./work/runner";
import { type Priority, Schedule, type WorkResult } from "./work/schedule";

/** What an {@link Engine} runs, where, and who is called. */
export interface EngineOptions {
  readonly operator: Operator;
  readonly connection: ClusterConnection;
  readonly transport: HandlerTransport;
  /** The namespace of the Lease. */
  readonly namespace: string;
  /** Who this process is: unique among the operator's replicas. */
  readonly identity: string;
  /** The reporting instance in Kubernetes Events, at most 128 characters: the pod's name. @default `identity` */
  readonly instance?: string;
  /** How long a lease holds without renewal, in seconds. @default 15 */
  readonly leaseSeconds?: number;
  /** Wait for kinds that the cluster does not serve yet, instead of failing at once. @default false */
  readonly awaitKinds?: boolean;
  /** Whether a change that the watch sees begins a run. If not, only a hint does. @default true */
  readonly heedsOwnWatch?: boolean;
  /** Called when the watch sees a change that the event path announces too, and when it sees that an object is gone. */
  readonly onChange?: (name: ObjectName, resourceVersion: string) => void;
  readonly onGone?: (name: ObjectName) => void;
  /** Records runs as Workflows. @default none is recorded */
  readonly recorder?: Recorder;
  /** Called after each reconcile. `run` is the name of the Workflow that will record it, if one will. */
  readonly onReport?: (report: ReconcileReport, run?: string) => void;
  /** Called with what whoever runs the operator should know and no object says: a lost watch, a lost lease. */
  readonly onNotice?: (notice: string) => void;
}

/** What exists once the custom resource's kind is known. */
interface Parts {
  readonly resource: Resource;
  readonly watches: Watches;
  readonly reconcile: Reconcile;
  readonly outbox: Outbox;
  readonly orphans: Orphans;
}

/** The last writes may take this long when the engine stops. An API server that is away must not hold up the stop. */
const LAST_WRITES_GRACE_MS = 3_000;
/** If work in progress takes longer than this when the engine stops, another process leads while it goes on. */
const HAND_OVER_AFTER_MS = 2_000;
/**
 * If this many objects wait, a hint for another one is refused. Names cost memory, and whoever can send hints can invent
 * names.
 */
const MOST_WAITING = 10_000;
/** Drift is corrected after this short delay, so that the deletion of several children makes one reconcile. */
const DRIFT_COALESCING_MS = 20;
/** Children's reports make one reconcile a second: a Deployment that comes up writes its status many times. */
const REPORT_PACE = { burst: 1, refillMs: 1_000 };
const REPORT_COALESCING_MS = 100;
/** A new leader waits this long for a fresh list of the custom resources. */
const REFRESH_PATIENCE_MS = 10_000;

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
  private readonly leadership: Leadership;
  private readonly schedule: Schedule;
  private readonly runner: Runner;
  private readonly resync: Resync;
  private readonly requests = new ReconcileRequests();
  private readonly contests = new Contests();
  private readonly reportPace = new Pace(REPORT_PACE);
  private readonly stopping = new AbortController();
  private parts: Parts | undefined;
  private term: Term | undefined;
  /** Objects that another process still works on. */
  private blocked: ReadonlySet<string> = new Set();

  constructor(private readonly options: EngineOptions) {
    const { operator, connection, transport } = options;
    this.metrics = this.newMetrics();
    this.client = new KubernetesClient(connection, (request) => this.metrics.requested(request));
    this.pool = new HandlerPool({
      transport,
      timeoutMs: operator.timeoutSeconds * 1000,
      onStart: () => this.metrics.handlerStarted(),
      onFailure: ({ reason }) => this.metrics.handlerFailed(reason),
      onLateAnswer: () => this.metrics.answeredLate(),
    });
    const resyncMs = operator.resyncSeconds * 1000;
    this.schedule = new Schedule({ longestWaitMs: resyncMs });
    this.runner = new Runner({
      schedule: this.schedule,
      concurrency: operator.concurrency,
      work: (key, attempt) => this.work(key, attempt),
    });
    this.resync = new Resync({
      periodMs: resyncMs,
      relist: async () => this.parts?.watches.relist(),
      keys: () => this.names().map(keyOf),
      add: (key, afterMs) => this.add(key, "routine", afterMs),
    });
    this.leadership = this.newLeadership();
  }

  /**
   * Finds the kinds, begins to watch and stands for election. Resolves when everything that can be listed was listed.
   * @throws UnknownKindError if the cluster does not serve a declared kind, unless it is to wait for it; Error if it was
   *   stopped meanwhile
   */
  async start(): Promise<void> {
    const { operator, awaitKinds = false } = this.options;
    const { group, version, kind } = operator.customResource;
    const { signal } = this.stopping;
    const apiVersion = `${group}/${version}`;
    const onWait = (reason: Error) => this.notice(`waiting: ${reason.message}`);
    const resource = awaitKinds
      ? await awaitKind(this.client, apiVersion, kind, { signal, onWait })
      : await discover(this.client, apiVersion, kind);
    signal.throwIfAborted();
    this.parts = this.newParts(resource);
    await this.parts.watches.start(awaitKinds);
    this.leadership.start();
  }

  /** Whether this process leads and reconciles. */
  get isLeading(): boolean {
    return this.leadership.term !== undefined;
  }

  /** The identity of the process that leads, as far as this one knows. Undefined if none does. */
  get leader(): string | undefined {
    return this.leadership.holder;
  }

  /** Reconciles an object soon, as if it had changed. */
  trigger(name: ObjectName, priority: Priority = "change"): void {
    this.add(keyOf(name), priority);
  }

  /**
   * An event from elsewhere says that an object may have changed, and the watch has not reported that. The object is read
   * from the API server and reconciled soon. It is no failure if the object is gone or never existed.
   * @returns whether the hint was accepted. False if too many objects wait already
   */
  hint(name: ObjectName): boolean {
    const key = keyOf(name);
    if (this.schedule.depth >= MOST_WAITING && !this.schedule.has(key)) return false;
    this.parts?.watches.objects.invalidate(name);
    this.add(key, "change");
    return true;
  }

  /** Whether our own watch has reported that version of the object, and so has begun the run that it needs. */
  knows(name: ObjectName, resourceVersion: string | undefined): boolean {
    if (resourceVersion === undefined || this.options.heedsOwnWatch === false) return false;
    return this.parts?.watches.objects.hasTold(name, resourceVersion) ?? false;
  }

  /**
   * Reconciles an object now, before routine work, and resolves with the report of a run that began after the call.
   * @throws NotLeadingError if we do not lead, or lose the lease meanwhile
   */
  async reconcileNow(name: ObjectName): Promise<ReconcileReport> {
    if (!this.isLeading || this.stopping.signal.aborted) throw new NotLeadingError();
    const report = this.requests.ask(keyOf(name));
    this.parts?.watches.objects.invalidate(name);
    this.add(keyOf(name), "change");
    return report;
  }

  /**
   * Tries the handler on an example of the custom resource: nothing is read and nothing applied.
   * @throws Error if it is no such object; ReconcileFailure if the handler fails, or its answer would be refused
   */
  async tryHandler(object: unknown): Promise<TrialResult> {
    const { operator } = this.options;
    if (!this.parts) throw new Error("the kinds of the children are not known yet");
    return tryHandler(
      { operator, childResources: this.parts.watches.childResources, pool: this.pool },
      object,
    );
  }

  /** The handler's files have changed: work in progress ends with the old ones, and every object sees the new. */
  renewHandler(): void {
    this.pool.renew();
    for (const name of this.names()) this.add(keyOf(name), "change");
  }

  /**
   * Ends gracefully: begins no new work, ends the work in progress, and writes what is still to be reported. If that work
   * takes long, another process leads meanwhile. It leaves alone only the objects that are still worked on here.
   * @param graceMs how long work in progress may take, in milliseconds. What has not ended by then writes nothing more,
   *   and whoever leads next does it again. @default for ever
   */
  async stop(graceMs?: number): Promise<void> {
    this.stopping.abort(new Error("stopped before it watched"));
    this.resync.stop();
    this.runner.pause();
    this.requests.refuse(new NotLeadingError());
    const { parts, runner } = this;
    const idle = runner.idle();
    const isQuick = await within(HAND_OVER_AFTER_MS, idle);
    await within(LAST_WRITES_GRACE_MS, parts?.orphans.end());
    await parts?.outbox.flush(LAST_WRITES_GRACE_MS);
    if (!isQuick) {
      const unfinished = () => [...runner.keys, ...(parts?.outbox.names().map(keyOf) ?? [])];
      const ended = idle.then(() => parts?.outbox.flush(LAST_WRITES_GRACE_MS));
      await within(graceMs, this.leadership.handOver({ unfinished, ended }));
    }
    await this.leadership.stop();
    parts?.outbox.discard();
    parts?.orphans.discard();
    this.schedule.clear();
    await parts?.watches.stop();
    await this.pool.close();
    this.client.close();
  }

  private newParts(resource: Resource): Parts {
    const { client, pool, metrics } = this;
    const { operator, recorder } = this.options;
    const fieldManager = fieldManagerOf(operator);
    const formerManagers = formerManagersOf(operator);
    const watches = new Watches({
      client,
      operator,
      resource,
      fieldManager,
      managers: ownManagers(fieldManager, formerManagers),
      onChange: (change) => this.objectChanged(change),
      onGone: (name, gone) => this.objectGone(name, gone),
      onChild: (owner, drifted) => this.childChanged(owner, drifted),
      onSynced: () => this.addAll(),
      onInterruption: (kind, error) => this.interrupted(kind, error),
    });
    const { objects, children, childResources } = watches;
    const writer = new ChildWriter({
      store: children,
      ownerKind: resource,
      fieldManager,
      formerManagers,
      isNamespaced: operator.namespaces !== "all",
    });
    const statuses = new Statuses({
      writer: new StatusWriter({ resource, fieldManager }),
      read: (name) => objects.look(name),
      learn: (object) => objects.learn(object),
    });
    const reconcile = new Reconcile({
      operator,
      resource,
      childResources,
      pool,
      objects,
      children,
      writer,
      statuses,
      isRecorded: (report) => recorder?.isRecorded(report) ?? false,
      whyNot: (object, kinds, isElsewhere) => watches.whyNot(object, kinds, isElsewhere),
    });
    const events = new EventWriter({
      controller: fieldManager,
      instance: this.options.instance ?? this.options.identity,
      onDrop: () => metrics.eventDropped(),
    });
    const teller = new Teller({
      statuses,
      events,
      ...(recorder && { record: recorder.write }),
    });
    const outbox = new Outbox({
      teller,
      join: recorder?.join ?? ((_, later) => later),
      onDrop: (what, reason) => (what === "event" ? metrics.eventDropped() : recorder?.drop(reason)),
    });
    if (recorder) metrics.observeRecording(recorder, outbox);
    return { resource, watches, reconcile, outbox, orphans: new Orphans({ store: children, writer }) };
  }

  private newLeadership(): Leadership {
    const { operator, namespace, identity, leaseSeconds } = this.options;
    return new Leadership({
      lease: leaseApi(this.client, namespace, leaseNameOf(operator)),
      identity,
      onLeading: (term) => void this.lead(term),
      onLost: () => this.follow(),
      onBlockedChange: () => this.block(),
      onError: (error) => this.notice(`lease: ${error.message}`),
      ...(leaseSeconds !== undefined && { leaseSeconds }),
    });
  }

  private newMetrics(): Metrics {
    return new Metrics(this.options.operator.name, {
      // A standby collects changes too, for the term that it may get.
      queueDepth: () => (this.isLeading ? this.schedule.depth : 0),
      queueOldestSeconds: () => {
        const since = this.isLeading ? this.schedule.oldestSince : undefined;
        return since === undefined ? 0 : (performance.now() - since) / 1000;
      },
      failing: () => (this.isLeading ? this.schedule.failing : 0),
      contested: () => this.contests.size,
      active: () => this.runner.keys.size,
      handlerProcesses: () => this.pool.size,
      children: () => this.parts?.watches.children.size ?? 0,
      isLeader: () => this.isLeading,
    });
  }

  private async lead(term: Term): Promise<void> {
    this.term = term;
    const { parts } = this;
    if (!parts || this.stopping.signal.aborted) return;
    this.notice("leading");
    // A handler's status fields are its memory. No handler may be asked with fields from before the last term.
    await within(REFRESH_PATIENCE_MS, parts.watches.refreshObjects());
    if (this.term !== term || this.stopping.signal.aborted) return;
    parts.outbox.open((name) => this.client.with({ class: "tell", fence: () => term.assert(keyOf(name)) }));
    parts.orphans.open(this.client.with({ class: "tell", fence: () => term.assert() }));
    this.block();
    this.schedule.restartWaiting();
    // A look at every object finds whatever happened before our term.
    this.addAll();
    this.resync.start();
    this.runner.start();
  }

  private follow(): void {
    this.term = undefined;
    this.notice("not leading any more");
    this.resync.stop();
    this.runner.pause();
    // The next term begins with a look at every object, so nothing needs to wait for a backoff of this term.
    this.schedule.clear();
    this.parts?.outbox.discard();
    this.parts?.orphans.discard();
    this.requests.refuse(new NotLeadingError());
  }

  /** Another process still works on some objects. They are read from the API server when its work has ended. */
  private block(): void {
    const blocked = this.leadership.blockedKeys;
    for (const key of this.blocked) if (!blocked.has(key)) this.unblock(key);
    this.blocked = new Set(blocked);
    this.schedule.block(this.blocked);
    this.runner.wake();
  }

  private unblock(key: string): void {
    this.parts?.watches.objects.invalidate(nameOf(key));
    this.add(key, "change");
  }

  private async work(key: string, attempt: number): Promise<WorkResult> {
    const requests = this.requests.take(key);
    const { parts, term, client } = this;
    if (!parts || !term) return { kind: "done" };
    const mandate = { client, assert: () => term.assert(key) };
    const outcome = await parts.reconcile.reconcile(nameOf(key), attempt, mandate);
    const { report } = outcome;
    this.metrics.reconciled(report);
    if (report.changes.length > 0) this.contests.changed(key);
    const run = this.tell(parts, outcome);
    this.requests.answer(key, requests, report);
    try {
      this.options.onReport?.(report, run);
    } catch (error) {
      // A fault of the listener must not end the work.
      this.notice(`report of ${key}: ${(error as Error).message}`);
    }
    return outcome.again;
  }

  /** @returns the name of the Workflow that will record the run */
  private tell({ outbox, resource }: Parts, outcome: Outcome): string | undefined {
    const message = messageAbout(outcome, resource, this.options.recorder?.recordOf(outcome.report));
    return message && outbox.put(outcome.report, message);
  }

  private add(key: string, priority: Priority, afterMs = 0, endsBackoff?: boolean): void {
    this.schedule.add(key, { priority, afterMs, ...(endsBackoff !== undefined && { endsBackoff }) });
    this.runner.wake();
  }

  private names(): ObjectName[] {
    return this.parts?.watches.objects.names() ?? [];
  }

  private addAll(): void {
    for (const name of this.names()) this.add(keyOf(name), "routine");
  }

  private objectChanged({ name, resourceVersion, isSettled, isAnnounced }: ObjectChange): void {
    if (isSettled) return this.add(keyOf(name), "routine");
    if (this.options.heedsOwnWatch === false) return;
    this.add(keyOf(name), "change");
    if (isAnnounced) this.options.onChange?.(name, resourceVersion);
  }

  private objectGone(name: ObjectName, { uid, isDeleted }: GoneObject): void {
    if (isDeleted) this.parts?.orphans.add(uid);
    this.parts?.outbox.forget(uid);
    this.schedule.forget(keyOf(name));
    // A run tells whoever waits for one that the object is gone.
    if (this.requests.has(keyOf(name))) this.add(keyOf(name), "change");
    this.options.onGone?.(name);
  }

  private childChanged(owner: Owner, drifted: DriftedChild | undefined): void {
    const key = keyOf(owner);
    if (!drifted) {
      this.add(key, "child", Math.max(REPORT_COALESCING_MS, this.reportPace.take(key)), false);
      return;
    }
    if (this.contests.drifted(key)) this.tellContest(owner, drifted);
    this.add(key, "child", Math.max(DRIFT_COALESCING_MS, this.contests.delayMs(key)), true);
  }

  /** Reports on the object that somebody else changes its child back, and who. */
  private tellContest(owner: Owner, child: DriftedChild): void {
    const { parts } = this;
    if (!parts) return;
    const { apiVersion, kind } = parts.resource;
    const { uid, ...name } = owner;
    const who = child.by === undefined ? "deleted" : `changed by ${child.by}`;
    const note = `${child.kind} ${formatName(child)} is ${who} each time that it is applied: it is corrected less often until that ends`;
    parts.outbox.put(name, {
      regarding: { apiVersion, kind, metadata: { ...name, uid } },
      verdict: undefined,
      records: [],
      events: [{ type: "Warning", reason: "ChildContested", note, action: "Apply" }],
    });
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

/** Waits for something, at most for this many milliseconds. @returns whether it has ended */
async function within(ms: number | undefined, ending: Promise<unknown> | undefined): Promise<boolean> {
  const ended = Promise.resolve(ending).then(() => true);
  return ms === undefined ? ended : Promise.race([ended, pause(ms, false, { ref: false })]);
}
