import type * as pulumi from "@pulumi/pulumi";
import { ConfigurationError } from "../errors";
import type { Cluster } from "./cluster";
import type { Claim } from "./thisRun";

/** The key of the claim to the CRD of this name. */
export function crdKey(crd: string): string {
  return `crd ${crd}`;
}

/**
 * Claims all of these things for a component.
 * @throws ConfigurationError if another component of the program has claimed one of them in the same cluster
 */
export function claim({ known }: Cluster, claims: readonly Claim[], resource: pulumi.Resource): void {
  const problems = claims.flatMap(({ key, what, component, remedy }) => {
    const owner = known.claims.get(key);
    return owner
      ? [`${component}: ${what} already belongs to ${owner.component} in this program. ${remedy}`]
      : [];
  });
  if (problems.length > 0) throw new ConfigurationError(problems);
  for (const each of claims) known.claims.set(each.key, { ...each, resource });
}

/** The component of this program that has claimed the thing of this key in a cluster. */
export function claimant({ known }: Cluster, key: string): pulumi.Resource | undefined {
  return known.claims.get(key)?.resource;
}
