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
