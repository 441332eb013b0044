import { describeChanges, type ReconcileReport } from "../reconcile/report";
import type { Step } from "../reconcile/timeline";
import { beforeRun } from "./spans";

/**
 * How long the steps of runs took, as text for people, in the order in which they began. Times are in milliseconds since the
 * beginning of the first step of each run.
 *
 *     trace 4bf92f3577b34da6a3ce929d0e0e4736
 *     +0.0 ms  12.1 ms  queue
 *     +12.1 ms  4.0 ms  handler
 *     +16.2 ms  8.9 ms  created Deployment sessions
 *
 * @param reports the reconciles of one run
 */
export function timingText(reports: readonly ReconcileReport[]): string {
  const traceId = reports.find((report) => report.traceId !== undefined)?.traceId;
  const trace = traceId === undefined ? [] : [`trace ${traceId}`];
  return [...trace, ...reports.flatMap(linesOf)].join("\n");
}

/** The trace that a text of {@link timingText} names. Undefined if it names none. */
export function traceIdIn(timings: string): string | undefined {
  return /^trace ([0-9a-f]{32})$/m.exec(timings)?.[1];
}

/** A text of {@link timingText} without the line that names the trace. */
export function withoutTrace(timings: string): string {
  return timings.replace(/^trace [0-9a-f]{32}\n?/, "");
}

type Timed = Pick<Step, "from" | "to" | "error"> & { readonly name: string };

function linesOf(report: ReconcileReport): string[] {
  const { timing, namespace } = report;
  if (!timing) return [];
  // The time of the write is from another clock, and in whole seconds.
  const before = beforeRun(report, { ...timing, writtenAt: undefined }, (time) => time);
  const steps = timing.steps.map((step) => ({ ...step, name: wordsOf(step, namespace) }));
  const all: readonly Timed[] = [...before, ...steps].sort((one, other) => one.from - other.from);
  const begin = Math.min(timing.from, ...all.map(({ from }) => from));
  const lines = all.map(({ name, from, to, error }) => {
    const [start, took] = [from - begin, to - from].map((ms) => ms.toFixed(1));
    return `+${start} ms  ${took} ms  ${name}${error === undefined ? "" : ", failed"}`;
  });
  return timing.omitted === 0 ? lines : [...lines, `and ${timing.omitted} further children`];
}

/** The action of a step, in the words of the log. */
function wordsOf({ name, child, verb }: Step, namespace: string | undefined): string {
  if (!child) return name;
  if (verb !== undefined && verb !== "unchanged") return describeChanges([{ verb, ...child }], namespace);
  return `${verb ?? "apply"} ${child.kind} ${child.name}`;
}
