import { identityOf, type Operator, type PolicyRule } from "../../../runtime/program";
import { buildAccount, buildRole } from "../access";
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
export function buildOperatorAccount(operator: Operator, account: OperatorAccount): ManifestSet {
  const { component, namespace, serviceAccountName } = account;
  const labels = labelsOf(operator.name, component);
  return { [`${component}-account`]: buildAccount(serviceAccountName, namespace, labels) };
}

/**
 * Roles with these rights, bound to the account: `<component>-role` and `<component>-role-binding` in the whole
 * cluster, and with "-<namespace>" after each in namespaces. In a cluster they are named by the operator's identity:
 * another program may have an operator of this name, and rights in the same namespaces.
 */
export function buildGrant(operator: Operator, account: OperatorAccount, grant: Grant): ManifestSet {
  const { component, namespace: home, serviceAccountName } = account;
  const { about, namespaces, rules } = grant;
  const prefix = about === undefined ? component : `${component}-${about}`;
  const scopes = namespaces === "all" ? [undefined] : namespaces;
  return Object.fromEntries(
    scopes.flatMap((namespace) => {
      const suffix = namespace === undefined ? "" : `-${namespace}`;
      const { role, binding } = buildRole({
        name: `${identityOf(operator)}-${prefix}`,
        namespace,
        labels: labelsOf(operator.name, component),
        rules,
        account: { name: serviceAccountName, namespace: home },
      });
      return [
        [`${prefix}-role${suffix}`, role],
        [`${prefix}-role-binding${suffix}`, binding],
      ];
    }),
  );
}
