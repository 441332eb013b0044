/** One toleration of a pod, as Kubernetes has it. */
export interface Toleration {
  readonly key?: string;
  readonly operator?: "Exists" | "Equal";
  readonly value?: string;
  readonly effect?: "NoSchedule" | "PreferNoSchedule" | "NoExecute";
  readonly tolerationSeconds?: number;
}

/** Where every pod of Argosy runs, and where its images come from. */
export interface PodPlacement {
  /** A mirror from which all images are pulled: it takes the place of each image's own registry. @default none */
  readonly registry?: string;
  /** Names of Secrets for pulling, in each namespace that has pods of Argosy. @default [] */
  readonly imagePullSecrets: readonly string[];
  /** @default {} */
  readonly nodeSelector: Readonly<Record<string, string>>;
  /** @default [] */
  readonly tolerations: readonly Toleration[];
}

/** The fields of a pod's specification that a placement gives; nothing where it says nothing. */
export function placementFields({ imagePullSecrets, nodeSelector, tolerations }: PodPlacement) {
  return {
    ...(imagePullSecrets.length > 0 && { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) }),
    ...(Object.keys(nodeSelector).length > 0 && { nodeSelector }),
    ...(tolerations.length > 0 && { tolerations }),
  };
}

/**
 * The user and group of every pod of ours, the same in all containers of a pod, so that they may share files. No
 * image needs to know it.
 */
const POD_USER = 65532;

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

/** Whoever may look into the pod's volumes may read them, nobody may write. */
export const READ_ONLY = 0o444;

/** An entry of a container's `env`. */
export interface EnvironmentVariable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?:
    | { readonly fieldRef: { readonly fieldPath: string } }
    | { readonly secretKeyRef: { readonly name: string; readonly key: string } };
}

/** An entry of a container's `volumeMounts`. */
export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean;
}

/** An HTTP probe of a container. */
export interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
  readonly periodSeconds: number;
  readonly timeoutSeconds: number;
  readonly failureThreshold: number;
}

/** A container, as far as ours go; Kubernetes' own fields. */
export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly workingDir?: string;
  readonly env?: readonly EnvironmentVariable[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly resources: {
    readonly requests?: Readonly<Record<string, string>>;
    readonly limits?: Readonly<Record<string, string>>;
  };
  readonly securityContext: object;
  readonly volumeMounts: readonly VolumeMount[];
}

/** A volume: its name, and its source in a field of Kubernetes' own name. */
export interface Volume {
  readonly name: string;
  readonly emptyDir?: { readonly medium?: "Memory"; readonly sizeLimit?: string };
  readonly configMap?: {
    readonly name: string;
    readonly defaultMode: number;
    readonly items?: readonly object[];
  };
  readonly projected?: { readonly defaultMode: number; readonly sources: readonly object[] };
}

/** The two forms of an operator's pod: see `execution` of a definition. */
export type PodForm = "resident" | "pod";
