import { DNS_LABEL, fields, flag, mapOf, optional, pattern } from "../../runtime/program";
import type { MonitoringOptions } from "../manifests/platform/options";

/** What a configuration says of monitoring. */
export interface MonitoringSettings extends MonitoringOptions {
  /** Where Prometheus lives: nobody else may ask the runners for metrics. @default anywhere */
  readonly namespace?: string;
}

const labels = mapOf(
  pattern(
    /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/,
    "the key of a label",
    'Give one, for example "release".',
  ),
  pattern(
    /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/,
    "the value of a label",
    'Give one, for example "prometheus".',
  ),
  "Give labels, for example { release: prometheus }.",
);
const off = optional(flag("Leave it out for false."));

/** The shape of the monitoring's options. */
export const MONITORING_SHAPE = fields(
  {
    podMonitor: off,
    alertRules: off,
    dashboard: off,
    labels: optional(labels),
    dashboardLabels: optional(labels),
    namespace: optional(
      pattern(DNS_LABEL, "the name of a namespace", "Name the one that Prometheus runs in, or leave it out."),
    ),
  },
  "Give what you want of podMonitor, alertRules, dashboard, labels, dashboardLabels and namespace.",
);
