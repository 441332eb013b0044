import type { Manifest } from "../../../runtime/program";
import type { ConfigMap } from "../kinds";
import { labelsOf, type ManifestSet } from "../metadata";
import { namespacesOf } from "../platform/namespaces";
import type { PlatformOptions } from "../platform/options";
import { transformed } from "../transform";
import { buildAlertRules } from "./alerts";
import DASHBOARD from "./dashboard.json";

/** The objects by which a Prometheus Operator and a Grafana find the platform, as far as the program asks for them. */
export function buildMonitoring(options: PlatformOptions): ManifestSet {
  const { podMonitor, alertRules, dashboard } = options.monitoring ?? {};
  return {
    ...(podMonitor && { "pod-monitor": transformed("podMonitor", buildPodMonitor(options), options) }),
    ...(alertRules && { alerts: transformed("alertRules", buildAlertRules(options), options) }),
    ...(dashboard && { dashboard: transformed("dashboard", buildDashboard(options), options) }),
  };
}

/**
 * The parts with metrics in the operators' namespace, apart from the runners. Each of their pods has a port of the name
 * "metrics".
 */
const EVENT_PATH = ["event-bus", "event-source", "sensor", "keeper", "intake"];
/** Prometheus' names for two labels of a pod (prometheus, discovery/kubernetes/pod.go). */
const COMPONENT = "__meta_kubernetes_pod_label_app_kubernetes_io_component";
const NAME = "__meta_kubernetes_pod_label_app_kubernetes_io_name";

/**
 * All parts of the platform with metrics, in one PodMonitor: the runners of all operators of the namespace, including those of
 * other programs, the event path, and Argo's controllers if they are ours.
 *
 * It gives each target the label `component`, and each runner the label `operator`, which alerts and dashboard use. Labels of the
 * metrics themselves win (`honorLabels`): a Workflow's namespace is not the controller's.
 */
function buildPodMonitor(options: PlatformOptions): Manifest {
  const { namespace, monitoring } = options;
  const { controllers } = namespacesOf(options);
  return {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PodMonitor",
    metadata: {
      name: "argosy",
      namespace,
      labels: { ...labelsOf("argosy", "monitoring"), ...monitoring?.labels },
    },
    spec: {
      namespaceSelector: { matchNames: [namespace, ...(controllers === undefined ? [] : [controllers])] },
      selector: {
        matchLabels: { "app.kubernetes.io/managed-by": "argosy" },
        matchExpressions: [
          {
            key: "app.kubernetes.io/component",
            operator: "In",
            values: [
              "runner",
              ...(options.argoEvents === "none" ? [] : EVENT_PATH),
              ...(controllers === undefined ? [] : ["controller"]),
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

/** The label by which Grafana's sidecar finds dashboards by default (grafana helm chart, sidecar.dashboards.label). */
const SIDECAR_LABELS = { grafana_dashboard: "1" };

/**
 * The dashboard, in a ConfigMap by which Grafana's sidecar finds it. `dashboard.json` can also be imported by hand. It has the
 * form of Grafana 11, which later versions convert to theirs. We only fill in the namespace that it shows first.
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
