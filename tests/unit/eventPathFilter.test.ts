import assert from "node:assert/strict";
import fc from "fast-check";
import { EVENT_FILTER, POD_EVENT_FILTER } from "../../components/manifests/eventPath/eventFilter";
import { isRecord } from "../../runtime/json/json";
import type { Json, JsonObject } from "../../runtime/kubernetes/objects";
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
/** In Lua no table is like another, and null is as if it were not there. */
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

describe("the event filter of an operator whose runs have a pod each", () => {
  const AT = "2026-11-20T14:22:41Z";
  const written = (time: string | undefined, manager = "kubectl-edit", subresource?: string) => ({
    manager,
    operation: "Update",
    ...(time !== undefined && { time }),
    ...(subresource !== undefined && { subresource }),
  });
  /** An object of this generation, written at that time, and observed at that generation. */
  const at = (time: string | undefined, generation: number, observed: number, more: JsonObject = {}) =>
    object(
      {
        generation,
        managedFields: [written(time), written("2026-11-20T14:22:59Z", "argosy/demo", "status")],
        ...more,
      },
      { status: { observedGeneration: observed } },
    );
  const passesUpdate = (oldBody: Json, body: Json) =>
    passesFilter(POD_EVENT_FILTER, { type: "UPDATE", body, oldBody });

  it("passes the first change, and none that follows within a second while nobody has observed it", () => {
    assert.equal(passesUpdate(at("2026-11-20T14:22:40Z", 2, 2), at(AT, 3, 2)), true);
    assert.equal(passesUpdate(at(AT, 2, 2), at(AT, 3, 2)), true);
    assert.equal(passesUpdate(at(AT, 3, 2), at(AT, 4, 2)), false);
    assert.equal(passesUpdate(at(AT, 4, 2), at(AT, 5, 2)), false);
    assert.equal(passesUpdate(at(AT, 5, 2), at("2026-11-20T14:22:42Z", 6, 2)), true);
  });

  it("passes what nobody can tell the time of", () => {
    assert.equal(passesUpdate(at(undefined, 3, 2), at(undefined, 4, 2)), true);
    assert.equal(passesUpdate(object({ generation: 3 }), object({ generation: 4 })), true);
    assert.equal(passesUpdate(null, at(AT, 4, 2)), true);
    const odd = { managedFields: [null, "x", { time: 3 }, { time: null }] };
    assert.equal(passesUpdate(object({ generation: 3, ...odd }), object({ generation: 4, ...odd })), true);
  });

  it("passes the begin of a deletion and another object of that name at any time", () => {
    assert.equal(passesUpdate(at(AT, 3, 2), at(AT, 4, 2, { deletionTimestamp: AT })), true);
    assert.equal(passesUpdate(at(AT, 3, 2), at(AT, 1, 2, { uid: "4-5-6" })), true);
  });

  it("passes an object that was added, as the other does", () => {
    assert.equal(passesFilter(POD_EVENT_FILTER, { type: "ADD", body: at(AT, 3, 2), oldBody: null }), true);
    assert.equal(passesFilter(POD_EVENT_FILTER, { type: "ADD", body: at(AT, 3, 3), oldBody: null }), false);
  });

  it("passes the first change of a second to an awaited object, whatever it is, since others hide behind it", () => {
    const labelled = at(AT, 3, 2, { labels: { a: "b" } });
    assert.equal(passesUpdate(at("2026-11-20T14:22:40Z", 3, 2), labelled), true);
    assert.equal(passesUpdate(labelled, at(AT, 4, 2)), false);
    assert.equal(passesUpdate(at("2026-11-20T14:22:40Z", 3, 3), at(AT, 3, 3, { labels: { a: "b" } })), false);
  });

  it("takes no write of ours for a change, so that none hides behind it", () => {
    const before = at("2026-11-20T14:22:40Z", 3, 2);
    const finalized = at(undefined, 3, 2, {
      managedFields: [written("2026-11-20T14:22:40Z"), written(AT, "argosy/demo")],
    });
    assert.equal(passesUpdate(before, finalized), false);
    assert.equal(passesUpdate(finalized, at(AT, 4, 2)), true);
  });

  it("passes what takes something away, which leaves no time", () => {
    const paused = at(AT, 3, 2, { annotations: { "argosy.dev/paused": "true" } });
    assert.equal(passesUpdate(paused, at(AT, 3, 2)), true);
    const one = (generation: number, rest: JsonObject) => ({ ...at(AT, generation, 2), ...rest });
    const full = one(3, { spec: { size: 3, parts: [{ name: "a", on: true }] } });
    for (const rest of [
      {},
      { spec: null },
      { spec: { size: 3 } },
      { spec: { size: 3, parts: [] } },
      { spec: { size: 3, parts: [{ name: "a" }] } },
      { spec: { size: 3, parts: "none" } },
    ] as JsonObject[]) {
      assert.equal(passesUpdate(full, one(4, rest)), true, JSON.stringify(rest));
    }
    assert.equal(passesUpdate(full, one(4, { spec: { size: 4, parts: [{ name: "b", on: true }] } })), false);
  });

  it("compares objects of any depth", () => {
    let nest: Json = 1;
    for (let depth = 0; depth < 150; depth++) nest = { nest };
    const deep = (generation: number) => ({ ...at(AT, generation, 2), spec: { nest } });
    assert.equal(passesUpdate(deep(3), deep(4)), true);
  });

  it("hides no change from every run that begins after it", () => {
    const step = fc.record({
      what: fc.constantFrom("size", "less", "label", "pause", "unpause", "finalizer", "observe"),
      afterMs: fc.integer({ min: 0, max: 700 }),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 2, maxLength: 15 }), (steps) => {
        const story = new Story();
        for (const { what, afterMs } of steps) story.tell(what, afterMs);
        assert.deepEqual(story.hidden(), []);
      }),
      { numRuns: 80 },
    );
  });

  it("passes only one change a second if there are a hundred, and always the first one", () => {
    let [before, passed] = [at("2026-11-20T14:22:00Z", 1, 1), [] as number[]];
    for (let change = 2; change <= 501; change++) {
      const now = at(`2026-11-20T14:23:${String(Math.floor(change / 100)).padStart(2, "0")}Z`, change, 1);
      if (passesUpdate(before, now)) passed.push(change);
      before = now;
    }
    assert.deepEqual(passed, [2, 100, 200, 300, 400, 500]);
  });
});

/** An object that is written to, with the times that the API server gives it, and what passes of that. */
class Story {
  private now = Date.parse("2026-11-20T14:00:00.300Z");
  private size = 0;
  private generation = 1;
  private observed = 1;
  private spec: JsonObject = { size: 0 };
  private labels: JsonObject = {};
  private annotations: JsonObject = {};
  private finalizers: string[] = [];
  private readonly times = new Map<string, string>();
  private readonly work: number[] = [];
  private readonly passed: number[] = [];
  private before = this.object();

  tell(what: string, afterMs: number): void {
    this.now += afterMs;
    const isWork = this.change(what);
    const body = this.object();
    if (isWork) this.work.push(this.now);
    const event = { type: "UPDATE", body, oldBody: this.before };
    if (passesFilter(POD_EVENT_FILTER, event)) this.passed.push(this.now);
    this.before = body;
  }

  /** Changes that mean work, and after whose second's begin nothing has passed: a run takes longer to begin. */
  hidden(): number[] {
    return this.work.filter((at) => !this.passed.some((passed) => passed >= at - (at % 1000)));
  }

  /** @returns whether it means work */
  private change(what: string): boolean {
    const { generation, annotations } = this;
    const writes = (manager: string) =>
      this.times.set(manager, `${new Date(this.now).toISOString().slice(0, 19)}Z`);
    if (what === "size") this.spec = { ...this.spec, size: ++this.size, part: true };
    if (what === "less") this.spec = { size: this.size };
    if (what === "label") this.labels = { at: String(this.now) };
    if (what === "pause") this.annotations = { "argosy.dev/paused": String(this.now) };
    if (what === "unpause") this.annotations = {};
    if (what === "finalizer") this.finalizers = ["argosy.dev/demo"];
    if (what === "observe") this.observed = generation;
    if (what === "finalizer") writes("argosy/demo");
    if (["size", "label", "pause"].includes(what)) writes("kubectl-edit");
    if (what === "size" || (what === "less" && "part" in record(record(this.before).spec))) this.generation++;
    return this.generation !== generation || JSON.stringify(annotations) !== JSON.stringify(this.annotations);
  }

  private object(): JsonObject {
    const { generation, labels, annotations, finalizers, spec, observed } = this;
    const managedFields = [...this.times].map(([manager, time]) => ({ manager, operation: "Update", time }));
    const metadata = { name: "demo", uid: "1", generation, labels, annotations, finalizers, managedFields };
    return { metadata, spec, status: { observedGeneration: observed } };
  }
}
