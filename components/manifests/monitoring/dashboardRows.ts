/** One query of a panel, in PromQL with Grafana's variables, and the name of each of its lines. */
export interface DashboardQuery {
  readonly expr: string;
  readonly legend: string;
}

/** One panel of the dashboard. */
export interface DashboardPanel {
  readonly title: string;
  /** What an operator should see in it. */
  readonly description: string;
  /** Grafana's word for the unit: "s", "ops" (a second), "short", "bytes". */
  readonly unit: string;
  readonly queries: readonly DashboardQuery[];
}

/** Panels side by side below a title. */
export interface DashboardRow {
  readonly title: string;
  readonly panels: readonly DashboardPanel[];
}

/** What the variables of the dashboard select. */
const SELECTED = 'namespace="$namespace",operator=~"$operator"';
/** Everything that the PodMonitor of the namespace knows, Argo's controllers too. */
const PLATFORM = 'job="$namespace/argosy"';

/** How fast a counter of the runners grows, by operator and further labels. */
function rate(metric: string, ...by: readonly string[]): string {
  return `sum by (${["operator", ...by].join(", ")}) (rate(${metric}{${SELECTED}}[$__rate_interval]))`;
}

/** The sum of a gauge over an operator's runners: a standby has 0. */
function sum(metric: string): string {
  return `sum by (operator) (${metric}{${SELECTED}})`;
}

/** The largest value of a gauge among an operator's runners. */
function max(metric: string): string {
  return `max by (operator) (${metric}{${SELECTED}})`;
}

function duration(quantile: number): string {
  return `histogram_quantile(${quantile}, ${rate("argosy_reconcile_duration_seconds_bucket", "le")})`;
}

/** The dashboard, row by row. */
export const DASHBOARD_ROWS: readonly DashboardRow[] = [
  {
    title: "Operators",
    panels: [
      {
        title: "Reconciles",
        description: "How many a second, by result. Skipped ones found their object gone, paused or changed.",
        unit: "ops",
        queries: [{ expr: rate("argosy_reconciles_total", "result"), legend: "{{operator}} {{result}}" }],
      },
      {
        title: "Duration of a reconcile",
        description: "From reading the object to writing its status, half of them and 99 of 100.",
        unit: "s",
        queries: [
          { expr: duration(0.5), legend: "{{operator}} p50" },
          { expr: duration(0.99), legend: "{{operator}} p99" },
        ],
      },
      {
        title: "Objects that fail",
        description: "Objects whose last reconcile failed. Their Ready condition says why.",
        unit: "short",
        queries: [{ expr: sum("argosy_objects_failing"), legend: "{{operator}}" }],
      },
      {
        title: "Failures by reason",
        description: "Failed reconciles a second.",
        unit: "ops",
        queries: [
          {
            expr: `${rate("argosy_reconcile_failures_total", "reason")} > 0`,
            legend: "{{operator}} {{reason}}",
          },
        ],
      },
      {
        title: "Changes of children",
        description: "What was created, patched and deleted, a second.",
        unit: "ops",
        queries: [
          {
            expr: rate("argosy_child_changes_total", "verb", "kind"),
            legend: "{{operator}} {{verb}} {{kind}}",
          },
        ],
      },
      {
        title: "Objects that somebody else changes back",
        description: "Each time that they are applied. Their Events say who does.",
        unit: "short",
        queries: [{ expr: sum("argosy_objects_contested"), legend: "{{operator}}" }],
      },
      {
        title: "Leaders",
        description: "One for each operator. 0: nobody reconciles. 2, for a moment: a takeover.",
        unit: "short",
        queries: [{ expr: sum("argosy_leader"), legend: "{{operator}}" }],
      },
    ],
  },
  {
    title: "Queue",
    panels: [
      {
        title: "Objects that wait",
        description: "For their reconcile. It should come back to 0.",
        unit: "short",
        queries: [{ expr: sum("argosy_queue_depth"), legend: "{{operator}}" }],
      },
      {
        title: "The longest wait",
        description: "How long the object that waits longest has been waiting.",
        unit: "s",
        queries: [{ expr: max("argosy_queue_oldest_seconds"), legend: "{{operator}}" }],
      },
      {
        title: "Reconciles at once",
        description:
          "Beside the objects and children that are known. The operator's concurrency is the bound.",
        unit: "short",
        queries: [
          { expr: sum("argosy_reconciles_active"), legend: "{{operator}} at work" },
          { expr: max("argosy_children"), legend: "{{operator}} children" },
        ],
      },
      {
        title: "Requests to the API server",
        description: "A second, by method and status code; 0 for one without an answer.",
        unit: "ops",
        queries: [
          {
            expr: rate("argosy_api_requests_total", "method", "code"),
            legend: "{{operator}} {{method}} {{code}}",
          },
        ],
      },
    ],
  },
  {
    title: "Handlers",
    panels: [
      {
        title: "Processes",
        description: "Handler processes alive. They start on demand, and end when idle.",
        unit: "short",
        queries: [{ expr: sum("argosy_handler_processes"), legend: "{{operator}}" }],
      },
      {
        title: "Starts",
        description:
          "Handler processes started, a second. As many as reconciles: the handler ends after each answer.",
        unit: "ops",
        queries: [{ expr: rate("argosy_handler_process_starts_total"), legend: "{{operator}}" }],
      },
      {
        title: "Processes that failed",
        description: "Crashed, hung or broke the contract, a second.",
        unit: "ops",
        queries: [
          {
            expr: `${rate("argosy_handler_process_failures_total", "reason")} > 0`,
            legend: "{{operator}} {{reason}}",
          },
        ],
      },
      {
        title: "Late answers",
        description:
          "Lines that answered a request which had been answered already, a second. They were discarded.",
        unit: "ops",
        queries: [{ expr: `${rate("argosy_handler_late_answers_total")} > 0`, legend: "{{operator}}" }],
      },
    ],
  },
  {
    title: "Events",
    panels: [
      {
        title: "Events received",
        description: "By the runners, a second. Known: the watch had told of the change already.",
        unit: "ops",
        queries: [{ expr: rate("argosy_hints_total", "result"), legend: "{{operator}} {{result}}" }],
      },
      {
        title: "Changes that no event announced",
        description: "A second. It should be 0: otherwise Argo Events loses events.",
        unit: "ops",
        queries: [{ expr: rate("argosy_unannounced_changes_total"), legend: "{{operator}}" }],
      },
      {
        title: "Events on their way",
        description: "Published by event sources and handed on by sensors, a second, and what failed.",
        unit: "ops",
        queries: [
          {
            expr: 'sum by (event_name) (rate(argo_events_events_sent_total{namespace="$namespace"}[$__rate_interval]))',
            legend: "published {{event_name}}",
          },
          {
            expr: 'sum by (event_name) (rate(argo_events_events_sent_failed_total{namespace="$namespace"}[$__rate_interval])) > 0',
            legend: "not published {{event_name}}",
          },
          {
            expr: 'sum by (trigger_name) (rate(argo_events_action_triggered_total{namespace="$namespace"}[$__rate_interval]))',
            legend: "handed on {{trigger_name}}",
          },
          {
            expr: 'sum by (trigger_name) (rate(argo_events_action_failed_total{namespace="$namespace"}[$__rate_interval])) > 0',
            legend: "not handed on {{trigger_name}}",
          },
        ],
      },
      {
        title: "Event path begun anew",
        description:
          "Pods of sensors and event sources that began before their event bus, and how many of them were replaced.",
        unit: "short",
        queries: [
          {
            expr: 'max by (event_path) (argosy_event_path_pods_outdated{namespace="$namespace"})',
            legend: "{{event_path}} outdated",
          },
          {
            expr: 'sum by (event_path, part) (increase(argosy_event_path_pods_replaced_total{namespace="$namespace"}[$__rate_interval]))',
            legend: "{{event_path}} {{part}} replaced",
          },
        ],
      },
      {
        title: "Watches interrupted",
        description: "A second, by kind. They are resumed by themselves.",
        unit: "ops",
        queries: [
          { expr: rate("argosy_watch_interruptions_total", "kind"), legend: "{{operator}} {{kind}}" },
        ],
      },
    ],
  },
  {
    title: "Recording",
    panels: [
      {
        title: "Runs recorded as Workflows",
        description: "A second. Coalesced ones are told of by the Workflow of another run.",
        unit: "ops",
        queries: [
          { expr: rate("argosy_runs_recorded_total"), legend: "{{operator}} recorded" },
          { expr: rate("argosy_runs_coalesced_total"), legend: "{{operator}} coalesced" },
        ],
      },
      {
        title: "Not recorded",
        description: "Runs and Kubernetes Events that were dropped, a second.",
        unit: "ops",
        queries: [
          { expr: rate("argosy_runs_dropped_total"), legend: "{{operator}} runs" },
          { expr: rate("argosy_events_dropped_total"), legend: "{{operator}} Kubernetes Events" },
        ],
      },
      {
        title: "Recording lag",
        description: "How long the run that waits longest has been waiting to be recorded.",
        unit: "s",
        queries: [{ expr: max("argosy_recording_lag_seconds"), legend: "{{operator}}" }],
      },
      {
        title: "Runs that wait",
        description: "To be recorded.",
        unit: "short",
        queries: [{ expr: sum("argosy_runs_waiting"), legend: "{{operator}}" }],
      },
    ],
  },
  {
    title: "Platform",
    panels: [
      {
        title: "Pods that answer",
        description: "1 where the last scrape succeeded, 0 where the pod is down.",
        unit: "short",
        queries: [
          { expr: `min by (component, container) (up{${PLATFORM}})`, legend: "{{component}} {{container}}" },
        ],
      },
      {
        title: "Memory",
        description: "Of Argo's own programs, as they tell it.",
        unit: "bytes",
        queries: [
          {
            expr: `max by (container, component) (go_memstats_sys_bytes{${PLATFORM}})`,
            legend: "{{component}} {{container}}",
          },
        ],
      },
    ],
  },
];
