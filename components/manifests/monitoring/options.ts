/** What of the platform's monitoring is made, and how a Prometheus Operator and a Grafana find it. All off by default. */
export interface MonitoringOptions {
  /** Whether a PodMonitor tells a Prometheus Operator which pods to scrape. @default false */
  readonly podMonitor?: boolean;
  /** Whether a PrometheusRule gives it the alerts. @default false */
  readonly alertRules?: boolean;
  /** Whether a ConfigMap gives Grafana the dashboard. @default false */
  readonly dashboard?: boolean;
  /** Labels of PodMonitor and PrometheusRule, by which the Prometheus Operator selects them. @default none */
  readonly labels?: Readonly<Record<string, string>>;
  /** Labels of the dashboard's ConfigMap, by which Grafana's sidecar finds it. @default grafana_dashboard: "1" */
  readonly dashboardLabels?: Readonly<Record<string, string>>;
}

/** A kind of the Prometheus Operator's, the option that needs it, and its CRD. */
export const MONITORING_KINDS = [
  { option: "podMonitor", kind: "PodMonitor", crd: "podmonitors.monitoring.coreos.com" },
  { option: "alertRules", kind: "PrometheusRule", crd: "prometheusrules.monitoring.coreos.com" },
] as const;
