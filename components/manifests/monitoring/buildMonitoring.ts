import type { ManifestSet } from "../manifestSet";
import type { PlatformOptions } from "../platform/options";
import { buildAlertRules } from "./alertRules";
import { buildDashboard } from "./dashboard";
import { buildPodMonitor } from "./podMonitor";

/** What a Prometheus Operator and a Grafana find of the platform, as far as it is asked for. */
export function buildMonitoring(options: PlatformOptions): ManifestSet {
  const { podMonitor, alertRules, dashboard } = options.monitoring ?? {};
  return {
    ...(podMonitor && { "pod-monitor": buildPodMonitor(options) }),
    ...(alertRules && { alerts: buildAlertRules(options) }),
    ...(dashboard && { dashboard: buildDashboard(options) }),
  };
}
