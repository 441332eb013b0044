import { randomUUID } from "node:crypto";
import type { ChildChange } from "../children/childWriter";
import type { DueSchedule, HandlerAnswer } from "../handler/contract";
import type { Verdict } from "../status/conditions";
import type { WorkResult } from "../work/backoff";
import type { PreparedQuestion, Reply } from "./asking";
import { type Consequence, SHORTEST_WAIT_MS } from "./errors";
import type { ObjectEvent, Outcome } from "./outcome";
import type { ReconcileContext } from "./reconciliation";
import type { ReconcileReport } from "./report";
import type { ReconcileTiming } from "./timeline";

/**
 * The outcome of a reconcile that is in progress. Only `Reconciler`, `Convergence`, `Finalization` and `Departures` fill it in, with
 * what the steps return. Whatever was noted stays if a later step fails.
 */
export class Draft {
  /** Every change of a child. */
  readonly changes: ChildChange[] = [];
  readonly events: ObjectEvent[] = [];
  verdict: Verdict | undefined;
  /** @see Outcome.nextLook */
  nextLook: number | undefined;
  private again: WorkResult = { kind: "done" };
  private noted: ReconcileReport;

  constructor(
    about: Pick<ReconcileReport, "operator" | "kind" | "namespace" | "name" | "attempt">,
    { arrival, trace }: Pick<ReconcileContext, "arrival" | "trace">,
  ) {
    this.noted = {
      id: randomUUID(),
      ...about,
      event: "reconcile",
      result: "succeeded",
      changes: this.changes,
      log: "",
      durationMs: 0,
      ...(arrival && { arrival }),
      ...(trace?.isSampled && { traceId: trace.traceId }),
    };
  }

  /** The part of the report that is known. */
  get report(): ReconcileReport {
    return this.noted;
  }

  /** Notes what a step found out. */
  note(found: Partial<ReconcileReport>): void {
    this.noted = { ...this.noted, ...found };
  }

  /** The handler is about to be asked. @param due the schedules that are due */
  prepared(
    { warnings }: Pick<PreparedQuestion<HandlerAnswer>, "warnings">,
    due: readonly DueSchedule[] = [],
  ): void {
    this.events.push(...warnings);
    if (due.length > 0) this.note({ due: due.map(({ name }) => name) });
  }

  /** The handler has answered. @returns its answer */
  answered<Answer extends HandlerAnswer>({ answer, log, handlerMs }: Reply<Answer>): typeof answer {
    this.note({ log, handlerMs });
    return answer;
  }

  /** Nothing is to be done. @param skipped why */
  skip(skipped: "gone" | "paused"): void {
    this.note({ result: "skipped", skipped });
  }

  /** The handler wants to be asked again after this time, in milliseconds. */
  againAfter(ms: number): void {
    this.note({ againAfterMs: ms });
    this.again = { kind: "done", againAfterMs: Math.max(SHORTEST_WAIT_MS, ms) };
  }

  /** An error ended the reconcile. */
  fail({ report, isReported, again }: Consequence): void {
    const { failure } = report;
    this.note({ ...report, log: this.noted.log || (failure?.log ?? "") });
    this.again = again;
    // Nobody may read that all is well before the status has what the handler answered.
    this.verdict = failure && isReported ? { kind: "failed", failure } : undefined;
  }

  /** The outcome, when the reconcile has ended. */
  outcome(timing: ReconcileTiming): Outcome {
    const { events, again, verdict } = this;
    const nextLook = this.noted.skipped === "gone" ? undefined : this.nextLook;
    this.note({ timing, durationMs: timing.to - timing.from });
    return {
      report: this.noted,
      events,
      again,
      ...(verdict && { verdict }),
      ...(nextLook !== undefined && { nextLook }),
    };
  }
}
