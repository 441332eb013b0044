import { clean } from "../../base/text";
import { newSpanId, type TraceContext } from "../../base/traceContext";
import type { Cause } from "../../base/turn";
import { describeChanges, type ReconcileReport } from "../../reconcile/report";
import type { ReconcileTiming, Step, StepChild } from "../../reconcile/timeline";

/** The value of an attribute of a span. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** How long it took to write conditions, record and Events of a run, on the monotonic clock, in milliseconds. */
export interface ReportTime {
  readonly from: number;
  readonly to: number;
}

/** A span of a trace. Its times are in milliseconds since 1970. */
export interface Span extends ReportTime {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId?: string | undefined;
  readonly name: string;
  readonly attributes: Attributes;
  /** Why it failed. Undefined if it did not. */
  readonly error?: string | undefined;
}

/** All facts about a run from which its trace is made. */
export interface TracedRun {
  readonly trace: TraceContext;
  readonly report: ReconcileReport;
  /** The name of the Workflow that records the run, if there is one. */
  readonly run?: string | undefined;
  /** When the run was reported. Undefined if there was nothing to write, or a later run's report took its place. */
  readonly reportTime?: ReportTime | undefined;
}

/** Turns a time on the monotonic clock into one since 1970, both in milliseconds. */
export type Epoch = (monotonic: number) => number;

const LONGEST_ERROR = 1024;
const LONGEST_NAME = 512;

/** The names of the spans for the causes of runs. Undefined: the cause has no span. */
const ARRIVALS: Readonly<Record<Cause, string | undefined>> = {
  event: "outside event",
  watch: "watch",
  hint: "hint",
  request: "request",
  used: "used object",
  child: "child change",
  retry: undefined,
  time: undefined,
};

/** A span before it has its place in the trace. */
type Part = Omit<Span, "traceId" | "spanId" | "parentId"> & { readonly spanId?: string };

/**
 * The spans of a run: the run itself, and in it how the change reached the engine, the wait for the run's turn, and the run's
 * steps. Pure, except for the ids of the spans.
 *
 * Guarantees (tests/unit/traceSpans.test.ts): each span lies within its parent. The spans contain only names and times of objects,
 * nothing of their content. An error has the message of the run's report, without the values of Secrets.
 * @param epochOf the clock
 */
export function spansOf({ trace, report, run, reportTime }: TracedRun, epochOf: Epoch): Span[] {
  const { timing } = report;
  if (!timing) return [];
  const { traceId, rootId } = trace;
  const parts: Part[] = [
    ...beforeRun(report, epochOf),
    ...timing.steps.map((step) => partOfStep(step, trace, epochOf)),
    ...(reportTime
      ? [{ name: "report", from: epochOf(reportTime.from), to: epochOf(reportTime.to), attributes: {} }]
      : []),
  ].sort((one, other) => one.from - other.from);
  const root: Span = {
    traceId,
    spanId: rootId,
    name: `${report.event} ${report.kind}`,
    from: Math.min(epochOf(timing.from), ...parts.map(({ from }) => from)),
    to: Math.max(epochOf(timing.to), ...parts.map(({ to }) => to)),
    attributes: attributesOf(report, timing, run),
    ...(report.failure && { error: errorText(`${report.failure.reason}: ${report.failure.message}`) }),
  };
  return [root, ...parts.map((part) => ({ traceId, spanId: newSpanId(), parentId: rootId, ...part }))];
}

/** The time before a run: the queue, and how the change reached the engine. */
function beforeRun({ arrival, attempt }: ReconcileReport, epochOf: Epoch): Part[] {
  if (!arrival) return [];
  const { cause, at, readyAt, takenAt } = arrival;
  const ready = epochOf(readyAt);
  const attributes = { "argosy.attempt": attempt };
  const queue = { name: "queue", from: ready, to: epochOf(takenAt), attributes };
  const name = ARRIVALS[cause];
  if (name === undefined || at === undefined) return [queue];
  return [queue, { name, from: epochOf(Math.min(at, readyAt)), to: ready, attributes: {} }];
}

function partOfStep(step: Step, { handlerId }: TraceContext, epochOf: Epoch): Part {
  const { name, from, to, child, verb, error } = step;
  return {
    ...(name === "handler" && { spanId: handlerId }),
    name: child ? clean(`${verb ?? "apply"} ${child.kind}`, LONGEST_NAME) : name,
    from: epochOf(from),
    to: epochOf(to),
    attributes: child ? { ...childAttributes(child), ...(verb && { "argosy.child.verb": verb }) } : {},
    ...(error !== undefined && { error: errorText(error) }),
  };
}

function attributesOf(report: ReconcileReport, { omitted }: ReconcileTiming, run?: string): Attributes {
  const { operator, kind, namespace, name, uid, generation, event, attempt, result, failure, arrival } =
    report;
  return {
    "argosy.operator": operator,
    "argosy.object.kind": kind,
    ...(namespace !== undefined && { "k8s.namespace.name": namespace }),
    "argosy.object.name": name,
    ...(uid !== undefined && { "argosy.object.uid": uid }),
    ...(generation !== undefined && { "argosy.object.generation": generation }),
    "argosy.event": event,
    "argosy.attempt": attempt,
    "argosy.result": result,
    ...(arrival && { "argosy.cause": arrival.cause }),
    ...(run !== undefined && { "argosy.run": run }),
    ...(omitted > 0 && { "argosy.children.omitted": omitted }),
    ...(failure && { "error.type": failure.reason }),
  };
}

function childAttributes({ apiVersion, kind, namespace, name }: StepChild): Attributes {
  const text = (value: string) => clean(value, LONGEST_NAME);
  return {
    "argosy.child.api_version": text(apiVersion),
    "argosy.child.kind": text(kind),
    "argosy.child.name": text(name),
    ...(namespace !== undefined && { "k8s.namespace.name": text(namespace) }),
  };
}

function errorText(text: string): string {
  return clean(text, LONGEST_ERROR);
}

/**
 * How long the steps of runs took, as text, in the order in which they began. Times are in milliseconds since the beginning of the
 * first step of each run.
 *
 *     trace 4bf92f3577b34da6a3ce929d0e0e4736
 *     +0.0 ms  12.1 ms  queue
 *     +12.1 ms  4.0 ms  handler
 *     +16.2 ms  8.9 ms  created Deployment sessions
 *
 * @param reports the reconciles of one run
 */
export function timingText(reports: readonly ReconcileReport[]): string {
  return reports.flatMap(linesOf).join("\n");
}

type Timed = Pick<Step, "from" | "to" | "error"> & { readonly name: string };

function linesOf(report: ReconcileReport): string[] {
  const { timing, namespace, traceId } = report;
  if (!timing) return [];
  const before = beforeRun(report, (time) => time);
  const steps = timing.steps.map((step) => ({ ...step, name: wordsOf(step, namespace) }));
  const all: readonly Timed[] = [...before, ...steps].sort((one, other) => one.from - other.from);
  const begin = Math.min(timing.from, ...all.map(({ from }) => from));
  const lines = all.map(({ name, from, to, error }) => {
    const [start, took] = [from - begin, to - from].map((ms) => ms.toFixed(1));
    return `+${start} ms  ${took} ms  ${name}${error === undefined ? "" : ", failed"}`;
  });
  return [
    ...(traceId === undefined ? [] : [`trace ${traceId}`]),
    ...lines,
    ...(timing.omitted === 0 ? [] : [`and ${timing.omitted} further children`]),
  ];
}

/** The action of a step, as the log names it. */
function wordsOf({ name, child, verb }: Step, namespace: string | undefined): string {
  if (!child) return name;
  if (verb !== undefined && verb !== "unchanged") return describeChanges([{ verb, ...child }], namespace);
  return `${verb ?? "apply"} ${child.kind} ${child.name}`;
}
