import type { Registry } from "prom-client";
import { Metrics } from "../../runtime/engine/metrics";
import { Intake } from "../../runtime/programs/intake/intake";
import { Keeper } from "../../runtime/programs/keep/keeper";
import type { Outbox } from "../../runtime/report/outbox";
import type { Recorder } from "../../runtime/report/runRecorder";
import { code, sentence, table } from "./table";

const INTRODUCTION = `# Metrics

Runners, the keeper and the intake serve these metrics for Prometheus at port 9090 of their pods, under \`/metrics\`. This page is generated from the metrics that they register. [Operations](../operations.md#look-at-the-metrics) explains how to read them by hand. [Monitoring](../tasks/monitoring.md#monitoring) explains how Prometheus scrapes them, with alerts and a dashboard.
`;

/** docs/reference/metrics.md: every metric with its help text. */
export function metricsPage(): string {
  const parts: [title: string, about: string, registry: Registry][] = [
    ["Runner", "Each metric also has the label `operator`.", runnerMetrics("name").registry],
    [
      "Keeper",
      "The keeper replaces outdated pods of the event path. Each metric also has the label `event_path`.",
      keeperMetrics(),
    ],
    [
      "Intake",
      "The intake creates custom resources from events from outside. Each metric also has the label `installation`.",
      intakeMetrics(),
    ],
  ];
  const sections = parts.map(([title, about, registry]) => `## ${title}\n\n${about}\n\n${rowsOf(registry)}`);
  return [INTRODUCTION, ...sections].join("\n");
}

function rowsOf(registry: Registry): string {
  const rows = registry.getMetricsAsArray().map((metric) => {
    // Declared by prom-client for its own classes only.
    const { labelNames = [], type } = metric as unknown as { labelNames?: readonly string[]; type: string };
    return [code(metric.name), type, labelNames.map(code).join(", "), sentence(metric.help)];
  });
  return table(["metric", "type", "labels", "meaning"], rows);
}

/** The metrics of a runner that does nothing, including those that are registered with their first value. */
export function runnerMetrics(operator: string): Metrics {
  const none = () => 0;
  const metrics = new Metrics(operator, {
    queue_depth: none,
    queue_oldest_seconds: none,
    resync_late_seconds: none,
    objects_failing: none,
    objects_contested: none,
    reconciles_active: none,
    handler_processes: none,
    children: none,
    rollout_objects_waiting: none,
    rollout_halted: none,
    leader: none,
  });
  metrics.observeRecording(
    { recorded: 0, coalesced: 0, dropped: 0 } as Recorder,
    { recordsWaiting: 0, lagSeconds: 0 } as Outbox,
  );
  metrics.observeEvents(none);
  metrics.observeTraces({ sent: 0, dropped: 0 });
  return metrics;
}

/** The metrics of a keeper that does nothing. */
export function keeperMetrics(): Registry {
  const options = { namespace: "argosy", eventPath: "argosy", instance: "keeper", onNotice: () => {} };
  return new Keeper({ ...options, client: {} as ConstructorParameters<typeof Keeper>[0]["client"] }).registry;
}

/**
 * The metrics of an intake that has taken nothing.
 * @param subjects the events that it knows
 */
export function intakeMetrics(subjects: readonly string[] = []): Registry {
  type Options = ConstructorParameters<typeof Intake>[0];
  const events = subjects.map((subject) => ({ subject, spec: {}, id: [] }));
  return new Intake({ file: { installation: "argosy", events } } as unknown as Options).registry;
}
