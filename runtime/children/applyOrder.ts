import type { Resource } from "../kubernetes/resource";

/** Kinds that others need, in the order in which they are applied. All other kinds come after them. */
const EARLY_KINDS: readonly (readonly string[])[] = [
  ["Namespace", "CustomResourceDefinition", "PriorityClass", "StorageClass"],
  [
    "ServiceAccount",
    "Secret",
    "ConfigMap",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "ResourceQuota",
    "LimitRange",
    "Role",
    "ClusterRole",
  ],
  ["RoleBinding", "ClusterRoleBinding", "NetworkPolicy"],
];

/** Groups of children to apply one after another. Within a group no child waits for another. */
export function inApplyOrder<Child extends { resource: Pick<Resource, "kind"> }>(
  children: readonly Child[],
): Child[][] {
  const groups: Child[][] = [...EARLY_KINDS.map(() => []), []];
  for (const child of children) {
    const early = EARLY_KINDS.findIndex((kinds) => kinds.includes(child.resource.kind));
    groups.at(early)?.push(child);
  }
  return groups.filter((group) => group.length > 0);
}
