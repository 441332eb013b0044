import { BUILT_IN_KINDS, isNamespaced, pluralOf } from "../runtime/base/kinds";
import { groupOf } from "../runtime/base/objects";
import type { CustomResourceKind, PolicyRule } from "../runtime/operator/definition";
import { nearest } from "./nearest";
import type { Report } from "./problems";
import type { CheckedDefinition } from "./schema";

/**
 * Checks the declared kinds against one another, against the custom resource and against Kubernetes' own kinds.
 *
 * @param resource - undefined if the CRD could not be read
 */
export function checkChildren(
  { children, namespaces, watch }: Pick<CheckedDefinition, "children" | "namespaces" | "watch">,
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
    const isOwnKind = group === resource?.group && child.kind === resource.kind;
    if (isOwnKind && watch && Object.keys(watch.labels ?? {}).length === 0) {
      const complaint = `is ${child.kind}, and every ${child.kind} is watched: each object would create another one without end`;
      report(
        field,
        complaint,
        "Watch only objects with a label that the children do not have: watch.labels.",
        ["watch"],
      );
    } else if (isOwnKind && !watch) {
      report(
        field,
        `is ${child.kind}, the operator's own kind`,
        "Leave it out: each object would create another one without end.",
      );
    }
    if (child.retired && child.update !== undefined) {
      report(`${field}.update`, "is given for a retired kind, which is only deleted", "Leave it out.");
    }
    checkKnownKind(child, field, report);
    if (namespaces !== "all" && isNamespaced(child.apiVersion, child.kind) === false) {
      report(field, `is ${child.kind}, which is cluster-scoped`, "Leave it out, or write namespaces: all.", [
        "namespaces",
      ]);
    }
  }
  if (namespaces !== "all" && resource?.namespaced === false) {
    const ours = "Write namespaces: all, or scope: Namespaced.";
    if (watch) report("namespaces", `is a list, but a ${resource.kind} is cluster-scoped`, "Write all.");
    else report("namespaces", "is a list, but the CRD's scope is Cluster", ours);
  }
}

/**
 * The most letters in which a kind may differ to count as a typing mistake. A kind that Kubernetes gets in a later release must
 * not be refused.
 */
const LETTERS_OF_A_SLIP = 2;

/**
 * Finds three mistakes in Kubernetes' own kinds: a group that does not have the kind, such as "v1" for Deployment; a misspelt
 * kind; and a plural that is not the kind's.
 */
export function checkKnownKind(
  { apiVersion, kind, plural }: Pick<CheckedDefinition["children"][number], "apiVersion" | "kind" | "plural">,
  field: string,
  report: Report,
): void {
  const groups = groupsOfKind(kind);
  const group = groupOf(apiVersion);
  const { namespaced = [], cluster = [] } = Object.hasOwn(BUILT_IN_KINDS, group)
    ? (BUILT_IN_KINDS[group] ?? {})
    : {};
  const meant =
    groups.length === 0 ? nearest(kind, [...namespaced, ...cluster], LETTERS_OF_A_SLIP) : undefined;
  if (meant !== undefined)
    report(`${field}.kind`, `is "${kind}", which ${apiVersion} does not have`, `Did you mean ${meant}?`);
  const served = groups.includes(group) ? pluralOf(apiVersion, kind) : undefined;
  if (plural !== undefined && served !== undefined && plural !== served)
    report(`${field}.plural`, `is "${plural}", and that of ${kind} is "${served}"`, "Leave it out.");
  const isOwnGroup = !group.includes(".") || Object.hasOwn(BUILT_IN_KINDS, group);
  if (groups.length === 0 || groups.includes(group) || !isOwnGroup) return;
  const known = groups.map((name) => (name === "" ? '"v1"' : `"${name}/…"`)).join(" or ");
  report(
    `${field}.apiVersion`,
    `is "${apiVersion}", which has no ${kind}`,
    `In Kubernetes, this kind is in ${known}.`,
  );
}

/**
 * Reports each resource of rules that none of their API groups has: in the singular, misspelt, or another group's. Rights on it would
 * silently give nothing.
 * @param field where the rules are: "rules"
 */
export function checkKnownResources(rules: readonly PolicyRule[], field: string, report: Report): void {
  for (const [index, { apiGroups, resources }] of rules.entries()) {
    if (!apiGroups.every((group) => Object.hasOwn(BUILT_IN_KINDS, group))) continue;
    const known = apiGroups.flatMap(resourcesOf);
    for (const [at, resource] of resources.entries()) {
      const [word = "", ...subresource] = resource.split("/");
      if (known.includes(word)) continue;
      const group = Object.keys(BUILT_IN_KINDS).find((other) => resourcesOf(other).includes(word));
      const near = nearest(word, known, LETTERS_OF_A_SLIP);
      const meant =
        group === undefined
          ? near && [near, ...subresource].join("/")
          : `${resource} in apiGroups: [${group || '""'}]`;
      if (meant === undefined) continue;
      const groups = apiGroups.map((each) => each || '""').join(", ");
      const complaint = `is "${resource}", which apiGroups: [${groups}] does not have`;
      report(`${field}[${index}].resources[${at}]`, complaint, `Did you mean ${meant}?`);
    }
  }
}

/** The resources of one of Kubernetes' own groups, in the plural. */
function resourcesOf(group: string): string[] {
  const { namespaced = [], cluster = [] } = BUILT_IN_KINDS[group] ?? {};
  const apiVersion = group === "" ? "v1" : `${group}/v1`;
  return [...namespaced, ...cluster].map((kind) => pluralOf(apiVersion, kind));
}

/** The API groups of Kubernetes' own that have this kind: ["apps"] for "Deployment", [] for an unknown one. */
function groupsOfKind(kind: string): string[] {
  return Object.keys(BUILT_IN_KINDS).filter(
    (group) => isNamespaced(group === "" ? "v1" : `${group}/v1`, kind) !== undefined,
  );
}
