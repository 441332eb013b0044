/** Kubernetes' recommended labels for an object of Argosy (https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/). */
export function labelsOf(name: string, component: string): Record<string, string> {
  return {
    "app.kubernetes.io/name": name,
    "app.kubernetes.io/component": component,
    "app.kubernetes.io/managed-by": "argosy",
  };
}
