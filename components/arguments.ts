import type * as pulumi from "@pulumi/pulumi";
import type { OperatorOverrides } from "../definition/schema";
import type { Operator } from "../runtime/program";
import type { Affinity, Toleration } from "./manifests/kinds";
import type { Quota } from "./manifests/operator/quota";
import type { ArchiveOptions } from "./manifests/platform/archive";
import type { ArgoMode, MonitoringOptions, Platform } from "./manifests/platform/options";
import type { PodPart } from "./manifests/pods";
import type { WorkloadOptions } from "./manifests/workloads";

/** The arguments of the components, as a program gives them. */

/** A cluster, as Pulumi's Kubernetes provider has it. */
export interface ClusterArgs {
  /** The text of a kubeconfig, or the path of its file. @default `$KUBECONFIG`, else `~/.kube/config` */
  readonly kubeconfig?: pulumi.Input<string>;
  /** The context to use. @default the current context of the kubeconfig */
  readonly context?: pulumi.Input<string>;
}

/** What pods have of a program's own choice, in Kubernetes' own fields. */
export interface PodArgs {
  /** Labels of the nodes that the pods run on. @default {} */
  readonly nodeSelector?: Readonly<Record<string, pulumi.Input<string>>>;
  /** Tolerations of the pods. @default [] */
  readonly tolerations?: readonly Toleration[];
  /** Which nodes the pods need or prefer. @default members of an event bus prefer nodes and zones of their own */
  readonly affinity?: Affinity;
  /** The PriorityClass of the pods. @default the cluster's default */
  readonly priorityClassName?: pulumi.Input<string>;
  /** Labels beside Argosy's own. @default none */
  readonly labels?: Readonly<Record<string, pulumi.Input<string>>>;
  /** Annotations beside Argosy's own. @default none */
  readonly annotations?: Readonly<Record<string, pulumi.Input<string>>>;
  /**
   * Annotations of the service account that the pods run as, by which clouds give it an identity of theirs, such as
   * `eks.amazonaws.com/role-arn`. @default none
   */
  readonly serviceAccountAnnotations?: Readonly<Record<string, pulumi.Input<string>>>;
}

/** Where every pod runs, and where its image comes from. */
export interface PlacementArgs extends PodArgs {
  /** A mirror that all images are pulled from, in place of their own registries. @default none */
  readonly registry?: pulumi.Input<string>;
  /** Secrets for pulling images, in both namespaces. @default [] */
  readonly imagePullSecrets?: readonly pulumi.Input<string>[];
}

/** What a program chooses of everything that Argosy makes. */
export interface WorkloadArgs extends Pick<WorkloadOptions, "images" | "resources" | "transform"> {
  /** Where every pod runs, and where its image comes from. @default anywhere, from the images' own registries */
  readonly placement?: PlacementArgs;
  /**
   * Of the pods of one part, and of one operator by its name. Labels, annotations and node selectors are added to those of
   * all pods, and so are tolerations. An affinity or a priority class takes the place of the general one.
   * @default as all pods
   */
  readonly pods?: Readonly<Partial<Record<PodPart, PodArgs>>> & {
    readonly operators?: Readonly<Record<string, PodArgs>>;
  };
}

/** A PostgreSQL in which Argo Workflows keeps runs. */
export interface ArchiveArgs extends Omit<ArchiveOptions, "host" | "database" | "secret"> {
  /** Name or address of the PostgreSQL. */
  readonly host: pulumi.Input<string>;
  /** The database. Its user must own it. */
  readonly database: pulumi.Input<string>;
  /**
   * The name of a Secret in the namespace of Argo's controllers. It has the keys `username` and `password`, and also
   * `ca.crt` if `sslMode` begins with "verify-".
   */
  readonly secret: pulumi.Input<string>;
}

/** A collector of traces, by OTLP over HTTP. */
export interface TracesArgs {
  /** Its address, without a password in it, such as "http://collector.monitoring:4318". `/v1/traces` follows it. */
  readonly endpoint: string;
  /**
   * A Secret in the operators' namespace, and the key of it that has headers for the collector, as
   * `OTEL_EXPORTER_OTLP_HEADERS` has them: `key=value,key=value`. @default no headers
   */
  readonly headers?: TracesHeadersArgs;
  /** With 20, one run in 20 is traced. @default 1 */
  readonly oneIn?: number;
}

/** A key of a Secret with headers. */
export interface TracesHeadersArgs {
  /** The Secret's name. */
  readonly secret: string;
  /** The key in it. */
  readonly key: string;
}

/** What of the monitoring is made, and how a Prometheus Operator and a Grafana find it. */
export interface MonitoringArgs extends Omit<MonitoringOptions, "labels" | "dashboardLabels"> {
  /** Labels of PodMonitor and PrometheusRule, by which the Prometheus Operator selects them. @default none */
  readonly labels?: Readonly<Record<string, pulumi.Input<string>>>;
  /** Labels of the dashboard's ConfigMap, by which Grafana's sidecar finds it. @default grafana_dashboard: "1" */
  readonly dashboardLabels?: Readonly<Record<string, pulumi.Input<string>>>;
}

/** What an `ArgoPlatform` is made from. Every argument may be left out. */
export interface ArgoPlatformArgs extends WorkloadArgs {
  /** Where operators, their events and their runs live. @default "argosy" */
  readonly namespace?: string;
  /** Where Argo's controllers live. @default "argosy-system" */
  readonly controllerNamespace?: string;
  /** Whether to create these two namespaces. With false they must be there. @default true */
  readonly createNamespaces?: boolean;
  /**
   * How Argo Events comes into the cluster: "install" (its CRDs and a controller of our own), "share" (the CRDs are
   * there, the controller is our own), "adopt" (both are there), "none" (operators do without it). @default "install"
   */
  readonly argoEvents?: ArgoMode;
  /**
   * The same for Argo Workflows. With "adopt", set instanceId to that of the controller that is there.
   * @default "install"
   */
  readonly argoWorkflows?: ArgoMode;
  /**
   * The instance id of the Workflow controller, which handles only Workflows labelled with it. "" for none.
   * @default "argosy"
   */
  readonly instanceId?: string;
  /**
   * With argoEvents "adopt", the event bus's version: a JetStream version that the existing controller is configured for.
   * @default that of Argosy's own controller
   */
  readonly jetStreamVersion?: string;
  /**
   * A PostgreSQL in which Argo Workflows keeps runs for longer, as host, database and secret, and if need be port,
   * sslMode, keptDays and cluster. @default none
   */
  readonly archive?: ArchiveArgs;
  /**
   * Any of podMonitor, alertRules and dashboard as true, labels and dashboardLabels by which Prometheus Operator and
   * Grafana find these, and the namespace that Prometheus runs in. @default none
   */
  readonly monitoring?: MonitoringArgs;
  /** How many Workflows the Workflow controller, if it is ours, looks after at once. The others wait. @default 500 */
  readonly parallelism?: number;
  /** Whether Pulumi refuses to delete what data hangs on: CRDs, namespaces. @default false */
  readonly protect?: boolean;
  /**
   * The cluster. With an explicit provider it only says where the checks look, and the provider makes the objects.
   * @default that of the provider: `kubernetes:kubeconfig` and `kubernetes:context`
   */
  readonly cluster?: ClusterArgs;
}

/** The size of the event bus. */
export interface EventBusArgs {
  /** Members of the event bus, 1 or an odd number from 3. @default 1 */
  readonly replicas?: number;
  /** Size of each member's volume, such as "1Gi". @default none: events are kept in the pod, for as long as it lives */
  readonly storage?: string;
  /** Storage class of these volumes. @default the cluster's default */
  readonly storageClass?: string;
}

/** What carries events from outside. */
export interface OutsideEventsArgs {
  /** Members of the event bus of events from outside, 1 or an odd number from 3. @default 1 */
  readonly replicas?: number;
  /**
   * Size of the volume of each of these members, such as "1Gi". Required if an operator has `on`, since an event that was
   * accepted is nowhere else. @default none
   */
  readonly storage?: string;
  /** Storage class of these volumes. @default the cluster's default */
  readonly storageClass?: string;
  /** Pods of the intake, which makes custom resources of these events. @default 1 */
  readonly intakes?: number;
}

/** A component that has a platform: an `ArgoPlatform`, or `Operators` that made one. */
export interface PlatformComponent extends pulumi.ComponentResource {
  readonly platform: Platform;
}

/** Who may set annotations of Argosy's on custom resources, such as `argosy.dev/paused`. */
export interface AnnotationsGuardArgs {
  /** Groups of users, beside Argosy and cluster administrators. */
  readonly groups: readonly string[];
}

/** What keeps others from writing what is Argosy's, whatever RBAC allows them. */
export interface GuardsArgs {
  /** Whether only the operators change and delete their children, and make objects with their marks. @default false */
  readonly children?: boolean;
  /** Who may set annotations of Argosy's on custom resources. @default everybody who may change them */
  readonly annotations?: AnnotationsGuardArgs;
  /** Groups that no guard stops, such as `system:serviceaccounts:velero`. @default [] */
  readonly exempt?: readonly string[];
}

/** What `Operators` are made from. */
export interface OperatorsArgs extends WorkloadArgs {
  /**
   * The folder with a folder for each operator, relative to the program's folder. Or operators that `loadOperators` has
   * loaded.
   */
  readonly handlers: string | readonly Operator[];
  /**
   * What this stack says in the place of the operators' own definitions, by the operators' names. With operators that are
   * loaded already, give it to `loadOperators`. @default nothing
   */
  readonly overrides?: Readonly<Record<string, OperatorOverrides | undefined>>;
  /**
   * A platform of this program, the platform of another stack (see `platformOfStack`), or arguments for one to make. A
   * component is known as such, and a platform by its `argosyVersion`. All else are arguments.
   * @default a platform with all defaults
   */
  readonly platform?: PlatformComponent | Platform | ArgoPlatformArgs;
  /**
   * Tells these operators from all others in the same cluster, in finalizers, labels, field managers and leases, and names
   * their event bus, event source and sensor. At most 20 characters. A change of it renames every operator: see
   * formerNames. @default "argosy"
   */
  readonly installation?: string;
  /** The size of the event bus. @default one member, without a volume */
  readonly eventBus?: EventBusArgs;
  /**
   * Rules of the API server that keep everybody but Argosy from writing what is Argosy's: children as true, annotations with
   * the groups that may set them, and in exempt the groups that nothing of this stops. @default none
   */
  readonly guards?: GuardsArgs;
  /** What carries events from outside to operators that have `on`. @default one member of a bus, without a volume, and one intake */
  readonly outsideEvents?: OutsideEventsArgs;
  /**
   * All that the pods of an operator's runs may have together, by the names of operators of the form "pod". Runs for which
   * there is no room wait. @default no limit but the operator's concurrency
   */
  readonly quotas?: Readonly<Record<string, Quota>>;
  /** Runners of each resident operator. One leads, the others stand by. @default 1 */
  readonly replicas?: pulumi.Input<number>;
  /** How long the Workflow of a run that succeeded is kept. @default 3600 */
  readonly runsKeptSeconds?: number;
  /** How long the Workflow of a run that failed is kept. @default 86400 */
  readonly failedRunsKeptSeconds?: number;
  /**
   * Where runs are sent as traces, by OTLP over HTTP: endpoint, and if need be headers with the secret and the key that has
   * them, and oneIn: with 20, one run in 20 is traced. @default none
   */
  readonly traces?: TracesArgs;
  /** Whether Pulumi refuses to delete what data hangs on: every CRD, the event bus, the namespaces. @default false */
  readonly protect?: boolean;
  /**
   * The cluster. With an explicit provider it only says where the checks look, and the provider makes the objects.
   * @default that of the provider: `kubernetes:kubeconfig` and `kubernetes:context`
   */
  readonly cluster?: ClusterArgs;
}
