import type { WorkloadOptions } from "../workloads";
import type { ArchiveOptions } from "./archive";

/**
 * Who installs a half of Argo, Events or Workflows. "install": we install the CRDs and the controller. "share":
 * the CRDs exist already, and we install the controller. "adopt": both exist already. "none": operators do without this half.
 */
export const ARGO_MODES = ["install", "share", "adopt", "none"] as const;
export type ArgoMode = (typeof ARGO_MODES)[number];

/** The facts about a platform that operators need: the output `platform` of the stack that creates the platform. */
export interface Platform {
  /** The version of Argosy that created the platform. Arguments for a new platform do not have this field. */
  readonly argosyVersion: string;
  /** The operators' namespace, which contains the operators, their events and their runs. Argo's controllers manage only this namespace. */
  readonly namespace: string;
  /** Whether the platform has Argo Events. If not, there is no event bus, and runners see changes only by their own watches. */
  readonly argoEvents: boolean;
  /**
   * The JetStream version of the event bus, one that the configuration of the events controller contains. "" without Argo Events.
   */
  readonly jetStreamVersion: string;
  /** Whether the platform has Argo Workflows. If not, runs are not recorded, and no run has a pod of its own. */
  readonly argoWorkflows: boolean;
  /** The instance id of the Workflow controller, which handles only Workflows that have this id as a label. "" for none. */
  readonly instanceId: string;
  /**
   * Whether Argo makes the pods of runs without an init container of its own.
   * @default false
   */
  readonly initlessPods?: boolean;
  /**
   * Whether the Workflow controller archives runs. If so, the recorded runs of resident operators are archived as well.
   * @default false
   */
  readonly archivesRuns?: boolean;
  /** The only namespace from which the runners' metrics can be read. @default any */
  readonly prometheusNamespace?: string;
}

/** The options of the platform's manifests. */
export interface PlatformOptions extends WorkloadOptions {
  /** The namespace of the event bus, event sources, sensors, runners and Workflows: the only one that Argo manages. */
  readonly namespace: string;
  /** The namespace of Argo's controllers and argo-server, which have rights only in {@link namespace}. */
  readonly controllerNamespace: string;
  /** Whether we create the two namespaces. */
  readonly createNamespaces: boolean;
  /** The Workflow controller's instance id. "" for none. */
  readonly instanceId: string;
  /**
   * Who installs Argo Events. Argo Events has no instance id, so "share" is only for a cluster whose other
   * controllers do not manage {@link namespace}.
   */
  readonly argoEvents: ArgoMode;
  /** Who installs Argo Workflows. argo-server is installed if the controller is. */
  readonly argoWorkflows: ArgoMode;
  /** Whether the Workflow controller makes pods without an init container of Argo's own. @default false */
  readonly initlessPods?: boolean;
  /** Where our Workflow controller archives runs. @default none */
  readonly archive?: ArchiveOptions;
  /** Which parts of the monitoring are created. @default none */
  readonly monitoring?: MonitoringOptions;
  /** How many Workflows run at the same time under our Workflow controller. The others wait. @default 500 */
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

/** Which parts of the monitoring are created. The argument `monitoring` says what each field means. */
export interface MonitoringOptions {
  readonly podMonitor?: boolean;
  readonly alertRules?: boolean;
  readonly dashboard?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
  readonly dashboardLabels?: Readonly<Record<string, string>>;
  readonly namespace?: string;
}
