import assert from "node:assert/strict";
import type { KubernetesObject, Manifest } from "../../runtime/base/objects";
import { parseLedger } from "../../tools/chaos/effects";
import { Model } from "../../tools/chaos/model";
import { findDifferences } from "../../tools/chaos/oracle";
import type { Snapshot } from "../../tools/chaos/snapshot";

const WISH = { value: 7, maps: 2, secret: true, service: true, far: true, delayMs: 0 };
const BYSTANDER = made({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "bystander" } }, "b");

/** An object as the API server gives it. */
function made(manifest: Manifest, uid: string): KubernetesObject {
  return { ...manifest, metadata: { ...manifest.metadata, uid, resourceVersion: "1" } };
}

/** A world in which all is right: one object with its children. */
function world() {
  const model = new Model("here", "far");
  model.bystanders = [BYSTANDER];
  model.created("o-1", model.specOf(WISH));
  const status = {
    observedGeneration: 3,
    conditions: [{ type: "Ready", status: "True" }],
    value: 7,
    version: 1,
  };
  const named = { apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "o-1", generation: 3 } };
  const object = { ...made(named, "u1"), spec: model.specOf(WISH), status };
  const ownerReferences = [{ apiVersion: "example.com/v1", kind: "Thing", name: "o-1", uid: "u1" }];
  const children = model.childrenOf("o-1").map((child, at) => {
    const owned = { ...child, metadata: { ...child.metadata, ownerReferences } };
    return made(owned, `c${at}`);
  });
  const snapshot: Snapshot = { objects: [object], children, foreigners: [], bystanders: [BYSTANDER] };
  return { model, object, children, snapshot };
}

/** What is told of a snapshot. */
function told(model: Model, snapshot: Snapshot, ledger = '{"key":"u1/3","value":7}'): string[] {
  return findDifferences(model, snapshot, parseLedger(ledger)).map(
    ({ object, what }) => `${object}: ${what}`,
  );
}

describe("the oracle of a chaos run", () => {
  it("says nothing where all is right", () => {
    const { model, snapshot } = world();
    assert.deepEqual(told(model, snapshot), []);
  });

  it("tells an object that is gone, and its children that are left", () => {
    const { model, snapshot } = world();
    const [first, ...others] = told(model, { ...snapshot, objects: [] });
    assert.equal(first, "o-1: it does not exist");
    assert.equal(others.length, 5);
    assert.match(others[0] ?? "", /ConfigMap here\/o-1-0 is left over from a deleted object/);
  });

  it("reports one that was deleted and still exists", () => {
    const { model, snapshot } = world();
    model.deleted("o-1");
    assert.match(told(model, snapshot)[0] ?? "", /it was deleted, but still exists/);
  });

  it("tells a newest generation that is not observed", () => {
    const { model, snapshot, object } = world();
    const later = { ...object, metadata: { ...object.metadata, generation: 4 } };
    assert.deepEqual(told(model, { ...snapshot, objects: [later] }), [
      "o-1: generation 3 was observed, but generation 4 exists",
      "o-1: there was no effect outside for generation 4",
    ]);
  });

  it("tells an old result in any child, and one of an old handler", () => {
    const { model, snapshot, children } = world();
    const [first, ...others] = children;
    const old = { ...first, data: { value: "6 by 1" } } as KubernetesObject;
    assert.match(
      told(model, { ...snapshot, children: [old, ...others] })[0] ?? "",
      /o-1-0 is .*6 by 1.*not.*7 by 1/,
    );
    model.version = 2;
    assert.equal(told(model, snapshot).length, 6);
  });

  it("reports an object of another controller that is changed or gone, as long as its owner exists", () => {
    const { model, snapshot, object } = world();
    const ownerReferences = [
      { apiVersion: "example.com/v1", kind: "Thing", name: "o-1", uid: "u1", controller: true },
    ];
    const metadata = { name: "of-others-o-1", namespace: "here", ownerReferences };
    const theirs = made({ apiVersion: "v1", kind: "ConfigMap", metadata }, "f1");
    model.foreign(theirs);
    assert.deepEqual(told(model, { ...snapshot, foreigners: [theirs] }), []);
    const changed = { ...theirs, data: { value: "ours" } };
    assert.deepEqual(told(model, { ...snapshot, foreigners: [changed] }), [
      "o-1: ConfigMap here/of-others-o-1 belongs to another controller, and was changed",
    ]);
    assert.deepEqual(told(model, snapshot), [
      "o-1: ConfigMap here/of-others-o-1 belongs to another controller, and was deleted",
    ]);
    model.deleted("o-1");
    const anew = { ...object, metadata: { ...object.metadata, uid: "u2" } };
    const left = { ...snapshot, objects: [anew], children: [], foreigners: [theirs] };
    assert.deepEqual(
      told(model, left).filter((line) => line.includes("of-others")),
      [],
    );
    assert.deepEqual(model.foreignersOf("u1"), [theirs]);
    model.released("u1");
    assert.deepEqual(told(model, { ...snapshot, objects: [], children: [], foreigners: [theirs] }), []);
  });

  it("reports a child that another client has scaled and that is no longer so, as long as it is the same one", () => {
    const { model, snapshot, children } = world();
    const [first, ...others] = children;
    assert.ok(first);
    const scaled = { ...first, data: { ...(first["data"] as object), scaled: "9-4" } } as KubernetesObject;
    model.scaled(first.metadata.uid, "9-4");
    assert.deepEqual(told(model, { ...snapshot, children: [scaled, ...others] }), []);
    assert.deepEqual(told(model, snapshot), [
      "o-1: ConfigMap here/o-1-0 was scaled to 9-4 by another client, but is not scaled",
    ]);
    const again = { ...first, metadata: { ...first.metadata, uid: "another" } };
    assert.deepEqual(told(model, { ...snapshot, children: [again, ...others] }), []);
  });

  it("tells what was seen on the way", () => {
    const { model, snapshot } = world();
    model.violated({ object: "o-2", what: "its child is gone" });
    assert.deepEqual(told(model, snapshot), ["o-2: its child is gone"]);
  });

  it("tells a child too few, and one too many", () => {
    const { model, snapshot, children } = world();
    const [first, ...others] = children;
    assert.ok(first);
    assert.deepEqual(told(model, { ...snapshot, children: others }), [
      "o-1: ConfigMap here/o-1-0 does not exist",
    ]);
    const extra = { ...first, metadata: { ...first.metadata, name: "o-1-9" } };
    assert.deepEqual(told(model, { ...snapshot, children: [...children, extra] }), [
      "o-1: ConfigMap here/o-1-9 exists, but the handler does not answer it",
    ]);
  });

  it("reports an object that had to stay untouched and did not", () => {
    const { model, snapshot } = world();
    const touched = { ...BYSTANDER, metadata: { ...BYSTANDER.metadata, resourceVersion: "2" } };
    assert.match(
      told(model, { ...snapshot, bystanders: [touched] })[0] ?? "",
      /must not be touched, but was changed/,
    );
    assert.match(
      told(model, { ...snapshot, bystanders: [] })[0] ?? "",
      /must not be touched, but was changed/,
    );
  });

  it("reports another client's condition that is gone", () => {
    const { model, snapshot } = world();
    model.marked("o-1");
    assert.deepEqual(told(model, snapshot), ["o-1: another client's condition was removed"]);
  });

  it("tells an id that stands for two states of an object", () => {
    const { model, snapshot } = world();
    const ledger = '{"key":"u1/3","value":7}\n{"key":"u1/3","value":8}\n{"key":"u1/3","va';
    assert.match(told(model, snapshot, ledger)[0] ?? "", /stands for changes 7 and 8/);
  });
});
