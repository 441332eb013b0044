import type { WorkloadOptions } from "../workloads";
import type { ArchiveOptions } from "./archive";

/**
 * How a half of Argo, Events or Workflows, comes into the cluster.
 * "install": its CRDs and a controller of our own. "share": the CRDs are there, the controller is our own.
 * "adopt": both are there. "none": operators do without it.
 */
export const ARGO_MODES = ["install", "share", "adopt", "none"] as const;
export type ArgoMode = (typeof ARGO_MODES)[number];

/** What operators need to know of their platform: the output `platform` of the stack that makes it. */
export interface Platform {
  /** The version of Argosy that made it. Only a platform that exists has this field: arguments for a new one have not. */
  readonly argosyVersion: string;
  /** Where operators, their events and their runs live; Argo's controllers look after this one namespace. */
  readonly namespace: string;
  /** Whether it has Argo Events: without, there is no event bus, and runners see changes by their own watch alone. */
  readonly argoEvents: boolean;
  /** The JetStream version of the event bus, one that the events controller's configuration knows. "" without events. */
  readonly jetStreamVersion: string;
  /** Whether it has Argo Workflows: without, runs are not recorded, and no run has a pod of its own. */
  readonly argoWorkflows: boolean;
  /** The Workflow controller's instance id: it handles only Workflows that carry it as a label. "" for none. */
  readonly instanceId: string;
  /**
   * Whether the Workflow controller archives runs: then it is given those that a resident operator records as well.
   * @default false
   */
  readonly archivesRuns?: boolean;
  /** The only namespace from which the runners' metrics can be had. @default any */
  readonly prometheusNamespace?: string;
}

/** What the manifests of the platform depend on. */
export interface PlatformOptions extends WorkloadOptions {
  /** Where event bus, event sources, sensors, runners and Workflows live: the one namespace that Argo manages. */
  readonly namespace: string;
  /** Where Argo's controllers and argo-server live, with rights in {@link namespace} alone. */
  readonly controllerNamespace: string;
  /** Whether the two namespaces are ours to make. */
  readonly createNamespaces: boolean;
  /** The Workflow controller's instance id. "" for none. */
  readonly instanceId: string;
  /**
   * How Argo Events comes into the cluster. It knows no instance id: "share" is for a cluster whose other
   * controllers do not manage {@link namespace}.
   */
  readonly argoEvents: ArgoMode;
  /** How Argo Workflows comes into the cluster; argo-server comes and stays away with its controller. */
  readonly argoWorkflows: ArgoMode;
  /** Where the Workflow controller, if it is ours, archives runs. @default none */
  readonly archive?: ArchiveOptions;
  /** What of the monitoring is made. @default nothing */
  readonly monitoring?: MonitoringOptions;
  /** How many Workflows the Workflow controller, if it is ours, looks after at once. The others wait. @default 500 */
  readonly parallelism?: number;
}

/** Whether the product's CRDs are ours. */
export function ownsDefinitions(mode: ArgoMode): boolean {
  return mode === "install";
}

/** Whether the product's controller is ours. */
export function ownsController(mode: ArgoMode): boolean {
  return mode === "install" || mode === "share";
}

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
  /** The namespace that Prometheus runs in: nobody else may ask the runners for metrics. @default any */
  readonly namespace?: string;
}
