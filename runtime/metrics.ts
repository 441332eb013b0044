import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { RequestReport } from "./kubernetes/transport";
import type { ReconcileReport } from "./reconcileReport";

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

  eventDropped(): void {
    this.droppedEvents.inc();
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
