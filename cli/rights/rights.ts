import { z } from "zod";
import { RBAC_GROUP } from "../../definition/fields/rights";
import { isRecord } from "../../runtime/base/json";
import { groupOf, kindAndName, type Manifest } from "../../runtime/base/objects";
import { compareTexts } from "../../runtime/base/text";
import { formatReference, OBJECT_REFERENCE, type ObjectReference } from "../common/objectReference";

/** The schema of a {@link Right}. */
export const RIGHT = z.strictObject({
  account: OBJECT_REFERENCE.describe("The ServiceAccount argosy/memcached-runner, the Group viewers."),
  namespace: z.string().optional().describe("A namespace. Left out for the whole cluster."),
  resource: z
    .string()
    .describe('"apps/deployments", "pods", "pods/eviction", or a path of the API server\'s own: "/metrics".'),
  names: z.array(z.string()).readonly().describe("Only objects of these names. Empty for all."),
  verbs: z.array(z.string()).readonly(),
});

/** The rights of an account to one kind of objects in one place. */
export type Right = Readonly<z.infer<typeof RIGHT>>;

/** The place of a right in words: "everywhere", "in shop". */
export function placeOf({ namespace }: Right): string {
  return namespace === undefined ? "everywhere" : `in ${namespace}`;
}

/** The objects of a right in words: "apps/deployments", "secrets (token)". */
export function objectsOf({ resource, names }: Right): string {
  return names.length === 0 ? resource : `${resource} (${names.join(", ")})`;
}

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly verbs?: readonly string[];
}

interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

/** The rights that the roles and bindings among manifests give, in an order that depends only on the manifests. */
export function rightsIn(manifests: readonly Manifest[]): Right[] {
  const roles = new Map(manifests.filter(isRole).map((role) => [roleKey(role.kind, role.metadata), role]));
  const rights = manifests.filter(isBinding).flatMap((binding) => {
    const { roleRef, subjects = [] } = binding as unknown as {
      roleRef: { kind: string; name: string };
      subjects?: readonly Subject[];
    };
    const { namespace } = binding.metadata;
    const role = roles.get(roleKey(roleRef.kind, { ...binding.metadata, name: roleRef.name }));
    const rules = role ? rulesOf(role) : [];
    return subjects.flatMap((subject) =>
      rules.flatMap((rule) => rightsOf(rule, accountOf(subject, namespace), namespace)),
    );
  });
  return merged(rights);
}

/** The accounts that belong to an operator, among manifests. */
export function accountsOf(manifests: readonly Manifest[], operator: string): string[] {
  return manifests
    .filter(
      ({ kind, metadata }) =>
        kind === "ServiceAccount" && metadata.labels?.["app.kubernetes.io/name"] === operator,
    )
    .map(({ kind, metadata }) => kindAndName(kind, metadata));
}

/** The schema of a {@link RightsChange}. */
export const RIGHTS_CHANGE = z.strictObject({
  gained: z.array(RIGHT).readonly(),
  lost: z.array(RIGHT).readonly(),
});

/** The changes of rights. */
export type RightsChange = Readonly<z.infer<typeof RIGHTS_CHANGE>>;

/** Compares the rights of two times, verb by verb. */
export function compareRights(before: readonly Right[], after: readonly Right[]): RightsChange {
  return { gained: without(after, before), lost: without(before, after) };
}

function without(rights: readonly Right[], others: readonly Right[]): Right[] {
  const known = new Map(others.map((right) => [keyOf(right), right.verbs]));
  return rights.flatMap((right) => {
    const before = known.get(keyOf(right)) ?? [];
    const verbs = right.verbs.filter((verb) => !before.includes(verb));
    return verbs.length === 0 ? [] : [{ ...right, verbs }];
  });
}

function isRole({ kind, apiVersion }: Manifest): boolean {
  return groupOf(apiVersion) === RBAC_GROUP && (kind === "Role" || kind === "ClusterRole");
}

function isBinding({ kind, apiVersion }: Manifest): boolean {
  return groupOf(apiVersion) === RBAC_GROUP && (kind === "RoleBinding" || kind === "ClusterRoleBinding");
}

function roleKey(kind: string, { namespace, name }: { readonly namespace?: string; readonly name: string }) {
  return kind === "ClusterRole" ? `ClusterRole ${name}` : `Role ${namespace ?? ""}/${name}`;
}

function rulesOf({ rules }: Manifest): Rule[] {
  return Array.isArray(rules) ? (rules.filter(isRecord) as Rule[]) : [];
}

function accountOf({ kind, name, namespace }: Subject, ofBinding: string | undefined): ObjectReference {
  return kind === "ServiceAccount" ? { kind, namespace: namespace ?? ofBinding, name } : { kind, name };
}

function rightsOf(rule: Rule, account: ObjectReference, namespace: string | undefined): Right[] {
  const { apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [], verbs = [] } = rule;
  const named = apiGroups.flatMap((group) =>
    resources.map((resource) => (group === "" ? resource : `${group}/${resource}`)),
  );
  return [...named, ...nonResourceURLs].map((resource) => ({
    account,
    ...(namespace !== undefined && { namespace }),
    resource,
    names: resourceNames.toSorted(),
    verbs,
  }));
}

function keyOf({ account, namespace = "", resource, names }: Right): string {
  return JSON.stringify([formatReference(account), namespace, resource, names]);
}

/** Merges rights, because several rules may be about the same resource. */
function merged(rights: readonly Right[]): Right[] {
  const byKey = new Map<string, Right>();
  for (const right of rights) {
    const known = byKey.get(keyOf(right))?.verbs ?? [];
    byKey.set(keyOf(right), { ...right, verbs: [...new Set([...known, ...right.verbs])].sort() });
  }
  return [...byKey.entries()].sort(([one], [other]) => compareTexts(one, other)).map(([, right]) => right);
}
