import { IS_POSTPONED, type Manifest } from "../../../runtime/program";
import { labelsOf } from "../metadata";
import { runnerNameOf } from "../names";
import { ownsController, type PlatformOptions } from "../platform/options";

/** The alerts, as a Prometheus Operator takes them. */
export function buildAlertRules(options: PlatformOptions): Manifest {
  const { namespace, monitoring } = options;
  return {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: {
      name: "argosy",
      namespace,
      labels: { ...labelsOf("argosy", "monitoring"), ...monitoring?.labels },
    },
    spec: {
      // The name of a group must be unique in all of Prometheus.
      groups: [{ name: `argosy-${namespace}`, rules: alertsOf(options).map((alert) => ({ ...alert })) }],
    },
  };
}

/** One alert of Prometheus' (https://prometheus.io/docs/prometheus/latest/configuration/alerting_rules/). */
export interface Alert {
  readonly alert: string;
  readonly expr: string;
  /** For how long the expression has to hold. @default once is enough */
  readonly for?: string;
  readonly labels: { readonly severity: "warning" | "critical" };
  readonly annotations: {
    /** The problem, in a sentence. */
    readonly summary: string;
    /** What the problem means, and what to do about it. */
    readonly remedy: string;
  };
}

const PAGE = "More: https://github.com/argosy-dev/argosy/blob/main/docs/operations.md";
const ONE = "{{ $labels.operator }}";
const RUNNER = runnerNameOf(ONE);

/**
 * The problems that need a person, and what to do about each. There are few alerts: each is worth a page at night, or a look by
 * day.
 */
export function alertsOf(options: PlatformOptions): Alert[] {
  const hasEvents = options.argoEvents !== "none";
  return [
    ...operatorAlerts(options),
    ...(hasEvents ? [silenceAlert(options)] : []),
    ...(options.argoWorkflows === "none" ? [] : recordingAlerts(options)),
    ...(hasEvents ? [...keeperAlerts(options), postponedAlert(options)] : []),
    ...platformAlerts(options),
  ];
}

/** Alerts about single operators: each has the label `operator`. */
function operatorAlerts({ namespace }: PlatformOptions): Alert[] {
  const here = `namespace="${namespace}"`;
  const by = "by (namespace, operator)";
  const runnerLog = `kubectl -n ${namespace} logs deployment/${RUNNER} --container runner`;
  return [
    {
      alert: "ArgosyNoLeader",
      expr: `max ${by} (argosy_leader{${here}}) == 0 or max ${by} (up{${here},component="runner"}) == 0`,
      for: "2m",
      labels: { severity: "critical" },
      annotations: {
        summary: `No runner of ${ONE} leads: its objects are not reconciled.`,
        remedy: `kubectl -n ${namespace} get leases names the last leader of each operator; ${runnerLog} says why there is none. ${PAGE}`,
      },
    },
    {
      alert: "ArgosyObjectsFailing",
      expr: `max ${by} (argosy_objects_failing{${here}}) > 0`,
      for: "10m",
      labels: { severity: "warning" },
      annotations: {
        summary: `{{ $value }} objects of ${ONE} fail to reconcile.`,
        remedy: `${runnerLog} | grep '"level":"error"' names them and the reason, as their Ready conditions do. ${PAGE}`,
      },
    },
    {
      alert: "ArgosyRolloutHalted",
      expr: `max ${by} (argosy_rollout_halted{${here}}) > 0`,
      labels: { severity: "warning" },
      annotations: {
        summary: `The staged roll-out of a new version of ${ONE} has halted.`,
        remedy: `argosy rollout status ${ONE} says why; argosy rollout undo ${ONE}, or resume, ends the halt. ${PAGE}`,
      },
    },
    {
      alert: "ArgosyQueueStuck",
      expr: `max ${by} (argosy_queue_oldest_seconds{${here}}) > 300`,
      for: "1m",
      labels: { severity: "warning" },
      annotations: {
        summary: `An object of ${ONE} has been waiting for its reconcile for {{ $value | humanizeDuration }}.`,
        remedy: `The handler is too slow for the number of objects: give the operator a higher concurrency, or its handler more CPU (kubectl -n ${namespace} top pods --containers). ${PAGE}`,
      },
    },
    {
      alert: "ArgosyHandlerRestarts",
      expr: `sum by (namespace, operator, reason) (increase(argosy_handler_process_failures_total{${here}}[15m])) > 5`,
      labels: { severity: "warning" },
      annotations: {
        summary: `The handler of ${ONE} was restarted {{ $value | humanize }} times within 15 minutes ({{ $labels.reason }}).`,
        remedy: `kubectl -n ${namespace} logs deployment/${RUNNER} --container handler shows its standard error. Out of memory: raise resources in operator.yaml; too slow: timeoutSeconds. ${PAGE}`,
      },
    },
  ];
}

/** The alert about an event path that brings no hint of an operator's objects, although they change. */
function silenceAlert({ namespace }: PlatformOptions): Alert {
  return {
    alert: "ArgosyEventPathSilent",
    // A single event may be lost when something restarts. In a storm hints come late, but they come.
    expr: `max by (namespace, operator) (argosy_event_silence_seconds{namespace="${namespace}"}) > 30`,
    for: "5m",
    labels: { severity: "warning" },
    annotations: {
      summary: `Hints of ${ONE} are lost: changes have come for {{ $value | humanizeDuration }} without one.`,
      remedy:
        "The runner has seen these changes nevertheless. New pods of event source and sensor start again with the bus: " +
        `kubectl -n ${namespace} delete pods --selector 'app.kubernetes.io/managed-by=argosy,app.kubernetes.io/component in (event-source,sensor)'. ${PAGE}`,
    },
  };
}

/** Alerts about the recording of runs as Workflows. No reconcile depends on it. */
function recordingAlerts({ namespace }: PlatformOptions): Alert[] {
  const here = `namespace="${namespace}"`;
  const by = "by (namespace, operator)";
  const remedy = `kubectl -n ${namespace} logs deployment/${RUNNER} --container runner | grep recorded says why. Objects are reconciled nevertheless. ${PAGE}`;
  return [
    {
      alert: "ArgosyRunsDropped",
      expr: `sum ${by} (increase(argosy_runs_dropped_total{${here}}[15m])) > 0`,
      labels: { severity: "warning" },
      annotations: {
        summary: `{{ $value | humanize }} runs of ${ONE} were not recorded as Workflows.`,
        remedy,
      },
    },
    {
      alert: "ArgosyRecordingLate",
      expr: `max ${by} (argosy_recording_lag_seconds{${here}}) > 300`,
      for: "1m",
      labels: { severity: "warning" },
      annotations: {
        summary: `A run of ${ONE} has been waiting to be recorded for {{ $value | humanizeDuration }}.`,
        remedy,
      },
    },
  ];
}

/** Alerts about the event bus and its keeper. Each has the label `event_path`. */
function keeperAlerts({ namespace }: PlatformOptions): Alert[] {
  const here = `namespace="${namespace}"`;
  const path = "{{ $labels.event_path }}";
  const log = `kubectl -n ${namespace} logs deployment/${path}-keeper`;
  return [
    {
      alert: "ArgosyEventPathOutdated",
      expr: `max by (namespace, event_path) (argosy_event_path_pods_outdated{${here}}) > 0`,
      // The keeper replaces first the sensor and then the event source, a minute apart.
      for: "10m",
      labels: { severity: "critical" },
      annotations: {
        summary: `The event bus of ${path} restarted, but {{ $value }} pods that started before it still run: they lose events.`,
        remedy: `${log} says why it cannot replace them, such as a disruption budget of yours. ${PAGE}`,
      },
    },
    {
      alert: "ArgosyEventBusRestarting",
      expr: `sum by (namespace, event_path) (increase(argosy_event_path_pods_replaced_total{${here}}[1h])) > 4`,
      labels: { severity: "warning" },
      annotations: {
        summary: `The event bus of ${path} restarts repeatedly: {{ $value | humanize }} pods were replaced for it within an hour.`,
        remedy: `kubectl -n ${namespace} describe pods --selector app.kubernetes.io/component=event-bus says why it ends. A volume (eventBusStorage) or three members (eventBusReplicas) keep what it has. ${PAGE}`,
      },
    },
  ];
}

/** The alert about events from outside from which no object can be created now. */
function postponedAlert({ namespace }: PlatformOptions): Alert {
  const here = `namespace="${namespace}"`;
  return {
    alert: "ArgosyEventsPostponed",
    // The sensor sends a postponed event again once a second. A short outage of the API server is over before this holds so long.
    expr: `sum by (namespace, event) (increase(argosy_intake_events_total{${here},result="postponed"}[5m])) > 0`,
    for: "10m",
    labels: { severity: "warning" },
    annotations: {
      summary:
        "The intake can neither create nor wake an object for the event {{ $labels.event }}: it waits, and so do all later events of that name.",
      remedy: `kubectl -n ${namespace} logs --selector app.kubernetes.io/component=intake --tail 100 | grep '${IS_POSTPONED}' says what is missing, such as a namespace, a right, room in a quota or a runner. The bus keeps an event for a day. More: https://github.com/argosy-dev/argosy/blob/main/docs/events.md`,
    },
  };
}

/** Alerts about the platform of all operators. */
function platformAlerts(options: PlatformOptions): Alert[] {
  const { namespace, controllerNamespace } = options;
  const controllers = [
    ...(ownsController(options.argoEvents) ? ["argo-events-controller"] : []),
    ...(ownsController(options.argoWorkflows) ? ["workflow-controller"] : []),
  ];
  const eventPath = options.argoEvents === "none" ? [] : ["event-bus", "event-source", "sensor"];
  const operators = `up{namespace="${namespace}",component=~"${["runner", ...eventPath].join("|")}"}`;
  const missing = eventPath.map(
    (component) =>
      `label_replace(group(${operators}) unless group(up{namespace="${namespace}",component="${component}"}), "component", "${component}", "", "")`,
  );
  const down = `up{namespace="${controllerNamespace}",component="controller"} == 0`;
  const absent = controllers.map(
    (container) =>
      `absent(up{namespace="${controllerNamespace}",component="controller",container="${container}"})`,
  );
  const eventPathDown: Alert = {
    alert: "ArgosyEventPathDown",
    // A pod that cannot be scheduled is no target.
    expr: [`up{namespace="${namespace}",component=~"${eventPath.join("|")}"} == 0`, ...missing].join(" or "),
    for: "5m",
    labels: { severity: "critical" },
    annotations: {
      summary:
        "The {{ $labels.component }} of Argo Events is down: operators go on, because they have their own watch. Events from outside wait.",
      remedy: `kubectl -n ${namespace} describe pods --selector app.kubernetes.io/component={{ $labels.component }} says why. ${PAGE}`,
    },
  };
  const keeperDown: Alert = {
    alert: "ArgosyKeeperDown",
    expr: `up{namespace="${namespace}",component="keeper"} == 0 or group(${operators}) unless group(up{namespace="${namespace}",component="keeper"})`,
    for: "15m",
    labels: { severity: "warning" },
    annotations: {
      summary:
        "The keeper of the event path is down: if the event bus restarts, events are lost until the keeper is back.",
      remedy: `kubectl -n ${namespace} describe pods --selector app.kubernetes.io/component=keeper says why. ${PAGE}`,
    },
  };
  const controllerDown: Alert = {
    alert: "ArgosyControllerDown",
    expr: [down, ...absent].join(" or "),
    for: "5m",
    labels: { severity: "warning" },
    annotations: {
      summary:
        "{{ $labels.container }} is down: operators go on; what needs a Workflow, or a new pod of the event path, waits.",
      remedy: `kubectl -n ${controllerNamespace} describe pods --selector app.kubernetes.io/component=controller says why. ${PAGE}`,
    },
  };
  return [
    ...(eventPath.length > 0 ? [eventPathDown, keeperDown] : []),
    ...(controllers.length > 0 ? [controllerDown] : []),
  ];
}
