import type { KubernetesClient } from "../../runtime/kubernetes/client";
import type { Resource } from "../../runtime/kubernetes/resource";

/** Where a run takes place. */
export interface Ground {
  /** With every right, and by a way that no fault is on. */
  readonly client: KubernetesClient;
  /** The custom resources. */
  readonly resource: Resource;
  /** Where they are. Nobody else uses it. */
  readonly namespace: string;
  /** Where no owner reference reaches. Nobody else uses it either. */
  readonly far: string;
}

/** The kinds of the children. */
export const CHILD_RESOURCES: readonly Resource[] = [
  { apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true },
  { apiVersion: "v1", kind: "Secret", plural: "secrets", namespaced: true },
  { apiVersion: "v1", kind: "Service", plural: "services", namespaced: true },
];

/** How the API serves a child's kind. @throws Error where it is none */
export function childResource(kind: string): Resource {
  const found = CHILD_RESOURCES.find((resource) => resource.kind === kind);
  if (!found) throw new Error(`a ${kind} is no child`);
  return found;
}
