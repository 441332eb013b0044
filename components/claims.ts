import type * as pulumi from "@pulumi/pulumi";
import type { Cluster } from "./cluster";
import { ConfigurationError } from "./errors";
import { onceForEachRun } from "./thisRun";

/** A thing that a cluster can have only once, and the component of this program that creates it. */
export interface Claim {
  /** Which thing: the same for two claims to the same thing. */
  readonly key: string;
  /** The thing in an error: `the installation "shop"`. */
  readonly what: string;
  /** `Operators "shop"` */
  readonly component: string;
  /** What to do about a second claim. */
  readonly remedy: string;
}

interface Owner extends Claim {
  readonly resource: pulumi.Resource;
}

/** The claims of a program's components, by cluster and key. */
const clusters = onceForEachRun("claims", () => new Map<unknown, Map<string, Owner>>());

function claimsIn({ identity }: Cluster): Map<string, Owner> {
  const known = clusters();
  const claims = known.get(identity) ?? new Map<string, Owner>();
  known.set(identity, claims);
  return claims;
}

/**
 * Claims all of these things for a component.
 * @throws ConfigurationError if another component of the program has claimed one of them in the same cluster
 */
export function claim(cluster: Cluster, claims: readonly Claim[], resource: pulumi.Resource): void {
  const known = claimsIn(cluster);
  const problems = claims.flatMap(({ key, what, component, remedy }) => {
    const owner = known.get(key);
    return owner
      ? [`${component}: ${what} already belongs to ${owner.component} in this program. ${remedy}`]
      : [];
  });
  if (problems.length > 0) throw new ConfigurationError(problems);
  for (const each of claims) known.set(each.key, { ...each, resource });
}

/** The component of this program that has claimed the thing of this key in a cluster. */
export function claimant(cluster: Cluster, key: string): pulumi.Resource | undefined {
  return claimsIn(cluster).get(key)?.resource;
}
