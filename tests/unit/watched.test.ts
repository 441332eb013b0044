import assert from "node:assert/strict";
import fc from "fast-check";
import { fingerprint } from "../../runtime/base/json";
import type { KubernetesObject } from "../../runtime/base/objects";
import { marksOf } from "../../runtime/observe/marks";
import { provenOwner } from "../../runtime/observe/ownership";
import { hasLabels, isOwnWork, labelSelectorOf, partsOf } from "../../runtime/observe/watched";
import { applied, configMap, MANAGER, WIDGETS, widget } from "./support/objects";

const OBJECT = widget({ labels: { app: "web" }, annotations: { commit: "abc" } }, { spec: { size: 1 } });

describe("objects that an operator watches", () => {
  it("are selected by all of their labels", () => {
    assert.equal(labelSelectorOf({ labels: { a: "1", "example.com/b": "" }, on: [] }), "a=1,example.com/b=");
    assert.equal(labelSelectorOf({ labels: {}, on: [] }), undefined);
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom("a", "b"), fc.constantFrom("1", "2")),
        fc.dictionary(fc.constantFrom("a", "b", "c"), fc.constantFrom("1", "2")),
        (wanted, labels) => {
          const hasAll = Object.keys(wanted).every((label) => labels[label] === wanted[label]);
          assert.equal(hasLabels(widget({ labels }), wanted), hasAll);
        },
      ),
    );
  });

  const changes = {
    spec: { ...OBJECT, spec: { size: 2 } },
    data: { ...OBJECT, data: { a: "1" } },
    status: { ...OBJECT, status: { ready: 1 } },
    label: widget({ ...OBJECT.metadata, labels: { app: "api" } }, { spec: { size: 1 } }),
    annotation: widget({ ...OBJECT.metadata, annotations: { commit: "def" } }, { spec: { size: 1 } }),
    touched: widget(
      {
        ...OBJECT.metadata,
        resourceVersion: "99",
        generation: 9,
        managedFields: [{ manager: "kubectl" }],
        finalizers: ["example.com/hold"],
        annotations: { commit: "abc", "kubectl.kubernetes.io/last-applied-configuration": "{}" },
      },
      { spec: { size: 1 } },
    ),
  };
  const counted: readonly [on: "spec" | "status" | "labels", what: readonly string[]][] = [
    ["spec", ["spec", "data"]],
    ["status", ["status"]],
    ["labels", ["label", "annotation"]],
  ];
  for (const [on, what] of counted) {
    it(`have changed by ${what.join(" and ")} if ${on} counts`, () => {
      const before = fingerprint(partsOf(OBJECT, [on]));
      const changed = Object.entries(changes).filter(
        ([, object]) => fingerprint(partsOf(object, [on])) !== before,
      );
      assert.deepEqual(
        changed.map(([name]) => name),
        what,
      );
    });
  }

  it("own their children by a plain reference, which proves whose they are", () => {
    const owner = widget();
    const marks = marksOf(owner, "shop", "argosy.shop", false);
    assert.deepEqual(marks.ownerReferences, [
      { apiVersion: WIDGETS.apiVersion, kind: "Widget", name: "widget", uid: "widget-uid" },
    ]);
    const child = applied(configMap({ namespace: "shop", ...marks }), MANAGER);
    assert.deepEqual(provenOwner(child, WIDGETS, [MANAGER]), {
      uid: "widget-uid",
      namespace: "shop",
      name: "widget",
    });
    assert.equal(provenOwner(child, WIDGETS, ["somebody"]), undefined);
  });

  it("are never what the operator made itself, whatever labels others write", () => {
    const isOwn = (object: KubernetesObject) => isOwnWork(object, [MANAGER], "argosy");
    const marks = marksOf(widget(), "shop", "argosy.shop", false);
    const child = applied(configMap({ namespace: "shop", ...marks }), MANAGER);
    const forged = applied(configMap({ namespace: "shop", ...marks }), "somebody");
    assert.deepEqual([isOwn(child), isOwn(forged)], [true, false]);
    const labels = { "argosy.dev/operator": "argosy.shop" };
    const record = (namespace: string) => ({
      ...widget({ labels, namespace }),
      apiVersion: "argoproj.io/v1alpha1",
      kind: "Workflow",
    });
    // Elsewhere any user may write the label, and would hide a Workflow by it.
    assert.deepEqual([isOwn(record("argosy")), isOwn(record("shop"))], [true, false]);
    assert.equal(isOwn(widget({ labels, namespace: "argosy" })), false);
  });
});
