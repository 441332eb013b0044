import type { Manifest } from "../../../runtime/program";
import { labelsOf } from "../labels";
import type { PlatformOptions } from "../platform/options";
import { alertsOf } from "./alerts";

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
      // A group's name is one of all of Prometheus'.
      groups: [{ name: `argosy-${namespace}`, rules: alertsOf(options).map((alert) => ({ ...alert })) }],
    },
  };
}
