import type { PolicyRule } from "../../../runtime/definition/definition";
import type { Manifest } from "../../../runtime/kubernetes/objects";

/** What is allowed to a service account in one namespace, its own or another. */
export interface Grant {
  /** Name of the Role and of its RoleBinding. */
  readonly name: string;
  /** Where the rules hold. */
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly rules: readonly PolicyRule[];
  readonly account: { readonly name: string; readonly namespace: string };
}

/** A Role, and its binding to the account. */
export function buildRole({ name, namespace, labels, rules, account }: Grant): {
  readonly role: Manifest;
  readonly binding: Manifest;
} {
  const apiVersion = "rbac.authorization.k8s.io/v1";
  const metadata = { name, namespace, labels };
  return {
    role: { apiVersion, kind: "Role", metadata, rules },
    binding: {
      apiVersion,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name },
      subjects: [{ kind: "ServiceAccount", ...account }],
    },
  };
}
