import type * as pulumi from "@pulumi/pulumi";

// What every language of Pulumi sees. Pulumi's analyzer makes schema.json of this file (../schema.ts), and takes only flat,
// plain types: no readonly list, no union, no tuple, no component as an output. A comment is the text in every SDK, so a
// default stands in the text and not in a tag. SDKs add "Args" to the names of types. An argument without pulumi.Input must
// be known when the program runs.

/** How a half of Argo comes into the cluster. */
export declare enum ArgoMode {
  /** Its CRDs and a controller of our own. */
  Install = "install",
  /** The CRDs are there, the controller is our own. */
  Share = "share",
  /** Both are there. */
  Adopt = "adopt",
  /** Operators do without it. */
  None = "none",
}

/** How runs happen. */
export declare enum Execution {
  /** In a living runner. */
  Resident = "resident",
  /** Each in a pod of its own. */
  Pod = "pod",
}

/** Which runs of a resident operator are kept as Workflows. */
export declare enum RecordedRuns {
  /** Those that changed something, or failed. */
  Changes = "changes",
  All = "all",
  Failures = "failures",
}

/** How the TLS of a PostgreSQL is checked. */
export declare enum SslMode {
  Disable = "disable",
  Require = "require",
  VerifyCa = "verify-ca",
  VerifyFull = "verify-full",
}

/** How a toleration compares the value of a taint. */
export declare enum TolerationOperator {
  /** Any value. */
  Exists = "Exists",
  /** The same value. */
  Equal = "Equal",
}

/** What a taint does to pods without a toleration. */
export declare enum TaintEffect {
  NoSchedule = "NoSchedule",
  PreferNoSchedule = "PreferNoSchedule",
  NoExecute = "NoExecute",
}

/** A cluster, as Pulumi's Kubernetes provider is told of it. */
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
  /** Default: all of them. */
  effect?: TaintEffect;
  tolerationSeconds?: number;
}

/** What pods have of a program's own choice, in Kubernetes' own fields. */
export interface Pod {
  /** Labels of the nodes that the pods run on. Default: any node. */
  nodeSelector?: Record<string, pulumi.Input<string>>;
  /** Tolerations of the pods. Default: none. */
  tolerations?: Toleration[];
  /** An affinity, as in a pod. Default: members of an event bus prefer nodes and zones of their own. */
  // biome-ignore lint/suspicious/noExplicitAny: the analyzer takes no other type for any JSON
  affinity?: Record<string, any>;
  /** Default: the cluster's default. */
  priorityClassName?: pulumi.Input<string>;
  /** Labels beside Argosy's own. Default: none. */
  labels?: Record<string, pulumi.Input<string>>;
  /** Annotations beside Argosy's own. Default: none. */
  annotations?: Record<string, pulumi.Input<string>>;
  /**
   * Annotations of the service account that the pods run as, by which clouds give it an identity of theirs, such as
   * `eks.amazonaws.com/role-arn`. Default: none.
   */
  serviceAccountAnnotations?: Record<string, pulumi.Input<string>>;
}

/** Where every pod runs, and where its image comes from. */
export interface Placement extends Pod {
  /** A mirror that all images are pulled from, in place of their own registries. Default: none. */
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
  /** What makes custom resources of events from outside. */
  intake?: Pod;
  /** The resident runners of operators. */
  runner?: Pod;
  /** The runs of operators whose runs have pods of their own. */
  run?: Pod;
  /** The regular look whether objects of those need a run. */
  resync?: Pod;
  /** Pods of single operators, by the operators' names. */
  operators?: Record<string, Pod>;
}

/** Other images: each a whole reference, or ":tag" or "@sha256:..." to keep the image and pin it. */
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
  /** The shell that is put beside a handler. */
  busybox?: string;
  /** Functions in Python whose definition names no image. */
  python?: string;
  /** Functions in JavaScript and TypeScript whose definition names no image. */
  javascript?: string;
}

/** Requests and limits of Argosy's own containers. Those of a handler stand in its operator.yaml, or in `overrides`. */
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
  /** Members of the event bus, 1 or an odd number from 3. Default: 1. */
  replicas?: number;
  /** Size of each member's volume, such as "1Gi". Default: none; events are kept in the pod, for as long as it lives. */
  storage?: string;
  /** Storage class of these volumes. Default: the cluster's default. */
  storageClass?: string;
}

/** What carries events from outside to operators that have `on`. */
export interface OutsideEvents {
  /** Members of their event bus, 1 or an odd number from 3. Default: 1. */
  replicas?: number;
  /** Size of each member's volume, such as "1Gi". Required if an operator has `on`. Default: none. */
  storage?: string;
  /** Storage class of these volumes. Default: the cluster's default. */
  storageClass?: string;
  /** Pods of the intake, which makes custom resources of them. Default: 1. */
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
  /** Tells this cluster's runs from those of others in the same database. Default: "default". */
  cluster?: string;
}

/** A collector of traces, by OTLP over HTTP. */
export interface Traces {
  /** Its address, without a password in it, such as "http://collector.monitoring:4318". `/v1/traces` follows it. */
  endpoint: string;
  /**
   * A Secret in the operators' namespace, and the key of it that has headers for the collector, as
   * `OTEL_EXPORTER_OTLP_HEADERS` has them: `key=value,key=value`. Default: no headers.
   */
  headers?: SecretKey;
  /** With 20, one run in 20 is traced. Default: 1. */
  oneIn?: number;
}

/** What of the monitoring is made, and how a Prometheus Operator and a Grafana find it. */
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

/** A platform to make: Argo Events, Argo Workflows and argo-server. */
export interface Platform {
  /** Where operators, their events and their runs live. Default: "argosy". */
  namespace?: string;
  /** Where Argo's controllers live. Default: "argosy-system". */
  controllerNamespace?: string;
  /** Whether to create these two namespaces. If not, they must be there. Default: true. */
  createNamespaces?: boolean;
  /** How Argo Events comes into the cluster. Default: "install". */
  argoEvents?: ArgoMode;
  /** How Argo Workflows comes into the cluster. With "adopt", set instanceId to that of the controller there. Default: "install". */
  argoWorkflows?: ArgoMode;
  /** The instance id of the Workflow controller, which handles only Workflows labelled with it. "" for none. Default: "argosy". */
  instanceId?: string;
  /** With argoEvents "adopt", a JetStream version that the controller there is configured for. */
  jetStreamVersion?: string;
  /** A PostgreSQL in which Argo Workflows keeps runs for longer. Default: none. */
  archive?: Archive;
  /** Default: nothing. */
  monitoring?: Monitoring;
  /** How many Workflows the Workflow controller, if it is ours, looks after at once. The others wait. Default: 500. */
  parallelism?: number;
  /** Where every pod runs, and where its image comes from. Default: that of the operators. */
  placement?: Placement;
  /** Other images by name. Default: that of the operators. */
  images?: Images;
  /** Requests and limits by container. Each figure takes the place of Argosy's own. Default: that of the operators. */
  resources?: ContainerResources;
  /**
   * Of the pods of one part, and of one operator by its name. Labels, annotations, node selectors and tolerations are
   * added to those of all pods. Default: that of the operators.
   */
  pods?: Pods;
  /** Whether Pulumi refuses to delete what data hangs on: CRDs, namespaces. Default: that of the operators, false. */
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
  /** An image with the handler's files, pinned. `argosy files` writes what belongs into it. */
  image: string;
}

/** What this program gives one operator in place of what its operator.yaml says. */
export interface Overrides {
  /** Runners of this operator, 1 to 5. One leads, the others stand by. */
  replicas?: number;
  /** How many objects are reconciled at once. With Execution.Pod, how many runs have a pod at once. */
  concurrency?: number;
  /** After so many seconds without an answer the handler's processes are killed. */
  timeoutSeconds?: number;
  /** Every object is reconciled at least this often. */
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
  /** An image in place of the folder, mounted as a volume. Needs Kubernetes 1.31 with the feature ImageVolume. */
  files?: HandlerFiles;
}

/** Who may set annotations of Argosy's on custom resources, such as `argosy.dev/paused`. */
export interface AnnotationsGuard {
  /** Groups of users, beside Argosy and cluster administrators. */
  groups: string[];
}

/** What keeps others from writing what is Argosy's, whatever RBAC allows them. */
export interface Guards {
  /** Whether only the operators change and delete their children, and make objects with their marks. Default: false. */
  children?: boolean;
  /** Who may set annotations of Argosy's on custom resources. Default: everybody who may change them. */
  annotations?: AnnotationsGuard;
  /** Groups that no guard stops, such as `system:serviceaccounts:velero`. Default: none. */
  exempt?: string[];
}

/** All that the pods of an operator's runs may have together. */
export interface Quota {
  /** Default: the operator's concurrency. */
  pods?: number;
  /** Sums of requests, such as `cpu: "2"`. Default: no limit. */
  requests?: Record<string, string>;
  /** Sums of limits. Default: no limit. */
  limits?: Record<string, string>;
}

/** What `Operators` are made from. */
export interface OperatorsArgs {
  /** The folder with a folder for each operator, relative to the program's folder. */
  handlers: string;
  /** A platform to make for them. Default: one with all defaults. */
  platform?: Platform;
  /** The stack whose output `platform` is the platform to use, in place of making one: "organization/project/stack". */
  platformStack?: string;
  /**
   * Tells these operators from all others in the same cluster, and names their event bus, event source and sensor. At most
   * 20 characters. Default: "argosy".
   */
  installation?: string;
  /** What this program gives operators in place of what their operator.yaml says, by their names. */
  overrides?: Record<string, Overrides>;
  /** The size of the event bus. Default: one member, without a volume. */
  eventBus?: EventBus;
  /** Rules of the API server that keep everybody but Argosy from writing what is Argosy's. Default: none. */
  guards?: Guards;
  /** What carries events from outside to operators that have `on`. */
  outsideEvents?: OutsideEvents;
  /**
   * All that the pods of an operator's runs may have together, by the names of operators of the form "pod". Runs for which
   * there is no room wait. Default: no limit but the operator's concurrency.
   */
  quotas?: Record<string, Quota>;
  /** Where every pod runs, and where its image comes from. Default: anywhere, from the images' own registries. */
  placement?: Placement;
  /** Other images by name. Default: Argosy's own. */
  images?: Images;
  /** Requests and limits by container. Each figure takes the place of Argosy's own. Default: Argosy's own. */
  resources?: ContainerResources;
  /**
   * Of the pods of one part, and of one operator by its name. Labels, annotations, node selectors and tolerations are
   * added to those of all pods. Default: as all pods.
   */
  pods?: Pods;
  /** Runners of each resident operator. One leads, the others stand by. Default: 1. */
  replicas?: pulumi.Input<number>;
  /** How long the Workflow of a run that succeeded is kept, in seconds. Default: 3600. */
  runsKeptSeconds?: number;
  /** How long the Workflow of a run that failed is kept, in seconds. Default: 86400. */
  failedRunsKeptSeconds?: number;
  /** Where runs are sent as traces. Default: none. */
  traces?: Traces;
  /** Whether Pulumi refuses to delete what data hangs on: every CRD, the event bus, the namespaces. Default: false. */
  protect?: boolean;
  /** The cluster. Default: that of the provider, `kubernetes:kubeconfig` and `kubernetes:context`. */
  cluster?: Cluster;
}

/** What operators need to know of a platform. */
export interface ExistingPlatform {
  /** The version of Argosy that made it. */
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
 * Operators with all that they need: Argo Events, Argo Workflows, the event bus that they share, and each operator of a
 * folder with its CRD.
 */
export declare class Operators extends pulumi.ComponentResource {
  /** Names of the operators' CRDs: "memcacheds.cache.example.com". */
  readonly customResources: pulumi.Output<string[]>;
  /** The platform that they run on. As the output `platform` of a stack it is there for the stacks of others. */
  readonly platform: pulumi.Output<ExistingPlatform>;
  /** Names of the runners' Deployments, by operator. Operators of the form "pod" have none. */
  readonly runners: pulumi.Output<Record<string, string>>;
  /** Name of the Service of argo-server, which has the UI. Not there if it is not ours. */
  readonly argoServer?: pulumi.Output<string>;

  constructor(name: string, args: OperatorsArgs, opts?: pulumi.ComponentResourceOptions);
}
