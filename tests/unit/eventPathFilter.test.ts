import assert from "node:assert/strict";
import fc from "fast-check";
import { EVENT_FILTER } from "../../components/manifests/eventPath/eventFilter";
import { isRecord } from "../../runtime/base/json";
import type { Json, JsonObject } from "../../runtime/base/objects";
import { passesFilter } from "./support/luaFilter";

const passes = (event: JsonObject) => passesFilter(EVENT_FILTER, event);

/** An object as the API server gives it: made once, observed, with what a test wants to be otherwise. */
function object(metadata: JsonObject = {}, rest: JsonObject = {}): JsonObject {
  const common = { name: "demo", namespace: "team-a", uid: "1-2-3", resourceVersion: "7", generation: 2 };
  return { metadata: { ...common, ...metadata }, status: { observedGeneration: 2 }, ...rest };
}

const added = (body: Json) => passes({ type: "ADD", body, oldBody: null });
const updated = (oldBody: Json, body: Json) => passes({ type: "UPDATE", body, oldBody });

/** What the filter is to do, said once more in another language. */
function oracle({ type, body, oldBody }: JsonObject): boolean {
  const { metadata, status } = record(body);
  const now = record(metadata);
  const before = record(record(oldBody).metadata);
  if (typeof now.name !== "string") return false;
  if (type === "ADD") {
    return now.deletionTimestamp != null || now.generation == null || !same(now, record(status));
  }
  if (type !== "UPDATE") return false;
  if (["uid", "generation", "deletionTimestamp"].some((field) => differ(now[field], before[field])))
    return true;
  const [annotations, previous] = [record(now.annotations), record(before.annotations)];
  return Object.keys({ ...annotations, ...previous }).some(
    (key) => key.startsWith("argosy.dev/") && differ(annotations[key], previous[key]),
  );
}

const record = (value: unknown) => (isRecord(value) ? value : {});
const same = (now: Record<string, unknown>, status: Record<string, unknown>) =>
  !differ(now.generation, status.observedGeneration);
/** In Lua no table equals another, and null is as if it were missing. */
const differ = (one: unknown, other: unknown) =>
  (one ?? undefined) !== (other ?? undefined) || (typeof one === "object" && one !== null);

describe("the event filter", () => {
  it("passes an object that was added and is not observed yet", () => {
    assert.equal(added(object({}, { status: null })), true);
    assert.equal(added(object({}, { status: {} })), true);
    assert.equal(added(object({ generation: 3 })), true);
  });

  it("does not pass an observed object that a restarted EventSource adds again", () => {
    assert.equal(added(object()), false);
  });

  it("passes an observed object that is being deleted", () => {
    assert.equal(added(object({ deletionTimestamp: "2026-11-20T14:22:41Z" })), true);
  });

  it("does not pass a write of status, labels or finalizers", () => {
    const status = { status: { observedGeneration: 1, ready: 3 } };
    assert.equal(updated(object(), object({ resourceVersion: "8" }, status)), false);
    assert.equal(updated(object(), object({ labels: { a: "b" }, finalizers: ["argosy.dev/demo"] })), false);
  });

  it("passes a new generation and the begin of a deletion", () => {
    assert.equal(updated(object(), object({ generation: 3 })), true);
    assert.equal(updated(object(), object({ deletionTimestamp: "2026-11-20T14:22:41Z" })), true);
  });

  it("passes another object of the same name", () => {
    assert.equal(updated(object(), object({ uid: "4-5-6" })), true);
  });

  for (const [what, before, now] of [
    ["added", null, { "argosy.dev/reconcile-at": "1" }],
    ["changed", { "argosy.dev/reconcile-at": "1" }, { "argosy.dev/reconcile-at": "2", other: "x" }],
    ["removed", { "argosy.dev/paused": "true", other: "x" }, { other: "x" }],
    ["removed with all others", { "argosy.dev/paused": "true" }, null],
  ] as const) {
    it(`passes an annotation of ours that was ${what}`, () => {
      assert.equal(updated(object({ annotations: before }), object({ annotations: now })), true);
    });
  }

  it("does not pass annotations of others", () => {
    const ours = { "argosy.dev/paused": "true" };
    const others = { "argosy.dev": "x", "example.com/argosy.dev/": "y", "argosy_dev/paused": "z" };
    assert.equal(
      updated(object({ annotations: ours }), object({ annotations: { ...ours, ...others } })),
      false,
    );
  });

  it("never passes a deletion, nor a type that is none", () => {
    for (const type of ["DELETE", "add", "", 1, null]) {
      assert.equal(passes({ type, body: object({ generation: 9 }), oldBody: null }), false);
    }
  });

  it("passes an update of which the old object is missing", () => {
    for (const old of [null, {}, "old", [], { metadata: null }, { metadata: 3 }]) {
      assert.equal(updated(old, object()), true);
    }
  });

  it("does not pass what has no name, whose trigger would fail for ever", () => {
    for (const body of [
      null,
      "text",
      3,
      [],
      {},
      { metadata: [] },
      object({ name: null }),
      object({ name: 3 }),
    ]) {
      assert.equal(added(body), false);
      assert.equal(updated(null, body), false);
    }
  });

  it("survives fields of every type, and agrees with its description", () => {
    const hostile = fc.oneof(
      fc.constantFrom<Json>(null, true, false, 0, 2, 3, -1.5, "", "2", "argosy.dev/", [], {}),
      fc.array(fc.constantFrom<Json>(null, "x", 1, {}, [])),
      fc.dictionary(fc.string(), fc.constantFrom<Json>("x", 1, null)),
    );
    const annotations = fc.dictionary(
      fc.constantFrom("argosy.dev/a", "argosy.dev/b", "argosy.dev", "other", "__proto", ""),
      fc.oneof(fc.constantFrom<Json>("1", "2", null), hostile),
    );
    const or = (value: fc.Arbitrary<Json>) => fc.oneof({ weight: 4, arbitrary: value }, hostile);
    const metadata = fc.record<Record<string, Json>>(
      {
        name: or(fc.constantFrom<Json>("demo", "other")),
        uid: or(fc.constantFrom<Json>("1", "2")),
        generation: or(fc.constantFrom<Json>(1, 2)),
        deletionTimestamp: or(fc.constantFrom<Json>(null, "2026-11-20T14:22:41Z")),
        annotations: or(annotations as fc.Arbitrary<Json>),
      },
      { requiredKeys: [] },
    );
    const status = fc.record<Record<string, Json>>(
      { observedGeneration: or(fc.constantFrom<Json>(1, 2)) },
      { requiredKeys: [] },
    );
    const body = fc.record<Record<string, Json>>(
      { metadata: or(metadata as fc.Arbitrary<Json>), status: or(status as fc.Arbitrary<Json>) },
      { requiredKeys: [] },
    );
    const event = fc.record<Record<string, Json>>(
      {
        type: fc.constantFrom<Json>("ADD", "UPDATE", "UPDATE", "UPDATE", "DELETE", null, 3),
        body: or(body as fc.Arbitrary<Json>),
        oldBody: or(body as fc.Arbitrary<Json>),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(event, (each) => assert.equal(passes(each as JsonObject), oracle(each as JsonObject))),
      { numRuns: 400 },
    );
  });
});
