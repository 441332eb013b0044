import assert from "node:assert/strict";
import fc from "fast-check";
import { buildRoles } from "../../components/manifests/operator/rbac";
import { BUILT_IN_KINDS, pluralOf } from "../../runtime/base/kinds";
import { groupOf, type Manifest } from "../../runtime/base/objects";
import type { Operator, PolicyRule } from "../../runtime/operator/definition";

const HOME = "argosy";

/** An operator of which only what the builder reads is given. */
function operatorOf(fields: Partial<Operator> = {}): Operator {
  const customResource = { group: "cache.example.com", version: "v1", kind: "Cache", plural: "caches" };
  const rules = [{ apiGroups: ["batch"], resources: ["cronjobs"], verbs: ["update"] }];
  return {
    installation: "argosy",
    name: "cache",
    formerNames: [],
    namespaces: "all",
    children: [],
    grants: [],
    uses: {},
    customResource,
    rules,
    ...fields,
  } as Operator;
}

const childOf = (apiVersion: string, kind: string) => ({
  apiVersion,
  kind,
  update: "apply" as const,
  plural: pluralOf(apiVersion, kind),
});
const titles = (manifests: Manifest[]) =>
  manifests.map(({ kind, metadata: { namespace, name } }) => `${kind} ${namespace ?? "-"} ${name}`);
const rulesOf = (manifests: Manifest[], kind: string): PolicyRule[] =>
  manifests.filter((manifest) => manifest.kind === kind).flatMap((role) => role.rules as PolicyRule[]);

/** Every right as "group/resource verb", which is what RBAC grants: the product of a rule's lists. */
const rights = (rules: PolicyRule[]) =>
  rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((name) => verbs.map((verb) => `${group}/${name} ${verb}`)),
    ),
  );

describe("buildRoles", () => {
  it("gives rights to children only in the listed namespaces, whether or not the runner's own is among them", () => {
    assert.deepStrictEqual(titles(buildRoles(operatorOf({ namespaces: ["argosy", "b"] }), HOME)), [
      "ServiceAccount argosy cache-runner",
      "ClusterRole - argosy.cache-runner",
      "ClusterRoleBinding - argosy.cache-runner",
      "Role argosy argosy.cache-runner",
      "RoleBinding argosy argosy.cache-runner",
      "Role b argosy.cache-runner",
      "RoleBinding b argosy.cache-runner",
      "Role argosy argosy.cache-runner-lease",
      "RoleBinding argosy argosy.cache-runner-lease",
    ]);
  });

  const builtIn = Object.entries(BUILT_IN_KINDS).flatMap(([group, { namespaced = [] }]) =>
    namespaced.map((kind) => childOf(group === "" ? "v1" : `${group}/v1`, kind)),
  );
  const anyOperator = fc.record({
    children: fc.uniqueArray(fc.constantFrom(...builtIn), {
      selector: ({ apiVersion, kind }) => `${apiVersion} ${kind}`,
    }),
    namespaces: fc.oneof(
      fc.constant("all" as const),
      fc.uniqueArray(fc.constantFrom("argosy", "b", "c"), { minLength: 1 }),
    ),
  });

  it("gives exactly the declared kinds, and nothing that could gain more", () => {
    fc.assert(
      fc.property(anyOperator, (fields) => {
        const manifests = buildRoles(operatorOf(fields), HOME);
        const granted = rights([...rulesOf(manifests, "ClusterRole"), ...rulesOf(manifests, "Role")]);
        assert.deepStrictEqual(
          granted.filter((right) => /\*|escalate|bind |bind$|impersonate/.test(right)),
          [],
        );
        const created = granted
          .filter((right) => right.endsWith(" create"))
          .map((right) => right.split(" ")[0]);
        const declared = fields.children.map(({ apiVersion, plural }) => `${groupOf(apiVersion)}/${plural}`);
        const own = ["events.k8s.io/events", "coordination.k8s.io/leases"];
        assert.deepStrictEqual(new Set(created), new Set([...declared, ...own]));
      }),
    );
  });

  it("gives each object a name of its own", () => {
    fc.assert(
      fc.property(anyOperator, (fields) => {
        const names = titles(buildRoles(operatorOf(fields), HOME));
        assert.equal(new Set(names).size, names.length);
      }),
    );
  });
});
