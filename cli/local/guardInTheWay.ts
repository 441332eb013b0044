import { runnerNameOf } from "../../components/manifests/names";
import { guardNameOf } from "../../components/manifests/operator/guards";
import { builtIn, ifRefused, type KubernetesClient, type Operator } from "../../runtime/cli";

const POLICY = builtIn("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy");

/**
 * A note for a user whose operator runs as an account that a guard of a deployed program refuses.
 * @param client with the rights of an administrator
 * @param namespace that of the account
 * @returns undefined if no guard refuses it, or if the guards cannot be read
 */
export async function guardInTheWay(
  client: KubernetesClient,
  operator: Operator,
  namespace: string,
): Promise<string | undefined> {
  const name = guardNameOf(operator, "children");
  const policy = await client
    .get(POLICY, { name })
    .catch(ifRefused(403, undefined))
    .catch(ifRefused(404, undefined));
  if (!policy) return undefined;
  const user = `system:serviceaccount:${namespace}:${runnerNameOf(operator.name)}`;
  const group = `system:serviceaccounts:${namespace}`;
  // Guards name accounts and groups in quotes, each in full.
  const expressions =
    (policy["spec"] as { matchConditions?: { expression: string }[] }).matchConditions ?? [];
  const names = (text: string) =>
    expressions.some(({ expression }) => expression.includes(JSON.stringify(text)));
  if (names(user) || names(group)) return undefined;
  return (
    `the guard ${name} refuses the writes of ${user}, so children will not change. Use a cluster without this guard, or ` +
    `add ${group} to guards.exempt of the program that created it.`
  );
}
