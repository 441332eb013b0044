import assert from "node:assert/strict";
import fc from "fast-check";
import { buildEventPathAccounts } from "../../components/manifests/eventPath/accounts";
import type { ManifestSet } from "../../components/manifests/metadata";
import { buildOperator } from "../../components/manifests/operator/operator";
import { buildAccess, buildRoles } from "../../components/manifests/operator/rbac";
import { buildIntake } from "../../components/manifests/outside/intake";
import { outsideEventsOf, outsideOptions } from "../../components/manifests/outside/options";
import { BUILT_IN_KINDS, pluralOf } from "../../runtime/base/kinds";
import { groupOf, type Manifest } from "../../runtime/base/objects";
import type { Operator, PolicyRule } from "../../runtime/operator/definition";
import type { OutsideEvent } from "../../runtime/program";
import { operatorOptions, withFiles } from "./operatorManifests";
import { assertEach, assertNone } from "./support/lists";
import { operator } from "./support/objects";

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
        assertNone(granted, (right) => /\*|escalate|bind |bind$|impersonate/.test(right));
        const created = granted
          .filter((right) => right.endsWith(" create"))
          .map((right) => right.split(" ")[0]);
        const declared = fields.children.map(({ apiVersion, plural }) => `${groupOf(apiVersion)}/${plural}`);
        const own = ["events.k8s.io/events", "coordination.k8s.io/leases"];
        assert.deepStrictEqual(new Set(created), new Set([...declared, ...own]));
      }),
    );
  });
});

const RULES = [{ apiGroups: ["batch"], resources: ["jobs"], verbs: ["get"] }];
const CONFIG_MAPS = { apiVersion: "v1", kind: "ConfigMap", plural: "configmaps" };
const HOOK = { name: "hook", type: "webhook", source: {}, id: ["body.id"], when: {}, spec: {} };

/** The sets with roles in namespaces that a definition names, made of these namespaces. */
const SETS: Readonly<Record<string, (namespaces: string[]) => ManifestSet>> = {
  "a resident operator": (namespaces) => accessOf({ namespaces }),
  "an operator with runs in pods": (namespaces) => accessOf({ namespaces, execution: "pod" }),
  "an operator that watches": (namespaces) =>
    accessOf({ namespaces, watch: { labels: {}, on: ["spec"] }, children: [] }),
  "an operator that uses objects of other namespaces": (namespaces) =>
    accessOf({
      uses: Object.fromEntries(
        namespaces.map((namespace) => [namespace, { ...CONFIG_MAPS, name: "'settings'", namespace }]),
      ),
    }),
  "the event path": (namespaces) =>
    buildEventPathAccounts(
      [operator(), operator({ name: "listed", namespaces, execution: "pod" })],
      outsideOptions({ ...operatorOptions(), installation: "argosy", eventBus: { replicas: 1 }, intakes: 1 }),
    ),
  "the intake": (allowed) => {
    const on = [{ ...HOOK, namespace: { from: "body.team", allowed } } as unknown as OutsideEvent];
    return buildIntake(
      outsideEventsOf([operator({ on })]),
      outsideOptions({ ...operatorOptions(), installation: "argosy", eventBus: { replicas: 1 }, intakes: 1 }),
      { metadata: { name: "engine", namespace: "argosy" } },
    );
  },
};

function accessOf(more: Partial<Operator>): ManifestSet {
  const grants = [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }];
  return buildAccess(operator({ rules: RULES, grants, ...more }), operatorOptions());
}

/** Names of namespaces that read like parts of the names of roles, and any others. */
const NAMESPACE = fc.oneof(
  fc
    .array(fc.constantFrom("role", "binding", "runner", "used", "account", "a", "argosy"), {
      minLength: 1,
      maxLength: 3,
    })
    .map((words) => words.join("-")),
  fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/),
);

describe("the rights in namespaces, whatever these are called,", () => {
  for (const [what, setOf] of Object.entries(SETS)) {
    it(`of ${what} are all there, each under names of its own`, () => {
      fc.assert(
        fc.property(fc.uniqueArray(NAMESPACE, { minLength: 1, maxLength: 6 }), (namespaces) => {
          const set = setOf(namespaces);
          // A key is the end of a name in Pulumi's tree. A manifest whose key another one has is missing.
          const plain = setOf(namespaces.map((_, index) => `plain-${index}`));
          assert.equal(Object.keys(set).length, Object.keys(plain).length, Object.keys(set).join(" "));
          const names = Object.values(set).map(
            ({ kind, metadata: { namespace, name } }) => `${kind} ${namespace} ${name}`,
          );
          assert.equal(new Set(names).size, names.length, names.join("\n"));
        }),
        { examples: [[["binding"]], [["foo", "binding-foo"]], [["foo", "foo-binding"]]] },
      );
    });
  }
});

describe("a handler with rules", () => {
  for (const execution of ["resident", "pod"] as const) {
    it(`has exactly these in the listed namespaces alone, and its engine none of them: ${execution}`, () => {
      const set = accessOf({ execution, namespaces: ["a"], grants: [] });
      const handler = Object.entries(set).filter(([key]) => key.startsWith("handler-"));
      assertEach(handler, ([, { kind, metadata, rules }]) => [kind, metadata.namespace, rules], [
        ["ServiceAccount", "argosy", undefined],
        ["Role", "a", RULES],
        ["RoleBinding", "a", undefined],
      ]);
      const others = Object.entries(set).filter(([key]) => !key.startsWith("handler-"));
      assert.doesNotMatch(JSON.stringify(others), /"batch"/);
    });
  }
});

const AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-";

/** What a role of Kubernetes' own gets: "shop.example.com/presss: get,list,watch". */
function gainedBy(role: string, manifests: readonly Manifest[]): string[] {
  return manifests
    .filter(
      ({ kind, metadata }) => kind === "ClusterRole" && metadata.labels?.[`${AGGREGATE}${role}`] === "true",
    )
    .flatMap(({ rules }) => rules as PolicyRule[])
    .map(({ apiGroups, resources, verbs }) => `${apiGroups}/${resources}: ${verbs}`);
}

describe("userRoles", () => {
  const manifestsOf = (userRoles: boolean) =>
    (["resident", "pod"] as const).flatMap((execution) => {
      const name = execution === "pod" ? "press" : "gear";
      const customResource = { ...operator().customResource, group: "shop.example.com", plural: `${name}s` };
      const rules = [{ apiGroups: [""], resources: ["nodes"], verbs: ["get"] }];
      const more = {
        name,
        execution,
        customResource,
        rules,
        namespaces: ["team-a"],
        ...(userRoles && { userRoles }),
      };
      const { operator: made, files } = withFiles(more);
      return Object.values(buildOperator(made, operatorOptions(), files).parts);
    });

  it("gives Kubernetes' roles the kinds, and nothing else: no user writes a status", () => {
    const manifests = manifestsOf(true);
    const rules = (...verbs: string[]) =>
      ["gears", "presss"].map((plural) => `shop.example.com/${plural}: ${verbs}`);
    const statuses = ["gears", "presss"].map((plural) => `shop.example.com/${plural}/status: get`);
    const view = [...rules("get", "list", "watch"), ...statuses].sort();
    const edit = [...view, ...rules("create", "update", "patch", "delete", "deletecollection")].sort();
    assert.deepEqual(gainedBy("view", manifests).sort(), view);
    assert.deepEqual(gainedBy("edit", manifests).sort(), edit);
    assert.deepEqual(gainedBy("admin", manifests).sort(), edit);
    // No binding of ours grants these roles.
    const users = manifests
      .filter(({ metadata }) => metadata.name.includes("-users-"))
      .map(({ kind }) => kind);
    assert.deepEqual([...new Set(users)], ["ClusterRole"]);
  });

  it("is off by default, and then nothing is added to a role of Kubernetes' own", () => {
    const manifests = manifestsOf(false);
    for (const role of ["view", "edit", "admin"]) assert.deepEqual(gainedBy(role, manifests), []);
  });
});
