import { groupOf, type Operator, type PolicyRule } from "../../runtime/program";
import type { Role, RoleBinding, ServiceAccount } from "./kinds";
import type { ManifestSet } from "./metadata";

type Labels = Readonly<Record<string, string>>;

/** The rights of a service account. */
export interface Grant {
  /** Name of the role and of its binding. */
  readonly name: string;
  /** The namespace in which the rules hold, which may be another than the account's. @default the whole cluster */
  readonly namespace?: string | undefined;
  readonly labels: Labels;
  readonly rules: readonly PolicyRule[];
  readonly account: { readonly name: string; readonly namespace: string };
}

/** A Role, or a ClusterRole if no namespace is given, and its binding to the account. */
export function buildRole({ name, namespace, labels, rules, account }: Grant): {
  readonly role: Role;
  readonly binding: RoleBinding;
} {
  const apiVersion = "rbac.authorization.k8s.io/v1";
  const kind = namespace === undefined ? "ClusterRole" : "Role";
  const metadata = { name, ...(namespace !== undefined && { namespace }), labels };
  return {
    role: { apiVersion, kind, metadata, rules: rules as NonNullable<Role["rules"]> },
    binding: {
      apiVersion,
      kind: `${kind}Binding`,
      metadata,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name },
      subjects: [{ kind: "ServiceAccount", ...account }],
    },
  };
}

/**
 * A role and its binding as parts of a set, `<key>-role` and `<key>-role-binding`, both with ".<namespace>" behind them if the
 * rules hold in a namespace. No name of a namespace has a dot, so the keys differ whatever namespaces are called: "role" of the
 * namespace "binding" is not "role-binding" of the cluster.
 */
export function buildGrant(key: string, grant: Grant): ManifestSet {
  const { role, binding } = buildRole(grant);
  const where = grant.namespace === undefined ? "" : `.${grant.namespace}`;
  return { [`${key}-role${where}`]: role, [`${key}-role-binding${where}`]: binding };
}

/** A service account. @param annotations by which a cloud gives it an identity. @default none */
export function buildAccount(
  name: string,
  namespace: string,
  labels: Labels,
  annotations: Labels = {},
): ServiceAccount {
  const isAnnotated = Object.keys(annotations).length > 0;
  return {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name, namespace, labels, ...(isAnnotated && { annotations }) },
  };
}

/** The resources of kinds by their API groups, in the order in which the operator declares them. */
export function pluralsByGroup(kinds: Operator["children"]): Map<string, string[]> {
  const plurals = new Map<string, string[]>();
  for (const { apiVersion, plural } of kinds) {
    const group = groupOf(apiVersion);
    plurals.set(group, [...(plurals.get(group) ?? []), plural]);
  }
  return plurals;
}
