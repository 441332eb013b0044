import { fieldManagerOf, finalizersOf, leaseNameOf } from "../../runtime/base/names";
import { groupOf, type KubernetesObject } from "../../runtime/base/objects";
import type { Resource } from "../../runtime/base/resource";
import { builtIn, type KubernetesClient, type Lease } from "../../runtime/cli";
import { DEFAULT_HOME } from "./installed";
import { type InstalledOperator, identityIn } from "./readInstalled";

/**
 * The operators that may handle an object, and that `argosy dev` runs. `argosy dev` installs nothing in the cluster, so only
 * their Leases show them. One that wrote the object's status or set one of its finalizers is an operator of its kind. Any other one
 * may watch the object without a trace on it.
 */
export async function runningOperators(
  client: KubernetesClient,
  object: KubernetesObject,
  resource: Resource,
): Promise<InstalledOperator[]> {
  const leases = await client.listAll(builtIn("coordination.k8s.io/v1", "Lease"), {
    namespace: DEFAULT_HOME,
  });
  const { apiVersion, kind, plural, namespaced } = resource;
  const version = apiVersion.slice(apiVersion.indexOf("/") + 1);
  return leases.flatMap((lease): InstalledOperator[] => {
    const { name } = lease.metadata;
    const identity = identityIn(name.slice(name.indexOf("-") + 1));
    if (!identity || leaseNameOf(identity) !== name || !isHeld(lease)) return [];
    const operator = {
      ...identity,
      formerNames: [],
      home: DEFAULT_HOME,
      namespaces: "all",
      execution: "resident",
      customResource: { group: groupOf(apiVersion), version, kind, plural, namespaced },
    } as const;
    return [hasMarkOf(object, operator) ? operator : { ...operator, watch: { labels: {}, on: [] } }];
  });
}

/** Whether a Lease is held. Three times its duration are allowed, because clocks differ and a slow leader still leads. */
export function isHeld({ spec = {} }: Lease): boolean {
  const { holderIdentity, renewTime, leaseDurationSeconds = 15 } = spec;
  if (!holderIdentity || renewTime === undefined) return false;
  return Date.now() - Date.parse(renewTime) < 3 * leaseDurationSeconds * 1000;
}

function hasMarkOf({ metadata }: KubernetesObject, operator: InstalledOperator): boolean {
  const { finalizers = [], managedFields = [] } = metadata;
  return (
    finalizersOf(operator).some((finalizer) => finalizers.includes(finalizer)) ||
    managedFields.some(
      ({ manager, subresource }) => subresource === "status" && manager === fieldManagerOf(operator),
    )
  );
}
