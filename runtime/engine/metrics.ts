// Prometheus metrics.
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { FAILURE_REASONS, type FailureReason } from "../base/failure";
import { RECONCILE_RESULTS, type ReconcileReport } from "../reconcile/report";
import type { Outbox } from "../report/outbox";
import type { Recorder } from "../report/runRecorder";
import type { TraceExporter } from "../report/traces/exporter";

/** The result of a hint. */
const HINT_RESULTS = [
  /** The watch had reported that change already. */
  "known",
  "queued",
  /** The leader took it. */
  "forwarded",
  /** Too many objects wait. */
  "full",
  /** An event from outside named an object that does not exist. */
  "absent",
  /** No process leads, or the leader has not accepted it. */
  "leaderless",
  /** It is not a hint, or not one for this operator. */
  "invalid",
] as const;

/** One of {@link HINT_RESULTS}. */
export type HintResult = (typeof HINT_RESULTS)[number];

/** Why a handler process is given up. */
const HANDLER_PROCESS_REASONS = [
  "HandlerCrashed",
  "HandlerTimedOut",
  "HandlerNotStarted",
  "InvalidAnswer",
] as const satisfies readonly FailureReason[];

/** The gauges that every engine has, with their help. */
const GAUGES = {
  queue_depth: "Objects that wait to be reconciled; 0 on a standby",
  queue_oldest_seconds:
    "How long the longest waiting object has been waiting to be reconciled; 0 if none waits, and on a standby",
  resync_late_seconds:
    "How late the objects are that the resync looks at now, because it may take only half of the runner's time; 0 if it is not late, and on a standby",
  objects_failing:
    "Objects whose last reconcile failed, whether they are tried again or wait for a change; 0 on a standby",
  objects_contested:
    "Objects with a child that another client changes back each time that it is applied, so that the child is restored less often",
  reconciles_active: "Reconciles in progress",
  handler_processes: "Running handler processes",
  children: "Children of custom resources that are known to exist",
  rollout_objects_waiting:
    "Objects that wait in a staged roll-out of a new version; 0 if there is none, and on a standby",
  rollout_halted: "1 if a staged roll-out is halted, and on this runner, which leads",
  leader: "1 if this runner leads and reconciles, 0 if it stands by",
};

/**
 * Prometheus metrics of one operator's engine, in a registry of their own. All names begin with `argosy_`. A counter whose labels
 * have known values begins at 0 with each of them, because Prometheus sees no increase in a series that appears at 1.
 */
export class Metrics {
  readonly registry = new Registry();
  private readonly reconciles = this.counter(
    "reconciles_total",
    "Reconciles by result: succeeded, failed, skipped (the object was gone, paused, unchanged, changed during the run or waits for its stage of a roll-out, or the API server was down or busy)",
    { result: RECONCILE_RESULTS },
  );
  private readonly failures = this.counter(
    "reconcile_failures_total",
    "Failed reconciles by reason, the same as in the object's Ready condition",
    { reason: FAILURE_REASONS },
  );
  private readonly changes = this.counter(
    "child_changes_total",
    "Changes made to children, by verb and kind",
    { verb: [], kind: [] },
  );
  readonly handlerStarts = this.counter(
    "handler_process_starts_total",
    "Handler processes started: on demand, and again after a process has ended, failed or been idle",
  );
  readonly handlerFailures = this.counter(
    "handler_process_failures_total",
    "Handler processes that crashed, hung or broke the contract, and were replaced, by reason",
    { reason: HANDLER_PROCESS_REASONS },
  );
  readonly lateAnswers = this.counter(
    "handler_late_answers_total",
    "Answers of handler processes to requests that had an answer already; they were discarded",
  );
  readonly requests = this.counter(
    "api_requests_total",
    "Requests to the API server, by method and status code; code 0 for one without an answer",
    { method: [], code: [] },
  );
  readonly watchInterruptions = this.counter(
    "watch_interruptions_total",
    "Watches that ended with an error and were resumed, by kind",
    { kind: [] },
  );
  readonly hints = this.counter(
    "hints_total",
    "Hints received from the Sensor, and events from outside that name an object, by result: known (the watch had reported " +
      "the change), queued, forwarded (to the leader), full (too many objects wait), absent (an event from outside named an " +
      "object that is not there), leaderless (nobody leads, or the leader did not take it), invalid (not one for this operator)",
    { result: HINT_RESULTS },
  );
  readonly droppedEvents = this.counter(
    "kubernetes_events_dropped_total",
    "Kubernetes Events about objects that were not written: too many at once, or the API server refused them",
  );
  private readonly duration = new Histogram({
    name: "argosy_reconcile_duration_seconds",
    help: "Duration of a reconcile, from reading the object to its last write; conditions are written afterwards",
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [this.registry],
  });

  /** @param gauges read the value of each gauge when it is scraped */
  constructor(operator: string, gauges: Readonly<Record<keyof typeof GAUGES, () => number>>) {
    this.registry.setDefaultLabels({ operator });
    for (const [name, help] of Object.entries(GAUGES))
      this.gauge(name, help, gauges[name as keyof typeof GAUGES]);
  }

  reconciled(report: ReconcileReport): void {
    this.reconciles.inc({ result: report.result });
    if (report.failure) this.failures.inc({ reason: report.failure.reason });
    for (const { verb, kind } of report.changes) this.changes.inc({ verb, kind });
    this.duration.observe(report.durationMs / 1000);
  }

  /** Adds metrics about the recording of runs. */
  observeRecording(recording: Recorder, waiting: Outbox): void {
    this.count("runs_recorded_total", "Runs recorded as Workflows", () => recording.recorded);
    this.count(
      "runs_coalesced_total",
      "Runs without a Workflow of their own, because the Workflow of another run of the object includes them",
      () => recording.coalesced,
    );
    this.count(
      "runs_dropped_total",
      "Runs that were not recorded and never will be: too many waited, or the API server refused the Workflow",
      () => recording.dropped,
    );
    this.gauge("runs_waiting", "Runs that wait to be recorded", () => waiting.recordsWaiting);
    this.gauge(
      "recording_lag_seconds",
      "How long the oldest report about an object has been waiting to be written; 0 if none waits",
      () => waiting.lagSeconds,
    );
  }

  /** Adds the metric that says whether the event path is dead, which the watch would hide. */
  observeEvents(silentSeconds: () => number): void {
    this.gauge(
      "event_silence_seconds",
      "For how long custom resources have been changing without any hint, until the last change; 0 if a hint came since, and on a standby: if it grows, events are lost",
      silentSeconds,
    );
  }

  /** Adds metrics about traces. */
  observeTraces(traces: Pick<TraceExporter, "sent" | "dropped">): void {
    this.count("spans_sent_total", "Spans of traces that the collector has accepted", () => traces.sent);
    this.count(
      "spans_dropped_total",
      "Spans of traces that are lost: too many waited, or the collector refused them or could not be reached",
      () => traces.dropped,
    );
  }

  /** A counter whose value another part counts. */
  private count(name: string, help: string, read: () => number): void {
    new Counter({
      name: `argosy_${name}`,
      help,
      registers: [this.registry],
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  }

  /** @param labels the known values of each label, for a counter of one label */
  private counter<Label extends string = never>(
    name: string,
    help: string,
    labels: Readonly<Record<Label, readonly string[]>> = {} as Record<Label, readonly string[]>,
  ): Counter<Label> {
    const labelNames = Object.keys(labels) as Label[];
    const counter = new Counter({ name: `argosy_${name}`, help, labelNames, registers: [this.registry] });
    for (const label of labelNames) {
      for (const value of labels[label]) counter.inc({ [label]: value } as Record<Label, string>, 0);
    }
    return counter;
  }

  private gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name: `argosy_${name}`,
      help,
      registers: [this.registry],
      collect() {
        this.set(read());
      },
    });
  }
}
