import type * as pulumi from "@pulumi/pulumi";
import type { ExistingPlatform, Platform } from "./platform";
import type { ContainerResources, Images, Placement, Pods, Resources } from "./pods";

// The operators, and the component itself: see contract.ts.

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

/** A cluster, as Pulumi's Kubernetes provider takes it. */
export interface Cluster {
  /** The text of a kubeconfig, or the path of its file. Default: `$KUBECONFIG`, else `~/.kube/config`. */
  kubeconfig?: pulumi.Input<string>;
  /** The context to use. Default: the current context of the kubeconfig. */
  context?: pulumi.Input<string>;
  /**
   * A name of your own for the cluster. If the address or the certificate authority in the kubeconfig changes, Pulumi takes the
   * cluster for another one and replaces every object. With this name, it takes only another name for another cluster. Add the
   * name in a deployment that does not change the kubeconfig. Default: none.
   */
  clusterIdentifier?: pulumi.Input<string>;
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
  storageClassName?: string;
}

/** The event bus and the intake that bring events from outside to operators that have `on`. */
export interface OutsideEvents {
  /** The number of members of the event bus for events from outside: 1, or an odd number from 3. Default: 1. */
  replicas?: number;
  /** The size of each member's volume, such as "1Gi". Required if an operator has `on`. Default: none. */
  storage?: string;
  /** The storage class of these volumes. Default: the cluster's default. */
  storageClassName?: string;
  /** The number of pods of the intake, which creates custom resources from these events. Default: 1. */
  intakes?: number;
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

/** A key of a Secret in the operators' namespace. */
export interface SecretKey {
  /** The Secret's name. */
  secret: string;
  key: string;
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
  /** How many seconds the handler may take for an answer. After that, its processes are killed. */
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
   * An image whose files replace those of the folder, mounted as a volume. Needs Kubernetes 1.35, or 1.34 with the feature gate
   * ImageVolume.
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
   * Pulumi's option `protect` of the component protects all its objects except immutable ConfigMaps, which every edit replaces.
   * Default: false.
   */
  protect?: boolean;
  /** The cluster. Default: that of the provider, `kubernetes:kubeconfig` and `kubernetes:context`. */
  cluster?: Cluster;
}

/**
 * Operators with everything that they need: Argo Events, Argo Workflows, the event bus that they share, and each operator of a
 * folder with its CRD.
 */
export declare class Operators extends pulumi.ComponentResource {
  /** The names of the operators' CRDs, such as "memcacheds.cache.example.com". */
  readonly crdNames: pulumi.Output<string[]>;
  /** The platform that the operators run on. Export it as the output `platform` of the stack if other stacks use the platform. */
  readonly platform: pulumi.Output<ExistingPlatform>;
  /** The names of the runners' Deployments, by operator. Operators with execution "pod" have none. */
  readonly runners: pulumi.Output<Record<string, string>>;
  /** The name of the Service of argo-server, which has the UI. Missing if the platform does not create it. */
  readonly argoServer?: pulumi.Output<string>;

  constructor(name: string, args: OperatorsArgs, opts?: pulumi.ComponentResourceOptions);
}
