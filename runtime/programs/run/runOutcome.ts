import type { ReconcileReport } from "../../reconcile/report";
import { describeRun } from "../../report/recordedRun";

/** How a run ended. */
export interface RunOutcome {
  /** 0, or 1 if it failed. Argo then shows the pod, the node and the Workflow as failed. */
  readonly exitCode: 0 | 1;
  /** The last word of the log. */
  readonly message: string;
  /** The handler's answer as JSON, if it was only tried. */
  readonly answer?: string;
}

/** The outcome of a run that ends with this reconcile. */
export function outcomeOf(report: ReconcileReport): RunOutcome {
  const { failure, skipped, ready, againAfterMs } = report;
  if (failure) return failed(describeRun(report));
  if (report.problem !== undefined) return failed(report.problem);
  if (skipped === "paused") return done("nothing to do: the object is paused");
  if (skipped === "gone") return done("nothing to do: the object is gone");
  // The object keeps changing. Another run waits, and this one has tried for long enough.
  if (skipped !== undefined) return done(describeRun(report));
  const rest = [
    ready === false ? "not every child is ready yet: another run follows when they are" : "",
    againAfterMs === undefined
      ? ""
      : `the handler is asked again after ${againAfterMs / 1000} s, by another run`,
  ];
  return done([describeRun(report), ...rest].filter((part) => part !== "").join("; "));
}

/** The outcome of a run that has not failed. @param message what it did */
export function done(message: string): RunOutcome {
  return { exitCode: 0, message };
}

/** The outcome of a run that has failed. @param message why */
export function failed(message: string): RunOutcome {
  return { exitCode: 1, message };
}
