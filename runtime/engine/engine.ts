// One operator, from start to stop. Begin here.
import { UNSERVED_REMEDY } from "../base/failure";
import { apiVersionOf, keyOf, type ObjectName } from "../base/objects";
import type { DueSchedule } from "../handler/contract";
import { HandlerPool } from "../handler/handlerPool";
import { KubernetesClient } from "../kubernetes/client";
import { awaitKind } from "../kubernetes/discovery";
import { isApiError } from "../kubernetes/errors";
import { NotLeadingError } from "../leadership/term";
import type { ReconcileReport } from "../reconcile/report";
import type { TrialResult } from "../reconcile/trial";
import type { KeyState } from "../when/workQueue";
import { compose, type Parts } from "./compose";
import type { EngineOptions } from "./engineOptions";
import { Metrics } from "./metrics";

/** An object of an operator, and the state of the work on it. */
export interface ObjectState extends ObjectName, KeyState {
  /** Undefined if the object is gone and only its remains are known. */
  readonly uid: string | undefined;
}

/**
 * The engine of one operator: watches its custom resources and their children, and reconciles while it leads. It watches
 * from the start, so that a standby is warm.
 *
 * This class begins and ends the parts, which `compose` puts together. Each part's guarantees are in its own module.
 */
export class Engine {
  readonly metrics: Metrics;
  private readonly client: KubernetesClient;
  /** Undefined if runs in pods ask the handler. */
  private readonly pool: HandlerPool | undefined;
  private readonly stopping = new AbortController();
  private readonly notice = (text: string): void => this.options.onNotice?.(text);
  /** Undefined until the custom resource's kind is known. */
  private parts: Parts | undefined;

  constructor(private readonly options: EngineOptions) {
    const { operator, connection, transport } = options;
    this.metrics = this.newMetrics();
    if (options.traces) this.metrics.observeTraces(options.traces);
    this.client = new KubernetesClient(connection, ({ method, code }) =>
      this.metrics.requests.inc({ method, code: String(code) }),
    );
    this.pool =
      transport &&
      new HandlerPool({
        transport,
        isFunction: "function" in operator.handler,
        timeoutMs: options.timeoutMs ?? operator.timeoutSeconds * 1000,
        most: operator.concurrency,
        onStart: () => this.metrics.handlerStarts.inc(),
        onFailure: ({ reason }) => this.metrics.handlerFailures.inc({ reason }),
        onLateAnswer: () => this.metrics.lateAnswers.inc(),
      });
  }

  /**
   * Waits until the cluster serves the objects' kind, begins to watch and stands for election. Resolves when everything that
   * can be listed was listed. Kinds of children that the cluster does not serve yet are awaited in the background.
   * @throws Error if it was stopped before that
   */
  async start(): Promise<void> {
    const { customResource } = this.options.operator;
    const { signal } = this.stopping;
    const onWait = (reason: Error) => this.notice(`waiting: ${reason.message}`);
    const apiVersion = apiVersionOf(customResource);
    const resource = await awaitKind(this.client, apiVersion, customResource.kind, { signal, onWait });
    signal.throwIfAborted();
    this.parts = compose(this.options, resource, this.client, this.pool, this.metrics, this.interrupted);
    await Promise.all([this.parts.watches.startWatching(), this.parts.dispatcher?.runs.startWatching()]);
    this.parts.leading.start();
  }

  /**
   * Ends gracefully: begins no new work, ends the work in progress, and writes the reports that still wait. If that work takes
   * long, another process leads before it ends. The new leader leaves alone only the objects that are still worked on here.
   * @param graceMs how long work in progress may take, in milliseconds. Handlers that have not answered by then are killed. Their
   *   work writes nothing more, and the next leader does it again. @default for ever
   */
  async stop(graceMs?: number): Promise<void> {
    this.stopping.abort(new Error("stopped before it watched"));
    await this.parts?.leading.stop(graceMs);
    this.parts?.queue.clear();
    await Promise.all([
      this.parts?.watches.stopWatching(),
      this.parts?.dispatcher?.runs.stopWatching(),
      this.pool?.close(),
    ]);
    this.client.close();
  }

  /** Whether this process leads and reconciles. */
  get isLeading(): boolean {
    return this.parts?.leading.isLeading ?? false;
  }

  /** The identity of the process that leads, as far as this one knows. Undefined if none does. */
  get leader(): string | undefined {
    return this.parts?.leading.leadership.holder;
  }

  /** Every object that is known now, for diagnosis. */
  objects(): ObjectState[] {
    if (!this.parts) return [];
    const { watches, queue } = this.parts;
    return watches.names().map((name) => ({
      ...name,
      uid: watches.objects.uidOf(name),
      ...queue.stateOf(keyOf(name)),
    }));
  }

  /**
   * A hint says that an object may have changed, and the watch has not reported that. The object is read from the API server and
   * reconciled soon. If the object is gone or never existed, this is not a failure.
   * @returns whether the hint was accepted. False if too many objects wait already
   * @throws Error if the objects' kind is not known yet
   */
  hint(name: ObjectName): boolean {
    const { wakeups, emit } = this.knownParts();
    const isAccepted = wakeups.hasRoomFor(keyOf(name));
    if (isAccepted) emit({ kind: "hinted", key: keyOf(name) });
    return isAccepted;
  }

  /**
   * An event from outside names an object. The object is reconciled soon, and its handler asked, although nothing in the cluster has
   * changed. An object that the watch has not shown yet is reconciled when it does, and so after the event.
   * @returns "leaderless" as long as the objects are still being listed and this one is not known
   * @throws Error if the objects' kind is not known yet
   */
  wake(name: ObjectName): "queued" | "full" | "absent" | "leaderless" {
    const { watches, wakeups, emit } = this.knownParts();
    const key = keyOf(name);
    if (!watches.objects.has(name)) return watches.isListing(name.namespace) ? "leaderless" : "absent";
    if (!wakeups.hasRoomFor(key)) return "full";
    emit({ kind: "woken", key });
    return "queued";
  }

  /** Whether our own watch has reported that version of the object. If so, the run that the version needs has begun. */
  knows(name: ObjectName, resourceVersion: string | undefined): boolean {
    if (resourceVersion === undefined) return false;
    return this.parts?.watches.objects.hasReported(name, resourceVersion) ?? false;
  }

  /**
   * Reconciles an object now, before routine work, and resolves with the report of a run that began after the call.
   * @param due a schedule that should be due in that run
   * @throws NotLeadingError if we do not lead, or lose the lease before the run ends
   */
  async reconcileNow(name: ObjectName, due?: DueSchedule): Promise<ReconcileReport> {
    if (!this.isLeading || this.stopping.signal.aborted) throw new NotLeadingError();
    const { requests, emit } = this.knownParts();
    const report = requests.ask(keyOf(name), due);
    emit({ kind: "requested", key: keyOf(name) });
    return report;
  }

  /**
   * Tries the handler on an example of the custom resource. Nothing is read and nothing is applied. The trial takes one of the
   * operator's `concurrency` handler processes.
   * @param used examples of the objects that it uses
   * @throws Error if the example is not such an object; ReconcileFailure if the handler fails, or its answer would be refused
   */
  async tryHandler(object: unknown, used: unknown = {}): Promise<TrialResult> {
    const { trials } = this.knownParts();
    if (!trials) throw new Error("runs in pods try the handler");
    return trials.run(object, used);
  }

  /** A text of a handler that is in no report, without the values of the Secrets that handlers were given. */
  masked(text: string): string {
    return this.parts?.reconciler.masked(text) ?? text;
  }

  /**
   * The handler's files have changed. Work in progress ends with the old files, and every object is reconciled with the new ones.
   */
  renewHandler(): void {
    this.pool?.renew();
    this.parts?.standing?.renew();
    this.parts?.emit({ kind: "handler renewed" });
  }

  private get leadersParts(): Parts | undefined {
    return this.isLeading ? this.parts : undefined;
  }

  private knownParts(): Parts {
    if (!this.parts)
      throw new Error(`the kind ${this.options.operator.customResource.kind} is not known yet`);
    return this.parts;
  }

  private newMetrics(): Metrics {
    return new Metrics(this.options.operator.name, {
      // A standby collects changes too, for the term that it may get.
      queue_depth: () =>
        (this.leadersParts?.queue.depth ?? 0) + (this.leadersParts?.dispatcher?.places.depth ?? 0),
      queue_oldest_seconds: () => (this.leadersParts?.queue.oldestMs ?? 0) / 1000,
      resync_late_seconds: () => (this.leadersParts?.resync.lateMs ?? 0) / 1000,
      objects_failing: () => this.leadersParts?.queue.failing ?? 0,
      objects_contested: () => this.parts?.contests.children.size ?? 0,
      reconciles_active: () => this.parts?.workers.keys.size ?? 0,
      handler_processes: () => this.pool?.size ?? 0,
      children: () => this.parts?.watches.children.size ?? 0,
      rollout_objects_waiting: () => this.leadersParts?.rollout?.stages.pending ?? 0,
      rollout_halted: () => Number(this.leadersParts?.rollout?.stages.isHalted ?? false),
      leader: () => Number(this.isLeading),
    });
  }

  private readonly interrupted = (kind: string, error: Error): void => {
    this.metrics.watchInterruptions.inc({ kind });
    // If any other kind is not served, the objects that need it say what to do.
    const isOwn = kind === this.options.operator.customResource.kind;
    const remedy = isOwn && isApiError(error, 404) ? `. ${UNSERVED_REMEDY}` : "";
    this.notice(`watch of ${kind}: ${error.message}${remedy}`);
  };
}
