import type { Manifest } from "../../../runtime/program";
import type { ConfigMap } from "../kinds";
import { labelsOf, type ManifestSet } from "../metadata";
import { ownsController, type PlatformOptions } from "../platform/options";
import { transformed } from "../transform";
import { buildAlertRules } from "./alerts";
import DASHBOARD from "./dashboard.json";

/** What a Prometheus Operator and a Grafana find of the platform, as far as it is asked for. */
export function buildMonitoring(options: PlatformOptions): ManifestSet {
  const { podMonitor, alertRules, dashboard } = options.monitoring ?? {};
  return {
    ...(podMonitor && { "pod-monitor": transformed("podMonitor", buildPodMonitor(options), options) }),
    ...(alertRules && { alerts: transformed("alertRules", buildAlertRules(options), options) }),
    ...(dashboard && { dashboard: transformed("dashboard", buildDashboard(options), options) }),
  };
}

/** What gives metrics beside the runners in the operators' namespace: each of these pods has a port of the name "metrics". */
const EVENT_PATH = ["event-bus", "event-source", "sensor", "keeper", "intake"];
/** Prometheus' names for two labels of a pod (prometheus, discovery/kubernetes/pod.go). */
const COMPONENT = "__meta_kubernetes_pod_label_app_kubernetes_io_component";
const NAME = "__meta_kubernetes_pod_label_app_kubernetes_io_name";

/**
 * Everything of the platform that gives metrics, in one PodMonitor: the runners of all operators of the namespace,
 * those of other programs too, the event path, and Argo's controllers where they are ours.
 *
 * It gives each target the label `component`, and each runner's `operator`; alerts and dashboard go by them. Labels of
 * the metrics themselves win (`honorLabels`): a Workflow's namespace is not the controller's.
 */
function buildPodMonitor(options: PlatformOptions): Manifest {
  const { namespace, controllerNamespace, monitoring } = options;
  const hasControllers = ownsController(options.argoEvents) || ownsController(options.argoWorkflows);
  return {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PodMonitor",
    metadata: {
      name: "argosy",
      namespace,
      labels: { ...labelsOf("argosy", "monitoring"), ...monitoring?.labels },
    },
    spec: {
      namespaceSelector: { matchNames: [namespace, ...(hasControllers ? [controllerNamespace] : [])] },
      selector: {
        matchLabels: { "app.kubernetes.io/managed-by": "argosy" },
        matchExpressions: [
          {
            key: "app.kubernetes.io/component",
            operator: "In",
            values: [
              "runner",
              ...(options.argoEvents === "none" ? [] : EVENT_PATH),
              ...(hasControllers ? ["controller"] : []),
            ],
          },
        ],
      },
      podMetricsEndpoints: [
        {
          port: "metrics",
          honorLabels: true,
          relabelings: [
            { sourceLabels: [COMPONENT], targetLabel: "component" },
            { sourceLabels: [COMPONENT, NAME], regex: "runner;(.+)", targetLabel: "operator" },
          ],
        },
      ],
    },
  };
}

/** What Grafana's sidecar looks for, unless it is told otherwise (grafana helm chart, sidecar.dashboards.label). */
const SIDECAR_LABELS = { grafana_dashboard: "1" };

/**
 * The dashboard, in a ConfigMap by which Grafana's sidecar finds it. `dashboard.json` may as well be imported by hand: its
 * form is that of Grafana 11, which later ones convert to theirs. Only the namespace that it shows first is ours to fill in.
 */
function buildDashboard({ namespace, monitoring }: PlatformOptions): ConfigMap {
  const variables = DASHBOARD.templating.list.map((variable) =>
    variable.name === "namespace"
      ? { ...variable, current: { text: namespace, value: namespace } }
      : variable,
  );
  const shown = { ...DASHBOARD, templating: { list: variables } };
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name: "argosy-dashboard",
      namespace,
      labels: { ...labelsOf("argosy", "monitoring"), ...(monitoring?.dashboardLabels ?? SIDECAR_LABELS) },
    },
    data: { "argosy.json": `${JSON.stringify(shown, undefined, 1)}\n` },
  };
}
