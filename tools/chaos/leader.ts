import { leaseNameOf, type OperatorIdentity } from "../../runtime/base/names";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { LEASES } from "../../runtime/leadership/lease";
import { NotYetError } from "./persist";

/**
 * The name of the pod that leads, or led last, according to an operator's Lease.
 * @throws NotYetError if no runner holds the lease
 */
export async function leadingPod(
  client: KubernetesClient,
  { namespace, operator }: { readonly namespace: string; readonly operator: OperatorIdentity },
): Promise<string> {
  const lease = await client.get(LEASES, { namespace, name: leaseNameOf(operator) });
  const { holderIdentity } = (lease?.["spec"] ?? {}) as { holderIdentity?: string };
  // runtime/programs/resident/hints.ts: a pod's name has no underscore.
  const [pod] = holderIdentity?.split("_") ?? [];
  if (!pod) throw new NotYetError(`no runner of ${operator.name} leads`);
  return pod;
}
