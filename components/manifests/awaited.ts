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
