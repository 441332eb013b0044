import { groupOf } from "../runtime/base/objects";
import type { ChildKind } from "../runtime/operator/definition";
import { RBAC_GROUP } from "./fields/rights";
import type { Report } from "./problems";
import type { CheckedDefinition } from "./schema";

const ROLES = ["Role", "ClusterRole"];
const BINDINGS = ["RoleBinding", "ClusterRoleBinding"];

/**
 * Checks `grants` against the kinds of children. Kubernetes refuses a Role or a binding that grants what its creator does not
 * hold, so an operator that answers such kinds must say what they may grant.
 */
export function checkGrants(
  { children, grants }: Pick<CheckedDefinition, "children" | "grants">,
  report: Report,
): void {
  const answered = children.map((child, index) => (isGranting(child) ? index : -1)).filter((at) => at >= 0);
  const [first] = answered;
  if (first === undefined) {
    if (grants.length === 0) return;
    const complaint = `is given, and no kind of children is one of ${[...ROLES, ...BINDINGS].join(", ")}`;
    report("grants", complaint, "Leave it out, or add the kind that the handler returns to children.");
    return;
  }
  const kinds = answered.flatMap((at) => children[at]?.kind ?? []);
  if (grants.length === 0) {
    report(
      `children[${first}]`,
      `is ${kinds[0]}, and "grants" does not say what it may grant`,
      "Declare the rights, for example grants: [ClusterRole/view] or grants: [{ apiGroups: [batch], resources: [jobs], " +
        "verbs: [get] }].",
    );
    return;
  }
  for (const [index, { resources, verbs, resourceNames = [] }] of grants.entries()) {
    if (!verbs.includes("bind")) continue;
    if (resourceNames.includes("cluster-admin")) {
      const complaint = "is the role cluster-admin, with which an account can gain every other right";
      report(`grants[${index}]`, complaint, "Name a role with fewer rights, for example ClusterRole/view.");
    }
    const binders = resources[0] === "roles" ? ["RoleBinding"] : BINDINGS;
    if (binders.some((kind) => kinds.includes(kind))) continue;
    report(
      `grants[${index}]`,
      `is an existing role, and children has no ${binders.join(" and no ")} to refer to it`,
      `Leave it out, or add ${RBAC_GROUP}/v1/${binders[0]} to children.`,
      ["children"],
    );
  }
}

/** Whether children of a kind grant rights. A retired kind is only deleted, which needs none of the granted rights. */
export function isGranting({
  apiVersion,
  kind,
  retired,
}: Pick<ChildKind, "apiVersion" | "kind" | "retired">): boolean {
  return !retired && groupOf(apiVersion) === RBAC_GROUP && [...ROLES, ...BINDINGS].includes(kind);
}
