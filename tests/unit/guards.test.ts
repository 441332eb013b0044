import assert from "node:assert/strict";
import { buildGuards, type GuardOptions } from "../../components/manifests/operator/guards";
import { buildAccess } from "../../components/manifests/operator/rbac";
import type { Operator, PolicyRule } from "../../runtime/operator/definition";
import { operatorOptions } from "./operatorManifests";
import { assertEach } from "./support/lists";
import { operator } from "./support/objects";

const build = (guards?: GuardOptions, more: Partial<Operator> = {}) =>
  buildGuards(operator(more), operatorOptions(guards && { guards }));

interface Policy {
  readonly matchConstraints: { readonly resourceRules: readonly object[] };
  readonly matchConditions: readonly { readonly name: string; readonly expression: string }[];
}
const specOf = (set: ReturnType<typeof build>, key: string) => set[key]?.["spec"] as unknown as Policy;
const conditionOf = (policy: Policy, wanted: string) =>
  policy.matchConditions.find(({ name }) => name === wanted)?.expression ?? "";

/** The accounts whose roles let them write a child of the kind ConfigMap. */
function writersOfChildren(more: Partial<Operator>): string[] {
  const set = Object.values(buildAccess(operator(more), operatorOptions()));
  const writes = ({ resources, verbs }: PolicyRule) =>
    resources.includes("configmaps") && /create|patch|delete/.test(verbs.join());
  const roles = set.filter(({ rules = [] }) => (rules as PolicyRule[]).some(writes));
  const bindings = set.filter(({ roleRef }) =>
    roles.some(({ metadata }) => metadata.name === (roleRef as { name: string } | undefined)?.name),
  );
  return bindings.flatMap(({ subjects }) => (subjects as { name: string }[]).map(({ name }) => name));
}

describe("buildGuards", () => {
  it("makes none by default, and none that guards nothing", () => {
    assert.deepEqual(build(), {});
    assert.deepEqual(build({}), {});
    assert.deepEqual(build({ children: false }), {});
    assert.deepEqual(build({ children: true }, { children: [] }), {});
  });

  it("makes a policy and its binding for each, by the operator's identity", () => {
    const set = build({ children: true, annotations: { groups: [] } }, { installation: "till" });
    assertEach(Object.entries(set), ([key, { kind, metadata }]) => `${key}: ${kind} ${metadata.name}`, [
      "children-guard: ValidatingAdmissionPolicy till.shop-children",
      "children-guard-binding: ValidatingAdmissionPolicyBinding till.shop-children",
      "annotations-guard: ValidatingAdmissionPolicy till.shop-annotations",
      "annotations-guard-binding: ValidatingAdmissionPolicyBinding till.shop-annotations",
    ]);
    for (const guard of ["children", "annotations"]) {
      assert.deepEqual(set[`${guard}-guard-binding`]?.["spec"], {
        policyName: `till.shop-${guard}`,
        validationActions: ["Deny"],
      });
    }
  });

  it("guards the declared kinds, those that are retired included, and no others", () => {
    const [maps, roles] = operator().children;
    assert.ok(maps && roles);
    const { matchConstraints } = specOf(
      build({ children: true }, { children: [maps, { ...roles, retired: true }] }),
      "children-guard",
    );
    const rule = { apiVersions: ["*"], operations: ["CREATE", "UPDATE", "DELETE"] };
    assert.deepEqual(matchConstraints.resourceRules, [
      { ...rule, apiGroups: [""], resources: ["configmaps", "configmaps/*"] },
      {
        ...rule,
        apiGroups: ["rbac.authorization.k8s.io"],
        resources: ["clusterroles", "clusterroles/*"],
      },
    ]);
  });

  it("knows the children of former names too, and lets the account of the present one alone write them", () => {
    const policy = specOf(build({ children: true }, { formerNames: ["old", "till.shop"] }), "children-guard");
    assert.match(conditionOf(policy, "child"), /in \["argosy\.shop", "argosy\.old", "till\.shop"\]/);
    assert.match(
      conditionOf(policy, "stranger"),
      /^!\(request\.userInfo\.username in \["system:serviceaccount:argosy:shop-runner", /,
    );
    assert.ok(!conditionOf(policy, "stranger").includes("old-runner"));
  });

  for (const execution of ["resident", "pod"] as const)
    it(`lets every account of the operator write children that has the right to, with execution: ${execution}`, () => {
      const writers = writersOfChildren({ execution });
      assert.ok(writers.length > 0);
      const condition = conditionOf(
        specOf(build({ children: true }, { execution }), "children-guard"),
        "stranger",
      );
      const accounts = [...condition.matchAll(/"system:serviceaccount:argosy:([^"]+)"/g)].map(
        ([, name]) => name,
      );
      assert.deepEqual(accounts.sort(), writers.sort());
    });

  it("stops the handler's own account, and every group that the program does not name", () => {
    const guards = { children: true, annotations: { groups: ["team"] }, exempt: ['a"b'] };
    const set = build(guards, { rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }] });
    const children = conditionOf(specOf(set, "children-guard"), "stranger");
    const annotations = conditionOf(specOf(set, "annotations-guard"), "stranger");
    assert.ok(!children.includes("shop-handler") && !children.includes('"team"'), children);
    for (const expression of [children, annotations]) {
      for (const group of ['"system:masters"', '"system:serviceaccounts:kube-system"', '"a\\"b"'])
        assert.ok(expression.includes(group), `${group}: ${expression}`);
    }
    assert.ok(annotations.includes('"team"'), annotations);
  });
});
