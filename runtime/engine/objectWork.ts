// One turn of one object: reconciles it, and hands on the outcome.
import { ReconcileFailure } from "../base/failure";
import { nameOf, type ObjectName } from "../base/objects";
import type { Resource } from "../base/resource";
import type { WorkResult } from "../base/turn";
import type { DueSchedule } from "../handler/contract";
import type { KubernetesClient } from "../kubernetes/client";
import type { Term } from "../leadership/term";
import type { Reconciler } from "../reconcile/reconciler";
import type { Outcome, ReconcileReport } from "../reconcile/report";
import { type ReconcileContext, whyEnded } from "../reconcile/run";
import type { Outbox } from "../report/outbox";
import type { Recorder } from "../report/runRecorder";
import { differingWarning, messageAbout } from "../report/teller";
import type { TraceExporter } from "../report/traces/exporter";
import type { ReportTime } from "../report/traces/spans";
import { DifferingAnswers } from "../when/contests";
import type { ContestsOfObjects } from "../when/wakeups";
import type { HeapBudget } from "../when/workers";
import { framesOf } from "../when/workers";
import type { WorkQueue } from "../when/workQueue";
import type { Dispatcher } from "./dispatch/dispatcher";
import type { EngineOptions } from "./engineOptions";
import type { Metrics } from "./metrics";
import type { StagedRollout } from "./stagedRollout";
import type { Watches } from "./watches";

/** If there is no room in memory for an object, it waits for this long at most before the next look, in milliseconds. */
const NO_ROOM_MS = 2_000;

/** The turn of an object that is in progress. */
interface Turn {
  readonly key: string;
  readonly attempt: number;
  /** The callers that wait for its report. */
  requests: ReturnType<ReconcileRequests["takeWaiting"]>;
}

/**
 * One turn of one object: reconciles it on behalf of the term, and hands the outcome to every part that needs it.
 *
 * Guarantee (tests/unit/objectWork.test.ts): whatever throws in a turn is a failure of its object. The object says so by its status
 * and an Event, the failure counts as `InternalError`, and the object is tried again after a backoff. No other object notices.
 */
export class ObjectWork {
  private readonly differingAnswers = new DifferingAnswers();

  constructor(
    private readonly parts: {
      readonly client: KubernetesClient;
      readonly resource: Resource;
      readonly watches: Watches;
      readonly queue: WorkQueue;
      readonly contests: ContestsOfObjects;
      readonly requests: ReconcileRequests;
      readonly heapBudget: HeapBudget;
      readonly reconciler: Reconciler | Dispatcher;
      /** Undefined if every object is asked at once. */
      readonly rollout: StagedRollout | undefined;
      readonly outbox: Outbox;
      readonly recorder: Recorder | undefined;
      readonly traces: TraceExporter | undefined;
      readonly metrics: Metrics;
      /** Undefined if this process does not lead. */
      readonly term: () => Term | undefined;
      readonly notice: (text: string) => void;
      readonly onReport: EngineOptions["onReport"];
    },
  ) {}

  /**
   * Reconciles an object when there is room in memory for it. Does nothing if this process does not lead.
   * @param leave called when the object needs no handler process any more
   * @returns when the object is due again
   */
  readonly do = async (key: string, attempt: number, leave: () => void): Promise<WorkResult> => {
    const { heapBudget, watches } = this.parts;
    const name = nameOf(key);
    const turn: Turn = { key, attempt, requests: [] };
    try {
      if (!heapBudget.acquire(key, watches.lengthOf(name))) return { kind: "again", afterMs: NO_ROOM_MS };
      return await this.reconcile(turn, name, leave);
    } catch (error) {
      return await this.fault(turn, error);
    } finally {
      heapBudget.shrink(key, 0);
    }
  };

  private async reconcile(turn: Turn, name: ObjectName, leave: () => void): Promise<WorkResult> {
    const { queue, traces, reconciler, metrics, contests, heapBudget, watches } = this.parts;
    const { key, attempt } = turn;
    const term = this.parts.term();
    if (!term) return { kind: "done" };
    const requests = this.parts.requests.takeWaiting(key);
    turn.requests = requests;
    const context: ReconcileContext = {
      client: this.parts.client.with({ signal: term.signal }),
      fence: () => term.assert(key),
      onAnswer: () => {
        // The object's children and the objects that it uses are no longer needed.
        heapBudget.shrink(key, watches.objects.lengthOf(name));
        leave();
      },
      startedByHand: requests.flatMap((request) => request.due ?? []),
      arrival: queue.arrivalOf(key),
      trace: traces?.begin(),
    };
    const outcome = await reconciler.reconcile(name, attempt, context);
    const { report, again } = outcome;
    // Not even the object was read, so there is no object to report on.
    if (report.failure && report.uid === undefined) throw report.failure;
    if (report.changes.length > 0 || report.statusChanged) contests.uses.changed(key);
    const isUndoing = report.changes.length > 0 && contests.children.changed(key);
    metrics.reconciled(report);
    const { arrival, changes, waits = false } = report;
    const rounds = this.differingAnswers.ended(key, arrival?.cause, changes, isUndoing, waits);
    this.parts.rollout?.looked(key, outcome);
    const warning = rounds === undefined ? undefined : differingWarning(rounds, report);
    if (warning) this.parts.notice(`${key}: ${warning.note}`);
    const events = warning ? [...outcome.events, warning] : outcome.events;
    const run = this.report({ ...outcome, events }, context, queue.longestWaitAfter(key, again));
    this.parts.requests.answer(key, requests, report);
    try {
      this.parts.onReport?.(report, run);
    } catch (error) {
      // A fault of the listener must not end the work.
      this.parts.notice(`the listener of reports failed for ${key}: ${(error as Error).message}`);
    }
    return again;
  }

  /** Something threw: see the guarantee. */
  private async fault({ key, attempt, requests }: Turn, error: unknown): Promise<WorkResult> {
    const { metrics, notice, queue, reconciler, outbox, resource, watches } = this.parts;
    const name = nameOf(key);
    // A failure is one of an outcome, so it is masked.
    notice(`${key}: ${error instanceof ReconcileFailure ? error.message : framesOf(error)}`);
    const object = await watches.objects.read(name).catch(() => undefined);
    const { generation } = object?.metadata ?? {};
    const uid = watches.objects.uidOf(name);
    const outcome = reconciler.fault(error, { ...name, attempt, uid, generation });
    this.parts.rollout?.looked(key, outcome);
    metrics.reconciled(outcome.report);
    this.parts.requests.answer(key, requests, outcome.report);
    const waitMs = queue.longestWaitAfter(key, outcome.again);
    const message = messageAbout(outcome, resource, undefined, waitMs);
    if (message) outbox.put(name, message);
    return outcome.again;
  }

  /**
   * Puts the report about the outcome into the outbox. The trace of the run ends when the report is written, or at once if there
   * is nothing to report. @returns the name of the Workflow that will record the run
   */
  private report(
    outcome: Outcome,
    context: ReconcileContext,
    waitMs: number | undefined,
  ): string | undefined {
    const { recorder, traces, outbox, resource } = this.parts;
    const { report } = outcome;
    const { trace } = context;
    // A run may outlive its term, and even end in the next one. Then it reports nothing.
    const message = whyEnded(context)
      ? undefined
      : messageAbout(outcome, resource, recorder?.recordOf(report), waitMs);
    let run: string | undefined;
    const onReported =
      trace && ((reportTime?: ReportTime) => traces?.end({ trace, report, run, reportTime }));
    if (message) run = outbox.put(report, { ...message, onReported });
    else onReported?.();
    return run;
  }
}

/** A caller that waits for a report. */
interface Request {
  /** A schedule that the caller starts. */
  readonly due: DueSchedule | undefined;
  resolve(report: ReconcileReport): void;
  reject(error: Error): void;
}

/**
 * The callers that asked for a reconcile and wait for its report. A reconcile that began before they asked does not count, because it
 * may have seen an older object.
 */
export class ReconcileRequests {
  private readonly waiting = new Map<string, Request[]>();
  /** Why no reconcile begins. Undefined: reconciles begin. */
  private refusal: Error | undefined;

  /** Runs begin again. */
  open(): void {
    this.refusal = undefined;
  }

  /**
   * Resolves with the report of the next reconcile of this key that begins.
   * @param due a schedule that the reconcile is to start
   * @throws the error of {@link refuse} if no reconcile begins
   */
  ask(key: string, due?: DueSchedule): Promise<ReconcileReport> {
    return new Promise((resolve, reject) => this.addWaiting(key, [{ due, resolve, reject }]));
  }

  /** Whether a caller waits for a reconcile of this key to begin. */
  has(key: string): boolean {
    return this.waiting.has(key);
  }

  /** A reconcile begins. @returns the callers that wait for one */
  takeWaiting(key: string): readonly Request[] {
    const requests = this.waiting.get(key) ?? [];
    this.waiting.delete(key);
    return requests;
  }

  /**
   * The reconcile for which these callers waited has ended. If it had no result, they wait for the next one, with their schedules.
   */
  answer(key: string, requests: readonly Request[], report: ReconcileReport): void {
    const cameToNothing = report.skipped !== undefined && !["gone", "paused"].includes(report.skipped);
    if (cameToNothing && requests.length > 0) this.addWaiting(key, requests);
    else for (const { resolve } of requests) resolve(report);
  }

  /**
   * No reconcile begins until {@link open}. Rejects every caller that waits, and those whose reconcile in progress has no result.
   */
  refuse(error: Error): void {
    this.refusal = error;
    for (const requests of this.waiting.values()) for (const { reject } of requests) reject(error);
    this.waiting.clear();
  }

  private addWaiting(key: string, requests: readonly Request[]): void {
    const { refusal } = this;
    if (refusal) for (const { reject } of requests) reject(refusal);
    else this.waiting.set(key, [...(this.waiting.get(key) ?? []), ...requests]);
  }
}
