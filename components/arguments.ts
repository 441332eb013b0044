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

/** A cluster, as Pulumi's Kubernetes provider takes it. */
export interface ClusterArgs {
  /** The text of a kubeconfig, or the path of its file. @default `$KUBECONFIG`, else `~/.kube/config` */
  readonly kubeconfig?: pulumi.Input<string>;
  /** The context to use. @default the current context of the kubeconfig */
  readonly context?: pulumi.Input<string>;
  /**
   * A name of your own for the cluster. If the address or the certificate authority in the kubeconfig changes, Pulumi takes the
   * cluster for another one and replaces every object. With this name, it takes only another name for another cluster. Add the
   * name in a deployment that does not change the kubeconfig.
   * @default none
   */
  readonly clusterIdentifier?: pulumi.Input<string>;
}

/** Fields that a program chooses for pods, as Kubernetes names them. */
export interface PodArgs {
  /** Labels of the nodes that the pods run on. @default {} */
  readonly nodeSelector?: Readonly<Record<string, pulumi.Input<string>>>;
  /** Tolerations of the pods. @default [] */
  readonly tolerations?: readonly Toleration[];
  /**
   * Which nodes the pods need or prefer.
   * @default members of an event bus prefer to run on different nodes and in different zones
   */
  readonly affinity?: Affinity;
  /** The PriorityClass of the pods. @default the cluster's default */
  readonly priorityClassName?: pulumi.Input<string>;
  /** Labels in addition to Argosy's own. @default none */
  readonly labels?: Readonly<Record<string, pulumi.Input<string>>>;
  /** Annotations in addition to Argosy's own. @default none */
  readonly annotations?: Readonly<Record<string, pulumi.Input<string>>>;
  /**
   * Annotations of the service account that the pods run as, such as `eks.amazonaws.com/role-arn`. Clouds use them to give the
   * account a cloud identity.
   * @default none
   */
  readonly serviceAccountAnnotations?: Readonly<Record<string, pulumi.Input<string>>>;
}

/** Where all pods run, and where their images come from. */
export interface PlacementArgs extends PodArgs {
  /** A mirror that all images are pulled from, instead of their own registries. @default none */
  readonly registry?: pulumi.Input<string>;
  /** Secrets for pulling images, in both namespaces. @default [] */
  readonly imagePullSecrets?: readonly pulumi.Input<string>[];
}

/** The choices of a program for everything that Argosy creates. */
export interface WorkloadArgs extends Pick<WorkloadOptions, "images" | "resources" | "transform"> {
  /** Where all pods run, and where their images come from. @default on any node, with images from their own registries */
  readonly placement?: PlacementArgs;
  /**
   * Fields for the pods of one part, and of one operator by its name. Labels, annotations, node selectors and tolerations are
   * added to those of all pods. An affinity or a priority class replaces the general one.
   * @default as for all pods
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

/** A collector that receives traces by OTLP over HTTP. */
export interface TracesArgs {
  /**
   * The address of the collector, without a password, such as "http://collector.monitoring:4318". `/v1/traces` is appended to the
   * address.
   */
  readonly endpoint: string;
  /**
   * A Secret in the operators' namespace, and its key that contains headers for the collector, in the form of
   * `OTEL_EXPORTER_OTLP_HEADERS`: `key=value,key=value`.
   * @default no headers
   */
  readonly headers?: TracesHeadersArgs;
  /** With 20, one run in 20 is traced. @default 1 */
  readonly oneIn?: number;
}

/** A key of a Secret that contains headers. */
export interface TracesHeadersArgs {
  /** The Secret's name. */
  readonly secret: string;
  /** The key in the Secret. */
  readonly key: string;
}

/** Which parts of the monitoring are created, and how the Prometheus Operator and Grafana find them. */
export interface MonitoringArgs extends Omit<MonitoringOptions, "labels" | "dashboardLabels"> {
  /** Labels of PodMonitor and PrometheusRule, by which the Prometheus Operator selects them. @default none */
  readonly labels?: Readonly<Record<string, pulumi.Input<string>>>;
  /** Labels of the dashboard's ConfigMap, by which Grafana's sidecar finds it. @default grafana_dashboard: "1" */
  readonly dashboardLabels?: Readonly<Record<string, pulumi.Input<string>>>;
}

/** The arguments of an `ArgoPlatform`. Every argument may be left out. */
export interface ArgoPlatformArgs extends WorkloadArgs {
  /** The operators' namespace, which contains the operators, their events and their runs. @default "argosy" */
  readonly namespace?: string;
  /** The namespace of Argo's controllers. @default "argosy-system" */
  readonly controllerNamespace?: string;
  /** Whether to create these two namespaces. If false, they must exist already. @default true */
  readonly createNamespaces?: boolean;
  /**
   * Who installs Argo Events: "install" (Argosy installs the CRDs and the controller), "share" (the CRDs exist already, Argosy
   * installs the controller), "adopt" (both exist already), "none" (operators do without Argo Events).
   * @default "install"
   */
  readonly argoEvents?: ArgoMode;
  /**
   * The same for Argo Workflows. With "adopt", set instanceId and initlessPods to those of the existing controller.
   * @default "install"
   */
  readonly argoWorkflows?: ArgoMode;
  /**
   * The instance id of the Workflow controller. The controller handles only Workflows that have this id as a label. "" for none.
   * @default "argosy"
   */
  readonly instanceId?: string;
  /**
   * Whether Argo makes the pods of runs without an init container of its own (Argo's `initlessPod`, which is beta), so that they
   * begin about a second sooner. The cluster needs image volumes, which Kubernetes has by default from 1.35 on. With
   * argoWorkflows "adopt", this must be the setting of the existing controller.
   * @default false
   */
  readonly initlessPods?: boolean;
  /**
   * With argoEvents "adopt": the version of the event bus, a JetStream version that the existing controller is configured for.
   * @default that of Argosy's own controller
   */
  readonly jetStreamVersion?: string;
  /**
   * A PostgreSQL in which Argo Workflows keeps runs for longer: host, database and secret, and if needed port, sslMode, keptDays
   * and clusterName.
   * @default none
   */
  readonly archive?: ArchiveArgs;
  /**
   * The monitoring: podMonitor, alertRules and dashboard, each true if wanted; labels and dashboardLabels, by which the
   * Prometheus Operator and Grafana find them; and the namespace that Prometheus runs in.
   * @default none
   */
  readonly monitoring?: MonitoringArgs;
  /** How many Workflows run at the same time under the Workflow controller that Argosy installs. The others wait. @default 500 */
  readonly parallelism?: number;
  /**
   * Whether Pulumi refuses to delete objects whose deletion would lose data: CRDs and namespaces. Pulumi's option `protect` of the
   * component protects all its objects except immutable ConfigMaps, which every edit replaces.
   * @default false
   */
  readonly protect?: boolean;
  /**
   * The cluster. With an explicit provider, the provider creates the objects, and this argument only says which cluster is
   * checked before.
   * @default that of the provider: `kubernetes:kubeconfig` and `kubernetes:context`
   */
  readonly cluster?: ClusterArgs;
}

/** The size of the event bus. */
export interface EventBusArgs {
  /** The number of members of the event bus: 1, or an odd number from 3. @default 1 */
  readonly replicas?: number;
  /**
   * The size of each member's volume, such as "1Gi".
   * @default none: each member keeps events in its pod, and loses them with the pod
   */
  readonly storage?: string;
  /** The storage class of these volumes. @default the cluster's default */
  readonly storageClassName?: string;
}

/** The event bus and the intake for events from outside. */
export interface OutsideEventsArgs {
  /** The number of members of the event bus for events from outside: 1, or an odd number from 3. @default 1 */
  readonly replicas?: number;
  /**
   * The size of each member's volume, such as "1Gi". Required if an operator has `on`, because only the bus stores an event once it
   * is accepted.
   * @default none
   */
  readonly storage?: string;
  /** The storage class of these volumes. @default the cluster's default */
  readonly storageClassName?: string;
  /** The number of pods of the intake, which creates custom resources from these events. @default 1 */
  readonly intakes?: number;
}

/** A component that has a platform: an `ArgoPlatform`, or `Operators` that created one. */
export interface PlatformComponent extends pulumi.ComponentResource {
  readonly platform: Platform;
}

/** Who may set Argosy's annotations on custom resources, such as `argosy.dev/paused`. */
export interface AnnotationsGuardArgs {
  /** Groups of users who may do this, in addition to Argosy and cluster administrators. */
  readonly groups: readonly string[];
}

/** Guards that keep everybody else from changing Argosy's objects, even if RBAC allows it. */
export interface GuardsArgs {
  /**
   * Whether only the operators can change and delete their children, and create objects that are marked as their children.
   * @default false
   */
  readonly children?: boolean;
  /** Who may set Argosy's annotations on custom resources. @default everybody who may change the custom resources */
  readonly annotations?: AnnotationsGuardArgs;
  /** Groups that no guard stops, such as `system:serviceaccounts:velero`. @default [] */
  readonly exempt?: readonly string[];
}

/** The arguments of `Operators`. */
export interface OperatorsArgs extends WorkloadArgs {
  /**
   * A folder with one subfolder for each operator, relative to the program's folder. Or the result of `loadOperators`.
   */
  readonly handlers: string | readonly Operator[];
  /**
   * Values that this stack uses instead of those in the operators' definitions, by the names of the operators. If the operators
   * are already loaded, give this argument to `loadOperators`.
   * @default nothing
   */
  readonly overrides?: Readonly<Record<string, OperatorOverrides | undefined>>;
  /**
   * A platform of this program, the platform of another stack (see `platformOfStack`), or arguments for a new platform. Argosy
   * treats any object that is no component and has no `argosyVersion` as arguments for a new platform.
   * @default a new platform with all defaults
   */
  readonly platform?: PlatformComponent | Platform | ArgoPlatformArgs;
  /**
   * The name that distinguishes these operators from those of other programs in the same cluster. It is part of finalizers,
   * labels, field managers and leases, and is the name of the event bus, the event source and the sensor. It is not part of the
   * names of Deployments and accounts: two installations on one platform cannot have operators of the same name. At most 20
   * characters. A change of this name renames every operator: see formerNames.
   * @default "argosy"
   */
  readonly installation?: string;
  /** The size of the event bus. @default one member, without a volume */
  readonly eventBus?: EventBusArgs;
  /**
   * Rules of the API server that keep everybody but Argosy from changing Argosy's objects. `children: true` protects children.
   * `annotations.groups` lists who may set annotations. `exempt` lists groups that no guard stops.
   * @default none
   */
  readonly guards?: GuardsArgs;
  /**
   * The event bus and the intake that bring events from outside to operators that have `on`.
   * @default a bus with one member, without a volume, and one intake
   */
  readonly outsideEvents?: OutsideEventsArgs;
  /**
   * The limits for all pods of an operator's runs together, by the names of operators with execution "pod". Runs that do not fit
   * into the limits wait.
   * @default no limit except the operator's concurrency
   */
  readonly quotas?: Readonly<Record<string, Quota>>;
  /** The number of runners of each resident operator. One leads, the others stand by. @default 1 */
  readonly replicas?: pulumi.Input<number>;
  /** How long the Workflow of a successful run is kept, in seconds. @default 3600 */
  readonly runsKeptSeconds?: number;
  /**
   * How long the Workflow of a failed run is kept, in seconds. In the form "pod" only the newest failed run of an object is
   * kept, for at least twice `resyncSeconds`, because a resync reports runs that could not report themselves.
   * @default 86400
   */
  readonly failedRunsKeptSeconds?: number;
  /**
   * Where runs are sent as traces, by OTLP over HTTP: endpoint, and if needed headers (the Secret and its key that contains them)
   * and oneIn (with 20, one run in 20 is traced).
   * @default none
   */
  readonly traces?: TracesArgs;
  /**
   * Whether Pulumi refuses to delete objects whose deletion would lose data: every CRD, the event bus and the namespaces.
   * Pulumi's option `protect` of the component protects all its objects except immutable ConfigMaps, which every edit replaces.
   * @default false
   */
  readonly protect?: boolean;
  /**
   * The cluster. With an explicit provider, the provider creates the objects, and this argument only says which cluster is
   * checked before.
   * @default that of the provider: `kubernetes:kubeconfig` and `kubernetes:context`
   */
  readonly cluster?: ClusterArgs;
}
