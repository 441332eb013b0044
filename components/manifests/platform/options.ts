import type { PodPlacement } from "../../placement";
import type { Installation } from "../../platform";
import type { MonitoringOptions } from "../monitoring/options";
import type { ArchiveOptions } from "./archive";

/** What the manifests of the platform depend on. {@link checkPlatformOptions} tells what is wrong with them. */
export interface PlatformOptions {
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
  readonly argoEvents: Installation;
  /** How Argo Workflows comes into the cluster; argo-server comes and stays away with its controller. */
  readonly argoWorkflows: Installation;
  /** Where the Workflow controller, if it is ours, archives runs. @default none */
  readonly archive?: ArchiveOptions;
  /** What of the monitoring is made. @default nothing */
  readonly monitoring?: MonitoringOptions;
  readonly placement: PodPlacement;
}

/** Whether the product's CRDs are ours. */
export function ownsDefinitions(installation: Installation): boolean {
  return installation === "install";
}

/** Whether the product's controller is ours. */
export function ownsController(installation: Installation): boolean {
  return installation !== "adopt";
}
