import type * as pulumi from "@pulumi/pulumi";

// Pods, images and resources: see contract.ts.

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
  eventBus?: string;
  eventBusReloader?: string;
  eventBusMetrics?: string;
  /** Runs Argosy's engine: in runners, runs, resyncs, the keeper and the intake. */
  engine?: string;
  /** The shell of handlers whose own image may have none. */
  handlerShell?: string;
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
  /** The container that puts a shell for the handler into a runner's pod. */
  handlerShell?: Resources;
  /** The same in a run's pod. */
  runHandlerShell?: Resources;
}

/** Requests and limits of a container, such as `memory: 128Mi`. */
export interface Resources {
  requests?: Record<string, string>;
  limits?: Record<string, string>;
}
