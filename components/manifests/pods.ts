// Security and placement of all pods.
import type { Affinity, PodSpec, Toleration } from "./kinds";

/** Fields that a program chooses for pods, as Kubernetes names them. The argument `placement` says what each means. */
export interface PodOptions {
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly tolerations?: readonly Toleration[];
  readonly affinity?: Affinity;
  readonly priorityClassName?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly serviceAccountAnnotations?: Readonly<Record<string, string>>;
}

/** The options of all pods of Argosy: where they run, and where their images come from. */
export interface PodPlacement extends PodOptions {
  readonly registry?: string;
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
  /** The pods that create custom resources from events from outside. */
  "intake",
  /** The resident runners of operators. */
  "runner",
  /** The runs of operators whose runs have pods of their own. */
  "run",
] as const;
export type PodPart = (typeof POD_PARTS)[number];

/** The options that a program chooses for pods: for all pods, for those of one part, and for those of one operator. */
export interface PodsOptions {
  /** For all pods. */
  readonly placement: PodPlacement;
  readonly pods?: Readonly<Partial<Record<PodPart, PodOptions>>> & {
    readonly operators?: Readonly<Record<string, PodOptions>>;
  };
}

/** The options chosen for the pods of a part. @param operator the operator that the pods belong to */
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

/** The annotations chosen for the service account of a part's pods. */
export function accountAnnotations(part: PodPart, options: PodsOptions, operator?: string) {
  return podOptionsOf(part, options, operator).serviceAccountAnnotations;
}

/**
 * Where the pods of a part run and where their images come from, as fields of a pod. Options that are not chosen are left out.
 */
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

/** The metadata of the pods of a part: Argosy's own labels and annotations, and the chosen ones. Argosy's own win. */
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
 * The user and group of all our pods. They are the same in all containers of a pod, so that the containers can share files. No
 * image needs to know this user.
 */
export const POD_USER = 65532;

/**
 * The fields that the `restricted` Pod Security Standard requires of a pod
 * (https://kubernetes.io/docs/concepts/security/pod-security-standards/).
 */
export const POD_SECURITY = {
  runAsNonRoot: true,
  runAsUser: POD_USER,
  runAsGroup: POD_USER,
  fsGroup: POD_USER,
  seccompProfile: { type: "RuntimeDefault" },
} as const;

/** The fields that this standard requires of each container, and a read-only root file system. */
export const CONTAINER_SECURITY = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] as string[] },
} as const;

/** Every user of the pod may read the files of a volume, and no user may write them. */
export const READ_ONLY = 0o444;
