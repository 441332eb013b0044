import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { RequestReport } from "./kubernetes/transport";
import type { ReconcileReport } from "./reconcileReport";

/** What became of a hint. */
export type HintResult =
  /** The watch had told of that change already. */
  | "known"
  | "queued"
  /** The leader took it. */
  | "forwarded"
  /** Too many objects wait. */
  | "full"
  /** Nobody leads, or who does has not taken it. */
  | "leaderless"
  /** It is no hint, or not one for this operator. */
  | "invalid";

/** What is told of the recording of runs as Workflows. */
export interface RecordingFigures {
  /** Workflows written. */
  readonly recorded: number;
  /** Runs that another one's Workflow stands for. */
  readonly coalesced: number;
  /** Runs that were not written and never will be. */
  readonly dropped: number;
  /** Runs that wait to be written. */
  readonly waiting: number;
  /** How long the first of them has been waiting, in seconds; 0 where none waits. */
  readonly lagSeconds: number;
}

/** What the gauges read when they are scraped. */
export interface MetricSources {
  readonly queueDepth: () => number;
  readonly queueOldestSeconds: () => number;
  readonly active: () => number;
  readonly handlerProcesses: () => number;
  readonly children: () => number;
  readonly isLeader: () => boolean;
}

/** Prometheus metrics of one operator's engine, in a registry of their own. All names begin with `argosy_`. */
export class Metrics {
  readonly registry = new Registry();
  private readonly reconciles = this.counter("reconciles_total", "Reconciles by result", ["result"]);
  private readonly failures = this.counter("reconcile_failures_total", "Failed reconciles by reason", [
    "reason",
  ]);
  private readonly changes = this.counter("child_changes_total", "Changes made to children", [
    "verb",
    "kind",
  ]);
  private readonly handlerFailures = this.counter(
    "handler_process_failures_total",
    "Handler processes that were given up, by reason",
    ["reason"],
  );
  private readonly requests = this.counter("api_requests_total", "Requests to the API server", [
    "method",
    "code",
  ]);
  private readonly watchInterruptions = this.counter(
    "watch_interruptions_total",
    "Watches that ended with an error and were resumed",
    ["kind"],
  );
  private readonly hints = this.counter(
    "hints_total",
    "Hints received, by result: known (the watch had told of it), queued, forwarded (to the leader), full (too many " +
      "objects wait), leaderless (nobody leads, or the leader did not take it), invalid (no hint for this operator)",
    ["result"],
  );
  private readonly unannounced = this.counter(
    "unannounced_changes_total",
    "Changes of custom resources that the watch saw and no hint told of within 30 seconds: where it grows, events are lost",
    [],
  );
  private readonly droppedEvents = this.counter("events_dropped_total", "Kubernetes Events not written", []);
  private readonly duration = new Histogram({
    name: "argosy_reconcile_duration_seconds",
    help: "Duration of a reconcile, from reading the object to writing its status",
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [this.registry],
  });

  constructor(operator: string, sources: MetricSources) {
    this.registry.setDefaultLabels({ operator });
    this.gauge("queue_depth", "Objects that wait for their reconcile", sources.queueDepth);
    this.gauge(
      "queue_oldest_seconds",
      "How long the first in line has been waiting",
      sources.queueOldestSeconds,
    );
    this.gauge("reconciles_active", "Reconciles that run now", sources.active);
    this.gauge("handler_processes", "Handler processes alive", sources.handlerProcesses);
    this.gauge("children", "Children known", sources.children);
    this.gauge("leader", "1 where this process leads", () => Number(sources.isLeader()));
  }

  reconciled(report: ReconcileReport): void {
    this.reconciles.inc({ result: report.result });
    if (report.failure) this.failures.inc({ reason: report.failure.reason });
    for (const { verb, kind } of report.changes) this.changes.inc({ verb, kind });
    this.duration.observe(report.durationMs / 1000);
  }

  handlerFailed(reason: string): void {
    this.handlerFailures.inc({ reason });
  }

  requested({ method, code }: RequestReport): void {
    this.requests.inc({ method, code: String(code) });
  }

  watchInterrupted(kind: string): void {
    this.watchInterruptions.inc({ kind });
  }

  hinted(result: HintResult): void {
    this.hints.inc({ result });
  }

  /** So many changes came without a hint. */
  changesUnannounced(count: number): void {
    this.unannounced.inc(count);
  }

  eventDropped(): void {
    this.droppedEvents.inc();
  }

  /** Gives what the recording of runs tells as metrics too. */
  observeRecording(figures: () => RecordingFigures): void {
    this.count("runs_recorded_total", "Runs recorded as Workflows", () => figures().recorded);
    this.count(
      "runs_coalesced_total",
      "Runs that another one's Workflow stands for",
      () => figures().coalesced,
    );
    this.count("runs_dropped_total", "Runs not recorded, and never to be", () => figures().dropped);
    this.gauge("runs_waiting", "Runs that wait to be recorded", () => figures().waiting);
    this.gauge(
      "recording_lag_seconds",
      "How long the first run in line has been waiting to be recorded",
      () => figures().lagSeconds,
    );
  }

  /** A counter that somebody else counts. */
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

  private counter<Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> {
    return new Counter({ name: `argosy_${name}`, help, labelNames, registers: [this.registry] });
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
