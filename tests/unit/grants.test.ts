import assert from "node:assert/strict";
import fc from "fast-check";
import { buildEventPathAccounts } from "../../components/manifests/eventPath/accounts";
import type { ManifestSet } from "../../components/manifests/metadata";
import { buildAccess } from "../../components/manifests/operator/rbac";
import { buildIntake } from "../../components/manifests/outside/intake";
import { outsideEventsOf, outsideOptions } from "../../components/manifests/outside/options";
import type { Operator } from "../../runtime/operator/definition";
import type { OutsideEvent } from "../../runtime/program";
import { operatorOptions } from "./operatorManifests";
import { operator } from "./support/objects";

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
