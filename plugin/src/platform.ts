import type * as pulumi from "@pulumi/pulumi";
import type { ContainerResources, Images, Placement, Pods } from "./pods";

// The platform: see contract.ts.

/** How a half of Argo comes into the cluster. */
export declare enum ArgoMode {
  /** Argosy installs the CRDs and the controller. */
  Install = "install",
  /** The CRDs exist already, and Argosy installs the controller. */
  Share = "share",
  /** Both the CRDs and the controller exist already. */
  Adopt = "adopt",
  /** Operators do without this half of Argo. */
  None = "none",
}

/** How the connection to a PostgreSQL is secured. */
export declare enum SslMode {
  Disable = "disable",
  Require = "require",
  VerifyCa = "verify-ca",
  VerifyFull = "verify-full",
}

/** A PostgreSQL in which Argo Workflows keeps runs. */
export interface Archive {
  host: pulumi.Input<string>;
  /** Default: 5432. */
  port?: number;
  database: pulumi.Input<string>;
  /**
   * The name of a Secret in the namespace of Argo's controllers. It has the keys `username` and `password`, and also
   * `ca.crt` if `sslMode` begins with "verify-".
   */
  secret: pulumi.Input<string>;
  /** Default: "require". */
  sslMode?: SslMode;
  /** How many days runs are kept. Default: 90. */
  keptDays?: number;
  /** The name of this cluster, which distinguishes its runs if several clusters share a database. Default: "default". */
  clusterName?: string;
}

/** Which parts of the monitoring are created, and how the Prometheus Operator and Grafana find them. */
export interface Monitoring {
  podMonitor?: boolean;
  alertRules?: boolean;
  dashboard?: boolean;
  /** Labels of PodMonitor and PrometheusRule, by which the Prometheus Operator selects them. Default: none. */
  labels?: Record<string, pulumi.Input<string>>;
  /** Labels of the dashboard's ConfigMap, by which Grafana's sidecar finds it. Default: `grafana_dashboard: "1"`. */
  dashboardLabels?: Record<string, pulumi.Input<string>>;
  /** The namespace that Prometheus runs in. Default: any. */
  namespace?: string;
}

/** A platform to create: Argo Events, Argo Workflows and argo-server. */
export interface Platform {
  /** The operators' namespace, which contains the operators, their events and their runs. Default: "argosy". */
  namespace?: string;
  /** The namespace of Argo's controllers. Default: "argosy-system". */
  controllerNamespace?: string;
  /** Whether to create these two namespaces. If false, they must exist already. Default: true. */
  createNamespaces?: boolean;
  /** How Argo Events comes into the cluster. Default: "install". */
  argoEvents?: ArgoMode;
  /**
   * How Argo Workflows comes into the cluster. With "adopt", give instanceId and initlessPods of the existing controller.
   * Default: "install".
   */
  argoWorkflows?: ArgoMode;
  /**
   * The instance id of the Workflow controller. The controller handles only Workflows that have this id as a label. "" for none.
   * Default: "argosy".
   */
  instanceId?: string;
  /**
   * Whether Argo makes the pods of runs without an init container of its own, so that they begin about a second sooner. The
   * cluster needs image volumes. With argoWorkflows "adopt", this must be the setting of the existing controller. Default: false.
   */
  initlessPods?: boolean;
  /**
   * With argoEvents "adopt": the version of the event bus, a JetStream version that the existing controller is configured for.
   */
  jetStreamVersion?: string;
  /** A PostgreSQL in which Argo Workflows keeps runs for longer. Default: none. */
  archive?: Archive;
  /** Default: nothing. */
  monitoring?: Monitoring;
  /**
   * How many Workflows run at the same time under the Workflow controller that Argosy installs. The others wait. Default: 500.
   */
  parallelism?: number;
  /** Where all pods run, and where their images come from. Default: the same as for the operators. */
  placement?: Placement;
  /** Other images by name. Default: the same as for the operators. */
  images?: Images;
  /** Requests and limits by container. Each figure replaces Argosy's own. Default: the same as for the operators. */
  resources?: ContainerResources;
  /**
   * Fields for the pods of one part, and of one operator by its name. Labels, annotations, node selectors and tolerations are
   * added to those of all pods. Default: the same as for the operators.
   */
  pods?: Pods;
  /**
   * Whether Pulumi refuses to delete objects whose deletion would lose data: CRDs and namespaces. Default: the same as for the
   * operators, false.
   */
  protect?: boolean;
}

/** The facts about a platform that operators need. */
export interface ExistingPlatform {
  /** The version of Argosy that created the platform. */
  argosyVersion: string;
  namespace: string;
  argoEvents: boolean;
  jetStreamVersion: string;
  argoWorkflows: boolean;
  instanceId: string;
  initlessPods?: boolean;
  archivesRuns?: boolean;
  prometheusNamespace?: string;
}
