import type { Manifest } from "../../runtime/program";

/**
 * Manifests by their roles. The role is the end of the name in Pulumi's tree, "account" of "argo-events-account". They are
 * registered in this order.
 */
export type ManifestSet = Readonly<Record<string, Manifest>>;

/** Kubernetes' recommended labels for an object of Argosy (https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/). */
export function labelsOf(name: string, component: string): Record<string, string> {
  return {
    "app.kubernetes.io/name": name,
    "app.kubernetes.io/component": component,
    "app.kubernetes.io/managed-by": "argosy",
  };
}

/**
 * Annotations that make Pulumi wait until all of these conditions are True, for at most three minutes
 * (https://github.com/pulumi/pulumi-kubernetes: `pulumi.com/waitFor`). The conditions say that the events controller has made the
 * parts of an object, not that its pods run (argo-events, pkg/reconciler).
 */
export function awaited(...conditions: readonly string[]): Record<string, string> {
  return {
    "pulumi.com/waitFor": JSON.stringify(conditions.map((condition) => `condition=${condition}`)),
    "pulumi.com/timeoutSeconds": "180",
  };
}

/**
 * An annotation that takes our fields back from others (https://github.com/pulumi/pulumi-kubernetes: `pulumi.com/patchForce`).
 * Without it, our next change of a field that another client has written would be a conflict. Two such clients are known:
 *
 * - Argo's events controller writes an object back as a whole, in the form of its own types, when it adds its finalizer
 *   (argo-events, pkg/reconciler). The API server then takes the fields that the controller has rewritten, such as all triggers
 *   of a Sensor, for the controller's own.
 * - A client that scales a runner to any number but zero owns `replicas` from then on.
 */
export const TAKEN_BACK = { "pulumi.com/patchForce": "true" } as const;

/** Whether a manifest takes fields from their owners. */
export function isTakenBack({ metadata: { annotations } }: Manifest): boolean {
  return Object.entries(TAKEN_BACK).every(([name, value]) => annotations?.[name] === value);
}

/**
 * Annotations of a Service of one of our Deployments. Pulumi waits for the Deployment anyway. For the Service it would wait ten
 * seconds more, even if it is ready (pulumi-kubernetes, provider/pkg/await/service.go).
 */
export const NOT_AWAITED = { "pulumi.com/skipAwait": "true" } as const;
