import type { KubernetesClient } from "../kubernetes/client";
import { nameOf } from "../kubernetes/objects";
import type { Term } from "../leadership/term";
import { messageAbout } from "../outbox/message";
import type { Outcome } from "../reconcile/outcome";
import { type ReconcileContext, whyEnded } from "../reconcile/reconciliation";
import type { TraceContext } from "../traces/context";
import type { ReportTime } from "../traces/spans";
import type { WorkResult } from "../work/backoff";
import { HeapBudget } from "../work/heapBudget";
import { DifferingAnswers } from "./differingAnswers";
import type { EngineOptions } from "./engineOptions";
import type { Metrics } from "./metrics";
import type { Parts, WorkParts } from "./parts";

/** The parts with which {@link ObjectWork} works, and those that get its results. */
export interface ObjectWorkOptions
  extends WorkParts,
    Pick<EngineOptions, "recorder" | "traces" | "onReport" | "heapBudget"> {
  readonly client: KubernetesClient;
  readonly metrics: Metrics;
  /** Undefined if this process does not lead. */
  readonly term: () => Term | undefined;
  /** Aborted when the engine stops. */
  readonly stopping: AbortSignal;
}

/** If there is no room in memory for an object, it waits for this long at most before the next look, in milliseconds. */
const NO_ROOM_MS = 2_000;

/** One turn of one object: reconciles it on behalf of the term, and hands the outcome to everyone who needs it. */
export class ObjectWork {
  private readonly heapBudget: HeapBudget;
  private readonly differingAnswers = new DifferingAnswers();

  constructor(private readonly options: ObjectWorkOptions) {
    const { heapBudget: most, triggers } = options;
    this.heapBudget = new HeapBudget({ most, onRoom: (key) => triggers.add(key, "child") });
  }

  /**
   * Reconciles an object when there is room in memory for it. Does nothing if this process does not lead.
   * @param leave called when the object needs no handler process any more
   * @returns when the object is due again
   */
  async do(key: string, attempt: number, leave: () => void): Promise<WorkResult> {
    const { heapBudget } = this;
    const { watches } = this.options.parts();
    const name = nameOf(key);
    if (!heapBudget.acquire(key, watches.lengthOf(name))) return { kind: "again", afterMs: NO_ROOM_MS };
    try {
      return await this.reconcile(key, attempt, () => {
        // The object's children and the objects that it uses are needed no more.
        heapBudget.shrink(key, watches.objects.lengthOf(name));
        leave();
      });
    } finally {
      heapBudget.shrink(key, 0);
    }
  }

  private async reconcile(key: string, attempt: number, leave: () => void): Promise<WorkResult> {
    const { queue, arrivals, traces } = this.options;
    const [parts, term] = [this.options.parts(), this.options.term()];
    if (!term) return { kind: "done" };
    const requests = this.options.requests.take(key);
    const arrival = arrivals.take(key, attempt, queue.readySinceOf(key));
    const startedByHand = requests.flatMap((request) => request.due ?? []);
    const trace = traces?.begin();
    const client = this.options.client.with({ signal: term.signal });
    const context = { client, fence: () => term.assert(key), onAnswer: leave, startedByHand, arrival, trace };
    const children = () => {
      const uid = parts.watches.objects.uidOf(nameOf(key));
      return uid === undefined ? [] : parts.watches.children.of(uid);
    };
    this.differingAnswers.begins(key, children);
    const outcome = await parts.reconciler.reconcile(nameOf(key), attempt, context);
    const isUndoing = this.setTimes(key, outcome);
    this.options.metrics.reconciled(outcome.report);
    const found = this.differingAnswers.ended(key, outcome.report, isUndoing, children);
    const warning = found && { ...found, note: parts.reconciler.masked(found.note) };
    if (warning) this.options.notice(`${key}: ${warning.note}`);
    const events = warning ? [...outcome.events, warning] : outcome.events;
    const run = this.report({ ...outcome, events }, parts, context, trace);
    this.options.requests.answer(key, requests, outcome.report);
    this.callListener(key, outcome, run);
    return outcome.again;
  }

  /**
   * Sets the object's alarm for its next schedule, and notes which changes the engine made.
   * @returns whether somebody else had changed a child since our last change
   */
  private setTimes(key: string, { report, nextLook }: Outcome): boolean {
    const { alarms, triggers, stopping } = this.options;
    if (!stopping.aborted) alarms.set(key, nextLook);
    if (report.changes.length > 0 || report.statusChanged) triggers.ownChanged(key);
    return report.changes.length > 0 && triggers.childrenChanged(key);
  }

  /**
   * Puts the report about the outcome into the outbox. The trace of the run ends when the report is written, or at once if there
   * is nothing to report. @returns the name of the Workflow that will record the run
   */
  private report(
    outcome: Outcome,
    { outbox, resource }: Parts,
    context: ReconcileContext,
    trace: TraceContext | undefined,
  ): string | undefined {
    const { recorder, traces } = this.options;
    const { report } = outcome;
    // A run may outlive its term, and even end in the next one. Then it reports nothing.
    const message = whyEnded(context)
      ? undefined
      : messageAbout(outcome, resource, recorder?.recordOf(report));
    let run: string | undefined;
    const onReported =
      trace && ((reportTime?: ReportTime) => traces?.end({ trace, report, run, reportTime }));
    if (message) run = outbox.put(report, { ...message, onReported });
    else onReported?.();
    return run;
  }

  private callListener(key: string, { report }: Outcome, run: string | undefined): void {
    const { onReport, notice } = this.options;
    try {
      onReport?.(report, run);
    } catch (error) {
      // A fault of the listener must not end the work.
      notice(`the listener of reports failed for ${key}: ${(error as Error).message}`);
    }
  }
}
