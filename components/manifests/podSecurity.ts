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
