import * as pulumi from "@pulumi/pulumi";
import type { Cluster } from "./cluster";
import { ConfigurationError } from "./errors";

/** A thing that a cluster can have only once, and the component of this program that creates it. */
export interface Claim {
  /** In an error: `the installation "shop"`. */
  readonly what: string;
  /** `Operators "shop"` */
  readonly component: string;
  /** What to do about a second claim. */
  readonly remedy: string;
}

interface Owner extends Claim {
  readonly resource: pulumi.Resource;
}

/** The claims of a program's components, by cluster. Each run of a program has its own monitor. */
const programs = new WeakMap<object, Map<unknown, Map<string, Owner>>>();

function claimsIn(cluster: Cluster): Map<string, Owner> {
  const program = pulumi.runtime.getMonitor() ?? programs;
  const clusters = programs.get(program) ?? new Map<unknown, Map<string, Owner>>();
  programs.set(program, clusters);
  const claims = clusters.get(cluster.identity) ?? new Map<string, Owner>();
  clusters.set(cluster.identity, claims);
  return claims;
}

/**
 * Claims all of these things for a component.
 * @throws ConfigurationError if another component of the program has claimed one of them in the same cluster
 */
export function claim(cluster: Cluster, claims: readonly Claim[], resource: pulumi.Resource): void {
  const known = claimsIn(cluster);
  const problems = claims.flatMap(({ what, component, remedy }) => {
    const owner = known.get(what);
    return owner
      ? [`${component}: ${what} already belongs to ${owner.component} in this program. ${remedy}`]
      : [];
  });
  if (problems.length > 0) throw new ConfigurationError(problems);
  for (const each of claims) known.set(each.what, { ...each, resource });
}

/** The component of this program that has claimed something in a cluster. */
export function claimant(cluster: Cluster, what: string): pulumi.Resource | undefined {
  return claimsIn(cluster).get(what)?.resource;
}
