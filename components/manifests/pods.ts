import type { Affinity, PodSpec, Toleration } from "./kinds";

/** What pods have of a program's own choice, in Kubernetes' own fields. */
export interface PodOptions {
  /** Labels of the nodes that the pods run on. @default none */
  readonly nodeSelector?: Readonly<Record<string, string>>;
  /** @default none */
  readonly tolerations?: readonly Toleration[];
  /** @default members of an event bus prefer nodes and zones of their own */
  readonly affinity?: Affinity;
  /** @default the cluster's default */
  readonly priorityClassName?: string;
  /** Labels beside Argosy's own. @default none */
  readonly labels?: Readonly<Record<string, string>>;
  /** Annotations beside Argosy's own. @default none */
  readonly annotations?: Readonly<Record<string, string>>;
  /**
   * Annotations of the service account that the pods run as, by which clouds give it an identity of theirs, such as
   * `eks.amazonaws.com/role-arn`. @default none
   */
  readonly serviceAccountAnnotations?: Readonly<Record<string, string>>;
}

/** What all pods of Argosy have in common: where they run, and where their images come from. */
export interface PodPlacement extends PodOptions {
  /** A mirror from which all images are pulled: it takes the place of each image's own registry. @default none */
  readonly registry?: string;
  /** Names of Secrets for pulling, in each namespace that has pods of Argosy. @default none */
  readonly imagePullSecrets?: readonly string[];
}

/** Parts that have pods of their own. */
export const POD_PARTS = [
  "argoEventsController",
  "workflowController",
  "argoServer",
  "eventBus",
  "eventSource",
  "sensor",
  "keeper",
  /** What makes custom resources of events from outside. */
  "intake",
  /** The resident runners of operators. */
  "runner",
  /** The runs of operators whose runs have pods of their own. */
  "run",
  /** The regular look whether objects of those need a run. */
  "resync",
] as const;
export type PodPart = (typeof POD_PARTS)[number];

/** What pods have of a program's own choice: all of them, those of one part, and those of one operator. */
export interface PodsOptions {
  /** Of all pods. */
  readonly placement: PodPlacement;
  /**
   * Of the pods of one part, and of one operator by its name. Labels, annotations and node selectors are added to those of
   * all pods, and so are tolerations. An affinity or a priority class takes the place of the general one.
   * @default as all pods
   */
  readonly pods?: Readonly<Partial<Record<PodPart, PodOptions>>> & {
    readonly operators?: Readonly<Record<string, PodOptions>>;
  };
}

/** What is chosen for the pods of a part. @param operator the operator that they belong to */
function podOptionsOf(part: PodPart, { placement, pods = {} }: PodsOptions, operator?: string): PodOptions {
  const own = operator === undefined ? undefined : pods.operators?.[operator];
  const given = [placement, pods[part], own].filter((each) => each !== undefined);
  const merged = (field: "nodeSelector" | "labels" | "annotations" | "serviceAccountAnnotations") =>
    Object.assign({}, ...given.map((each) => each[field])) as Readonly<Record<string, string>>;
  return {
    ...(Object.assign({}, ...given) as PodOptions),
    nodeSelector: merged("nodeSelector"),
    tolerations: given.flatMap(({ tolerations = [] }) => tolerations),
    labels: merged("labels"),
    annotations: merged("annotations"),
    serviceAccountAnnotations: merged("serviceAccountAnnotations"),
  };
}

/** What is chosen for the service account of a part's pods. */
export function accountAnnotations(part: PodPart, options: PodsOptions, operator?: string) {
  return podOptionsOf(part, options, operator).serviceAccountAnnotations;
}

/** Where the pods of a part run and where their images come from, as fields of a pod. What is not chosen is left out. */
export function placementFields(part: PodPart, options: PodsOptions, operator?: string) {
  const { imagePullSecrets = [] } = options.placement;
  const { nodeSelector, tolerations, affinity, priorityClassName } = podOptionsOf(part, options, operator);
  return {
    ...(imagePullSecrets.length > 0 && { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) }),
    ...(!isEmpty(nodeSelector) && { nodeSelector }),
    ...(!isEmpty(tolerations) && { tolerations }),
    ...(affinity && { affinity }),
    ...(priorityClassName !== undefined && { priorityClassName }),
  } satisfies Partial<PodSpec>;
}

/** The metadata of the pods of a part: Argosy's own labels and annotations, which win, and those that are chosen. */
export function podMetadata(
  part: PodPart,
  own: Pick<PodOptions, "labels" | "annotations">,
  options: PodsOptions,
  operator?: string,
) {
  const chosen = podOptionsOf(part, options, operator);
  const annotations = { ...chosen.annotations, ...own.annotations };
  return { labels: { ...chosen.labels, ...own.labels }, ...(!isEmpty(annotations) && { annotations }) };
}

function isEmpty(value: object | undefined): boolean {
  return value === undefined || Object.keys(value).length === 0;
}

/**
 * The user and group of every pod of ours, the same in all containers of a pod, so that they may share files. No
 * image needs to know it.
 */
export const POD_USER = 65532;

/** What the `restricted` Pod Security Standard asks of a pod (https://kubernetes.io/docs/concepts/security/pod-security-standards/). */
export const POD_SECURITY = {
  runAsNonRoot: true,
  runAsUser: POD_USER,
  runAsGroup: POD_USER,
  fsGroup: POD_USER,
  seccompProfile: { type: "RuntimeDefault" },
} as const;

/** What it asks of each container, and a root file system that nothing can be written to. */
export const CONTAINER_SECURITY = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] as string[] },
} as const;

/** Anyone who may look into the pod's volumes may read them, nobody may write. */
export const READ_ONLY = 0o444;
