import assert from "node:assert/strict";
import { conditionsIn } from "../../runtime/base/objects";
import { ApiError, ApiUnreachableError } from "../../runtime/kubernetes/errors";
import { CLUSTER_ROLES, configMap } from "./support/objects";
import { DELETED, FINALIZER, finalizing, ReconcileWorld } from "./support/reconcileWorld";

const UNREACHABLE = new ApiUnreachableError("PATCH", new Error("socket hang up"));

describe("Reconciler", () => {
  let world: ReconcileWorld;

  beforeEach(() => {
    world = new ReconcileWorld();
  });

  describe("of a child that is refused because another object holds what it needs,", () => {
    const full = new ApiError(
      403,
      { kind: "Status", message: "forbidden: exceeded quota: q, used: 1" },
      "PATCH",
    );
    const role = {
      apiVersion: CLUSTER_ROLES.apiVersion,
      kind: CLUSTER_ROLES.kind,
      metadata: { name: "old" },
    };
    const messageAfter = async (former: object) => {
      world.given();
      world.answer = { children: [former] };
      await world.reconcile();
      world.answer = { children: [configMap({ name: "new" })] };
      world.cluster.refusals.set("apply ConfigMap new", full);
      const { failure } = (await world.reconcile()).report;
      assert.equal(failure?.reason, "ChildRefused");
      return failure?.message ?? "";
    };

    it("names a former child of its kind, which may be in the way", async () => {
      const message = await messageAfter(configMap({ name: "old" }));
      assert.match(message, /If ConfigMap shop\/old, which .*, delete it by hand\.$/);
    });

    it("names no former child of another kind, which can hold nothing that it needs", async () => {
      assert.doesNotMatch(await messageAfter(role), /by hand/);
    });
  });

  describe("what the handler says of the object", () => {
    const backedUp = { type: "Normal", reason: "BackedUp", note: "to s3" };
    const loaded = { type: "DataReady", status: "True", reason: "Loaded", message: "3 tables" };
    const own = () => conditionsIn(world.status()).filter(({ type }) => type === "DataReady");

    it("stands next to the engine's conditions, and goes when it is no longer answered", async () => {
      world.given();
      world.answer = { children: [], conditions: [loaded] };
      await world.reconcile();
      assert.deepEqual(
        own().map(({ status, reason, observedGeneration }) => [status, reason, observedGeneration]),
        [["True", "Loaded", 3]],
      );
      world.answer = { children: [] };
      await world.reconcile();
      assert.deepEqual(own(), []);
    });

    it("is an Event once, however often it is answered, and again in a new generation", async () => {
      world.given();
      world.answer = { children: [], events: [backedUp] };
      assert.deepEqual((await world.reconcile()).events, [backedUp]);
      assert.deepEqual((await world.reconcile()).events, []);
      const there = world.object();
      assert.ok(there);
      world.cluster.put({ ...there, metadata: { ...there.metadata, generation: 4 } });
      assert.deepEqual((await world.reconcile()).events, [backedUp]);
    });

    it("is an Event also if the answer to the write of its status was lost: the handler may never say it again", async () => {
      world.given();
      // The handler sees in the status of the object what it has done, and says it no more.
      world.answer = { children: [], events: [backedUp], status: { backups: 1 } };
      world.cluster.lost.set("status", UNREACHABLE);
      const { report, events } = await world.reconcile();
      assert.deepEqual([report.skipped, events], ["API server away", [backedUp]]);
      assert.equal(world.status()["backups"], 1);
      world.cluster.lost.clear();
      world.answer = { children: [], status: { backups: 1 } };
      assert.deepEqual((await world.reconcileAgain()).events, []);
    });

    it("is an Event once more if the write of its status did not arrive", async () => {
      world.given();
      world.answer = { children: [], events: [backedUp] };
      world.cluster.refusals.set("status", UNREACHABLE);
      assert.deepEqual((await world.reconcile()).events, [backedUp]);
      world.cluster.refusals.clear();
      assert.deepEqual((await world.reconcileAgain()).events, [backedUp]);
      assert.deepEqual((await world.reconcileAgain()).events, []);
    });

    it("is not reported of an answer of which a child was refused, but when the answer is applied", async () => {
      world.given();
      world.answer = { children: [configMap()], conditions: [loaded], events: [backedUp] };
      world.cluster.refusals.set("apply ConfigMap settings", new ApiError(422, {}, "PATCH"));
      const { events, report } = await world.reconcile();
      assert.deepEqual([report.failure?.reason, events, own()], ["ChildRefused", [], []]);
      world.cluster.refusals.clear();
      assert.deepEqual((await world.reconcile()).events, [backedUp]);
      assert.equal(own().length, 1);
    });

    it("is said while the object is being deleted too, and with the last answer", async () => {
      world.given({ deletionTimestamp: DELETED, finalizers: [FINALIZER] });
      world.answer = { finalized: false, conditions: [loaded], events: [backedUp] };
      assert.deepEqual((await world.reconcile(finalizing)).events, [backedUp]);
      assert.equal(own().length, 1);
      assert.deepEqual((await world.reconcile(finalizing)).events, []);
      const done = { ...backedUp, note: "for good" };
      world.answer = { finalized: true, events: [backedUp, done] };
      assert.deepEqual((await world.reconcile(finalizing)).events, [done]);
    });
  });
});
