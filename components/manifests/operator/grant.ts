import type { Operator, PolicyRule } from "../../../runtime/definition/definition";
import type { Manifest } from "../../../runtime/kubernetes/objects";
import { labelsOf } from "../labels";
import type { ManifestSet } from "../manifestSet";

/** A service account of an operator, and what it is for. */
export interface OperatorAccount {
  readonly namespace: string;
  readonly serviceAccountName: string;
  /** "runner", "handler" or "resync": in labels, and the beginning of keys and of the roles' names. */
  readonly component: string;
}

/** Rights of an account. */
export interface Grant {
  /** What they are about; part of keys and names. @default nothing, for the account's main rights */
  readonly about?: string;
  /** Where they hold: in the whole cluster, or in these namespaces. */
  readonly namespaces: Operator["namespaces"];
  readonly rules: readonly PolicyRule[];
}

/** The service account itself: `<component>-account`. */
export function buildAccount(operator: Operator, account: OperatorAccount): ManifestSet {
  const { component, namespace, serviceAccountName } = account;
  const metadata = { name: serviceAccountName, namespace, labels: labelsOf(operator.name, component) };
  return { [`${component}-account`]: { apiVersion: "v1", kind: "ServiceAccount", metadata } };
}

/**
 * Roles with these rights, bound to the account: `<component>-role` and `<component>-role-binding` in the whole
 * cluster, and with "-<namespace>" after each in namespaces.
 */
export function buildGrant(operator: Operator, account: OperatorAccount, grant: Grant): ManifestSet {
  const { component } = account;
  const { about, namespaces, rules } = grant;
  const prefix = about === undefined ? component : `${component}-${about}`;
  const scopes = namespaces === "all" ? [undefined] : namespaces;
  return Object.fromEntries(
    scopes.flatMap((namespace) => {
      const suffix = namespace === undefined ? "" : `-${namespace}`;
      const [role, binding] = roleWithBinding(
        operator,
        account,
        `${operator.name}-${prefix}`,
        namespace,
        rules,
      );
      return [
        [`${prefix}-role${suffix}`, role],
        [`${prefix}-role-binding${suffix}`, binding],
      ];
    }),
  );
}

function roleWithBinding(
  operator: Operator,
  account: OperatorAccount,
  name: string,
  namespace: string | undefined,
  rules: readonly PolicyRule[],
): [role: Manifest, binding: Manifest] {
  const apiVersion = "rbac.authorization.k8s.io/v1";
  const kind = namespace === undefined ? "ClusterRole" : "Role";
  const metadata = {
    name,
    ...(namespace !== undefined && { namespace }),
    labels: labelsOf(operator.name, account.component),
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
