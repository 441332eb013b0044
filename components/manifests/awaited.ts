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
 * Annotations of a Service behind which a Deployment of ours is, which Pulumi awaits anyway: for the Service itself it
 * would wait ten seconds more, also for one that is ready (pulumi-kubernetes, provider/pkg/await/service.go).
 */
export const NOT_AWAITED = { "pulumi.com/skipAwait": "true" } as const;
