import type { Operator, PolicyRule } from "../../runtime/definition/definition";
import { groupOf, type Manifest } from "../../runtime/kubernetes/objects";
import { leaseNameOf } from "../../runtime/names";
import { labelsOf } from "./labels";

/** Where an operator's runner lives and what it runs as. */
export interface RunnerAccount {
  /** The runner's namespace; its lease is there as well. */
  readonly namespace: string;
  readonly serviceAccountName: string;
}

/**
 * The runner's service account and exactly the rights that the engine needs for what the operator declares:
 * its custom resource, its children's kinds, events and its lease. With `namespaces: "all"` they hold in the
 * whole cluster, with a list only there. The author's `rules` are his handler's, not the runner's.
 */
export function buildRoles(operator: Operator, account: RunnerAccount): Manifest[] {
  const name = `${operator.name}-runner`;
  const rules = [...customResourceRules(operator), ...childRules(operator), EVENT_RULE];
  const leaseRole = `${name}-lease`;
  const { namespace } = account;
  return [
    {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: account.serviceAccountName, namespace, labels: labelsOf(operator.name, "runner") },
    },
    ...(operator.namespaces === "all"
      ? grant(operator, name, undefined, rules, account)
      : operator.namespaces.flatMap((each) => grant(operator, name, each, rules, account))),
    ...grant(operator, leaseRole, namespace, leaseRules(operator.name), account),
  ];
}

function customResourceRules({ customResource: { group, plural } }: Operator): PolicyRule[] {
  const apiGroups = [group];
  return [
    { apiGroups, resources: [plural], verbs: ["get", "list", "watch", "patch"] },
    { apiGroups, resources: [`${plural}/status`], verbs: ["patch"] },
    // Without it the admission plugin OwnerReferencesPermissionEnforcement refuses owner references that block.
    { apiGroups, resources: [`${plural}/finalizers`], verbs: ["update"] },
  ];
}

/** One rule for each API group, in the order in which the operator declares them. */
function childRules({ children }: Operator): PolicyRule[] {
  const resources = new Map<string, string[]>();
  for (const { apiVersion, plural } of children) {
    const group = groupOf(apiVersion);
    resources.set(group, [...(resources.get(group) ?? []), plural]);
  }
  const verbs = ["get", "list", "watch", "create", "patch", "delete"];
  return [...resources].map(([group, plurals]) => ({ apiGroups: [group], resources: plurals, verbs }));
}

const EVENT_RULE: PolicyRule = {
  apiGroups: ["events.k8s.io"],
  resources: ["events"],
  verbs: ["create", "patch"],
};

function leaseRules(operator: string): PolicyRule[] {
  const lease = { apiGroups: ["coordination.k8s.io"], resources: ["leases"] };
  return [
    // A create cannot be narrowed by name: RBAC does not know the name of an object to come.
    { ...lease, verbs: ["create"] },
    { ...lease, verbs: ["get", "update"], resourceNames: [leaseNameOf(operator)] },
  ];
}

/** A role with these rules, bound to the account: in a namespace, or in the whole cluster where there is none. */
function grant(
  operator: Operator,
  name: string,
  namespace: string | undefined,
  rules: readonly PolicyRule[],
  account: RunnerAccount,
): Manifest[] {
  const apiVersion = "rbac.authorization.k8s.io/v1";
  const kind = namespace === undefined ? "ClusterRole" : "Role";
  const metadata = {
    name,
    ...(namespace !== undefined && { namespace }),
    labels: labelsOf(operator.name, "runner"),
  };
  const subject = { kind: "ServiceAccount", name: account.serviceAccountName, namespace: account.namespace };
  return [
    { apiVersion, kind, metadata, rules },
    {
      apiVersion,
      kind: `${kind}Binding`,
      metadata,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name },
      subjects: [subject],
    },
  ];
}
