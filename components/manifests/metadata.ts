import type { Manifest } from "../../runtime/program";

/**
 * Manifests by what each is for: the key is the end of its name in Pulumi's tree, "account" of
 * "argo-events-account". Registered in this order.
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
 * Annotations that let Pulumi wait until all of these conditions are True, for at most three minutes
 * (https://github.com/pulumi/pulumi-kubernetes: `pulumi.com/waitFor`). They say that the events controller has made
 * what an object asks for, not that the pods of it run (argo-events, pkg/reconciler).
 */
export function awaited(...conditions: readonly string[]): Record<string, string> {
  return {
    "pulumi.com/waitFor": JSON.stringify(conditions.map((condition) => `condition=${condition}`)),
    "pulumi.com/timeoutSeconds": "180",
  };
}

/**
 * Annotation of what Argo's events controller writes back as its own types have it, all of it, when it adds its finalizer
 * (argo-events, pkg/reconciler): what it has rewritten by that, such as all triggers of a Sensor, is then its own to the
 * API server, and the next change of ours would be a conflict. It is ours, and taken back
 * (https://github.com/pulumi/pulumi-kubernetes: `pulumi.com/patchForce`).
 */
export const TAKEN_BACK = { "pulumi.com/patchForce": "true" } as const;

/**
 * Annotations of a Service behind which a Deployment of ours is, which Pulumi awaits anyway: for the Service itself it
 * would wait ten seconds more, also for one that is ready (pulumi-kubernetes, provider/pkg/await/service.go).
 */
export const NOT_AWAITED = { "pulumi.com/skipAwait": "true" } as const;
