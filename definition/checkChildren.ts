import type { ChildKind, CustomResourceKind } from "../runtime/definition/definition";
import { BUILT_IN_KINDS, groupsOfKind, isNamespaced } from "../runtime/kubernetes/kinds";
import { groupOf } from "../runtime/kubernetes/objects";
import type { Report } from "./problems";
import type { CheckedDefinition } from "./schema";

/**
 * Checks the declared kinds against one another, against the custom resource and against what Kubernetes has.
 *
 * @param resource - undefined where the CRD could not be read
 */
export function checkChildren(
  { children, namespaces }: Pick<CheckedDefinition, "children" | "namespaces">,
  resource: CustomResourceKind | undefined,
  report: Report,
): void {
  const seen = new Map<string, number>();
  for (const [index, child] of children.entries()) {
    const field = `children[${index}]`;
    const group = groupOf(child.apiVersion);
    const first = seen.get(`${group}/${child.kind}`);
    if (first !== undefined) {
      report(field, `is the same kind as children[${first}]: ${child.kind}`, "Keep one of the two.");
    }
    seen.set(`${group}/${child.kind}`, first ?? index);
    if (group === resource?.group && child.kind === resource.kind) {
      report(
        field,
        `is ${child.kind}, the operator's own kind`,
        "Leave it out: each object would make another without end.",
      );
    }
    if (child.retired && child.update !== undefined) {
      report(`${field}.update`, "is given for a retired kind, which is only deleted", "Leave it out.");
    }
    checkKnownKind(child, field, report);
    if (namespaces !== "all" && isNamespaced(child.apiVersion, child.kind) === false) {
      report(field, `is ${child.kind}, which is in no namespace`, "Leave it out, or write namespaces: all.", [
        "namespaces",
      ]);
    }
  }
  if (namespaces !== "all" && resource?.namespaced === false) {
    report(
      "namespaces",
      "is a list, but the CRD's scope is Cluster",
      "Write namespaces: all, or scope: Namespaced.",
    );
  }
}

/** A kind of Kubernetes' own under a group that does not have it is a slip: Deployment of "v1". */
function checkKnownKind({ apiVersion, kind }: ChildKind, field: string, report: Report): void {
  const groups = groupsOfKind(kind);
  const group = groupOf(apiVersion);
  const isOwnGroup = !group.includes(".") || Object.hasOwn(BUILT_IN_KINDS, group);
  if (groups.length === 0 || groups.includes(group) || !isOwnGroup) return;
  const known = groups.map((name) => (name === "" ? '"v1"' : `"${name}/…"`)).join(" or ");
  report(`${field}.apiVersion`, `is "${apiVersion}", which has no ${kind}`, `Kubernetes has it in ${known}.`);
}
