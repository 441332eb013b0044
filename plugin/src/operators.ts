import type * as pulumi from "@pulumi/pulumi";

// The component as every language of Pulumi sees it. Pulumi's analyzer makes schema.json from this file (../schema.ts). The
// analyzer accepts only flat, plain types: no readonly list, no union, no tuple, no component as an output. Each comment becomes
// the text in every SDK, so defaults are in the text and not in a tag. SDKs add "Args" to the names of types. An argument without
// pulumi.Input must be known when the program runs.

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

/** Where the runs of an operator happen. */
export declare enum Execution {
  /** In a runner that always exists. */
  Resident = "resident",
  /** Each run in a pod of its own. */
  Pod = "pod",
}

/** Which runs of a resident operator are kept as Workflows. */
export declare enum RecordedRuns {
  /** Runs that changed something, or failed. */
  Changes = "changes",
  All = "all",
  Failures = "failures",
}

/** How the connection to a PostgreSQL is secured. */
export declare enum SslMode {
  Disable = "disable",
  Require = "require",
  VerifyCa = "verify-ca",
  VerifyFull = "verify-full",
}

/** How a toleration compares the value of a taint. */
export declare enum TolerationOperator {
  /** The taint may have any value. */
  Exists = "Exists",
  /** The taint must have the same value. */
  Equal = "Equal",
}

/** The effect of a taint on pods without a toleration. */
export declare enum TaintEffect {
  NoSchedule = "NoSchedule",
  PreferNoSchedule = "PreferNoSchedule",
  NoExecute = "NoExecute",
}

/** A cluster, as Pulumi's Kubernetes provider takes it. */
export interface Cluster {
  /** The text of a kubeconfig, or the path of its file. Default: `$KUBECONFIG`, else `~/.kube/config`. */
  kubeconfig?: pulumi.Input<string>;
  /** The context to use. Default: the current context of the kubeconfig. */
  context?: pulumi.Input<string>;
}

/** A toleration, as in a pod. */
export interface Toleration {
  key?: string;
  /** Default: "Equal". */
  operator?: TolerationOperator;
  value?: string;
  /** Default: all effects. */
  effect?: TaintEffect;
  tolerationSeconds?: number;
}

/** Fields that a program chooses for pods, as Kubernetes names them. */
export interface Pod {
  /** Labels of the nodes that the pods run on. Default: any node. */
  nodeSelector?: Record<string, pulumi.Input<string>>;
  /** Tolerations of the pods. Default: none. */
  tolerations?: Toleration[];
  /** An affinity, as in a pod. Default: members of an event bus prefer to run on different nodes and in different zones. */
  // biome-ignore lint/suspicious/noExplicitAny: the analyzer takes no other type for any JSON
  affinity?: Record<string, any>;
  /** Default: the cluster's default. */
  priorityClassName?: pulumi.Input<string>;
  /** Labels in addition to Argosy's own. Default: none. */
  labels?: Record<string, pulumi.Input<string>>;
  /** Annotations in addition to Argosy's own. Default: none. */
  annotations?: Record<string, pulumi.Input<string>>;
  /**
   * Annotations of the service account that the pods run as, such as `eks.amazonaws.com/role-arn`. Clouds use them to give the
   * account a cloud identity. Default: none.
   */
  serviceAccountAnnotations?: Record<string, pulumi.Input<string>>;
}

/** Where all pods run, and where their images come from. */
export interface Placement extends Pod {
  /** A mirror that all images are pulled from, instead of their own registries. Default: none. */
  registry?: pulumi.Input<string>;
  /** Secrets for pulling images, in both namespaces. Default: none. */
  imagePullSecrets?: pulumi.Input<string>[];
}

/** Pods of single parts, and of single operators. */
export interface Pods {
  argoEventsController?: Pod;
  workflowController?: Pod;
  argoServer?: Pod;
  eventBus?: Pod;
  eventSource?: Pod;
  sensor?: Pod;
  keeper?: Pod;
  /** The pods that create custom resources from events from outside. */
  intake?: Pod;
  /** The resident runners of operators. */
  runner?: Pod;
  /** The runs of operators whose runs have pods of their own. */
  run?: Pod;
  /** The regular check whether objects of these operators need a run. */
  resync?: Pod;
  /** Pods of single operators, by the operators' names. */
  operators?: Record<string, Pod>;
}

/** Other images. Each is a whole reference, or ":tag" or "@sha256:..." to keep the image and pin its version. */
export interface Images {
  argoEvents?: string;
  workflowController?: string;
  argoServer?: string;
  argoExecutor?: string;
  nats?: string;
  natsConfigReloader?: string;
  natsMetricsExporter?: string;
  /** The runner. */
  node?: string;
  /** The image of the shell that is put beside a handler. */
  busybox?: string;
  /** Functions in Python whose definition names no image. */
  python?: string;
  /** Functions in JavaScript and TypeScript whose definition names no image. */
  javascript?: string;
}

/** Requests and limits of Argosy's own containers. Those of a handler are in its operator.yaml, or in `overrides`. */
export interface ContainerResources {
  argoEventsController?: Resources;
  workflowController?: Resources;
  argoServer?: Resources;
  /** Argo's own containers in the pods of runs. */
  argoExecutor?: Resources;
  eventBus?: Resources;
  eventBusReloader?: Resources;
  eventBusMetrics?: Resources;
  eventSource?: Resources;
  sensor?: Resources;
  keeper?: Resources;
  intake?: Resources;
  runner?: Resources;
  /** The engine in the pod of a run, and in that of a resync. */
  run?: Resources;
  /** The container that puts a shell into a runner's pod. */
  kit?: Resources;
  /** The same in a run's pod. */
  runKit?: Resources;
}

/** The size of the event bus. */
export interface EventBus {
  /** The number of members of the event bus: 1, or an odd number from 3. Default: 1. */
  replicas?: number;
  /**
   * The size of each member's volume, such as "1Gi". Default: none; each member keeps events in its pod, and loses them with the
   * pod.
   */
  storage?: string;
  /** The storage class of these volumes. Default: the cluster's default. */
  storageClass?: string;
}

/** The event bus and the intake that bring events from outside to operators that have `on`. */ export interface OutsideEvents {
  /** The number of members of the event bus for events from outside: 1, or an odd number from 3. Default: 1. */
  replicas?: number;
  /** The size of each member's volume, such as "1Gi". Required if an operator has `on`. Default: none. */
  storage?: string;
  /** The storage class of these volumes. Default: the cluster's default. */
  storageClass?: string;
  /** The number of pods of the intake, which creates custom resources from these events. Default: 1. */
  intakes?: number;
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
  cluster?: string;
}

/** A collector that receives traces by OTLP over HTTP. */
export interface Traces {
  /**
   * The address of the collector, without a password, such as "http://collector.monitoring:4318". `/v1/traces` is appended to the
   * address.
   */
  endpoint: string;
  /**
   * A Secret in the operators' namespace, and its key that contains headers for the collector, in the form of
   * `OTEL_EXPORTER_OTLP_HEADERS`: `key=value,key=value`. Default: no headers.
   */
  headers?: SecretKey;
  /** With 20, one run in 20 is traced. Default: 1. */
  oneIn?: number;
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
  /** The namespace of the operators, their events and their runs. Default: "argosy". */
  namespace?: string;
  /** The namespace of Argo's controllers. Default: "argosy-system". */
  controllerNamespace?: string;
  /** Whether to create these two namespaces. If false, they must exist already. Default: true. */
  createNamespaces?: boolean;
  /** How Argo Events comes into the cluster. Default: "install". */
  argoEvents?: ArgoMode;
  /**
   * How Argo Workflows comes into the cluster. With "adopt", give the instanceId of the existing controller. Default: "install".
   */
  argoWorkflows?: ArgoMode;
  /**
   * The instance id of the Workflow controller. The controller handles only Workflows that have this id as a label. "" for none.
   * Default: "argosy".
   */
  instanceId?: string;
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

/** A key of a Secret in the operators' namespace. */
export interface SecretKey {
  /** The Secret's name. */
  secret: string;
  key: string;
}

/** Requests and limits of a container, such as `memory: 128Mi`. */
export interface Resources {
  requests?: Record<string, string>;
  limits?: Record<string, string>;
}

/** Where a handler's files come from in a cluster, if not from its folder. */
export interface HandlerFiles {
  /** An image with the handler's files, pinned. `argosy files` writes the files that belong into the image. */
  image: string;
}

/** Values that this program uses for one operator instead of those in its operator.yaml. */
export interface Overrides {
  /** The number of runners of this operator, 1 to 5. One leads, the others stand by. */
  replicas?: number;
  /** How many objects are reconciled at the same time. With Execution.Pod, how many runs have a pod at the same time. */
  concurrency?: number;
  /** How many seconds the handler may take to answer. After that, its processes are killed. */
  timeoutSeconds?: number;
  /** Every object is reconciled at least this often, in seconds. */
  resyncSeconds?: number;
  /** The namespaces whose objects are handled. */
  namespaces?: string[];
  /** The image of a function, pinned. */
  image?: string;
  execution?: Execution;
  record?: RecordedRuns;
  /** Further environment variables of the handler. */
  env?: Record<string, string>;
  /** Further environment variables of the handler that come from Secrets. */
  secretEnv?: Record<string, SecretKey>;
  /** Requests and limits of the handler's container. */
  resources?: Resources;
  /**
   * An image whose files replace those of the folder, mounted as a volume. Needs Kubernetes 1.31 with the feature ImageVolume.
   */
  files?: HandlerFiles;
}

/** Who may set Argosy's annotations on custom resources, such as `argosy.dev/paused`. */
export interface AnnotationsGuard {
  /** Groups of users who may do this, in addition to Argosy and cluster administrators. */
  groups: string[];
}

/** Guards that keep everybody else from changing Argosy's objects, even if RBAC allows it. */
export interface Guards {
  /**
   * Whether only the operators can change and delete their children, and create objects that are marked as their children.
   * Default: false.
   */
  children?: boolean;
  /** Who may set Argosy's annotations on custom resources. Default: everybody who may change the custom resources. */
  annotations?: AnnotationsGuard;
  /** Groups that no guard stops, such as `system:serviceaccounts:velero`. Default: none. */
  exempt?: string[];
}

/** The limits for all pods of an operator's runs together. */
export interface Quota {
  /** Default: the operator's concurrency. */
  pods?: number;
  /** Sums of requests, such as `cpu: "2"`. Default: no limit. */
  requests?: Record<string, string>;
  /** Sums of limits. Default: no limit. */
  limits?: Record<string, string>;
}

/** The arguments of `Operators`. */
export interface OperatorsArgs {
  /** The folder that has a folder for each operator, relative to the program's folder. */
  handlers: string;
  /** A platform to create for the operators. Default: a platform with all defaults. */
  platform?: Platform;
  /** The stack whose output `platform` is the platform to use instead of a new one: "organization/project/stack". */
  platformStack?: string;
  /**
   * The name that distinguishes these operators from all others in the same cluster. It is also the name of their event bus,
   * event source and sensor. At most 20 characters. Default: "argosy".
   */
  installation?: string;
  /** Values that this program uses instead of those in the operators' operator.yaml, by the names of the operators. */
  overrides?: Record<string, Overrides>;
  /** The size of the event bus. Default: one member, without a volume. */
  eventBus?: EventBus;
  /** Rules of the API server that keep everybody but Argosy from changing Argosy's objects. Default: none. */
  guards?: Guards;
  /** The event bus and the intake that bring events from outside to operators that have `on`. */
  outsideEvents?: OutsideEvents;
  /**
   * The limits for all pods of an operator's runs together, by the names of operators with execution "pod". Runs that do not fit
   * into the limits wait. Default: no limit except the operator's concurrency.
   */
  quotas?: Record<string, Quota>;
  /** Where all pods run, and where their images come from. Default: on any node, with images from their own registries. */
  placement?: Placement;
  /** Other images by name. Default: Argosy's own. */
  images?: Images;
  /** Requests and limits by container. Each figure replaces Argosy's own. Default: Argosy's own. */
  resources?: ContainerResources;
  /**
   * Fields for the pods of one part, and of one operator by its name. Labels, annotations, node selectors and tolerations are
   * added to those of all pods. Default: as for all pods.
   */
  pods?: Pods;
  /** The number of runners of each resident operator. One leads, the others stand by. Default: 1. */
  replicas?: pulumi.Input<number>;
  /** How long the Workflow of a successful run is kept, in seconds. Default: 3600. */
  runsKeptSeconds?: number;
  /** How long the Workflow of a failed run is kept, in seconds. Default: 86400. */
  failedRunsKeptSeconds?: number;
  /** Where runs are sent as traces. Default: none. */
  traces?: Traces;
  /**
   * Whether Pulumi refuses to delete objects whose deletion would lose data: every CRD, the event bus and the namespaces.
   * Default: false.
   */
  protect?: boolean;
  /** The cluster. Default: that of the provider, `kubernetes:kubeconfig` and `kubernetes:context`. */
  cluster?: Cluster;
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
  archivesRuns?: boolean;
  prometheusNamespace?: string;
}

/**
 * Operators with everything that they need: Argo Events, Argo Workflows, the event bus that they share, and each operator of a
 * folder with its CRD.
 */
export declare class Operators extends pulumi.ComponentResource {
  /** The names of the operators' CRDs, such as "memcacheds.cache.example.com". */
  readonly customResources: pulumi.Output<string[]>;
  /** The platform that the operators run on. Export it as the output `platform` of the stack if other stacks use the platform. */
  readonly platform: pulumi.Output<ExistingPlatform>;
  /** The names of the runners' Deployments, by operator. Operators with execution "pod" have none. */
  readonly runners: pulumi.Output<Record<string, string>>;
  /** The name of the Service of argo-server, which has the UI. Missing if the platform does not create it. */
  readonly argoServer?: pulumi.Output<string>;

  constructor(name: string, args: OperatorsArgs, opts?: pulumi.ComponentResourceOptions);
}
