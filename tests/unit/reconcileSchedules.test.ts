import assert from "node:assert/strict";
import { ApiError, ApiUnreachableError } from "../../runtime/kubernetes/errors";
import { StillListingError } from "../../runtime/observe/kindWatch";
import type { ReconcilerOptions } from "../../runtime/reconcile/run";
import { memoryOf } from "../../runtime/remember/memory";
import { configMap, operator, widget } from "./support/objects";
import { DELETED, FINALIZER, finalizing, ReconcileWorld } from "./support/reconcileWorld";

describe("Reconciler", () => {
  let world: ReconcileWorld;

  beforeEach(() => {
    world = new ReconcileWorld();
  });

  it("is due again when the handler asks for that, but not at once", async () => {
    world.given();
    world.answer = { children: [], requeueAfterSeconds: 30 };
    assert.deepEqual((await world.reconcile()).again, { kind: "done", againAfterMs: 30_000 });
    world.answer = { children: [], requeueAfterSeconds: 0 };
    assert.deepEqual((await world.reconcile()).again, { kind: "done", againAfterMs: 1_000 });
  });

  describe("a schedule", () => {
    const nightly = { cron: "0 3 * * *", timeZone: "UTC", spreadSeconds: 0 };
    const scheduled = { operator: operator({ schedules: { nightly } }) };
    const at = (text: string) => ({ ...scheduled, now: () => Date.parse(text) });
    const remembered = () => memoryOf(world.object() ?? widget()).schedules?.["nightly"]?.at;
    const dueLast = () => world.questions.at(-1)?.due;

    it("is remembered at the first look, before the handler is asked, and wakes the object", async () => {
      world.given();
      const { again, nextLook } = await world.reconcile(at("2026-01-05T02:00:00Z"));
      assert.deepEqual(world.cluster.steps.slice(0, 2), ["status", "ask reconcile"]);
      assert.deepEqual([dueLast(), remembered()], [[], "2026-01-05T02:00:00Z"]);
      assert.deepEqual([again, nextLook], [{ kind: "done" }, Date.parse("2026-01-05T03:00:00Z")]);
    });

    it("wakes the object whatever came of the last reconcile, but not one that is paused, goes or is gone", async () => {
      const three = Date.parse("2026-01-05T03:00:00Z");
      const looks = async (more: Partial<ReconcilerOptions> = {}) =>
        (await world.reconcile({ ...at("2026-01-05T02:00:00Z"), ...more })).nextLook;
      assert.equal(await looks(), undefined);
      world.given();
      world.answer = { error: { message: "no such plan", permanent: true } };
      assert.equal(await looks(), three);
      assert.equal(await looks({ whyNot: () => new StillListingError("Secret") }), three);
      world.answer = { children: [configMap({ name: "bad" })] };
      world.cluster.refusals.set(
        "apply ConfigMap bad",
        new ApiUnreachableError("PATCH", new Error("refused")),
      );
      assert.equal(await looks(), three);
      world.whileWaiting = () => {
        world.isGoing = true;
      };
      assert.equal(await looks(), undefined);
      world.isGoing = false;
      world.given({ annotations: { "argosy.dev/paused": "true" } });
      assert.equal(await looks(), undefined);
      world.given({ deletionTimestamp: DELETED, finalizers: [FINALIZER] });
      assert.equal(await looks(finalizing), undefined);
    });

    it("is due until the handler has answered, and then done", async () => {
      world.given();
      await world.reconcile(at("2026-01-05T02:00:00Z"));
      world.answer = { error: { message: "no bucket" } };
      const { again } = await world.reconcile(at("2026-01-05T03:00:00Z"));
      assert.deepEqual(
        [dueLast(), again.kind],
        [[{ name: "nightly", at: "2026-01-05T03:00:00Z" }], "failed"],
      );
      assert.equal(remembered(), "2026-01-05T02:00:00Z");
      world.answer = { children: [] };
      const { report } = await world.reconcile(at("2026-01-05T03:02:00Z"));
      assert.deepEqual(dueLast(), [{ name: "nightly", at: "2026-01-05T03:00:00Z" }]);
      assert.deepEqual([report.due, remembered()], [["nightly"], "2026-01-05T03:00:00Z"]);
      await world.reconcile(at("2026-01-05T03:04:00Z"));
      assert.deepEqual(dueLast(), []);
    });

    it("is still due if a part of the answer was refused, or the memory could not be written", async () => {
      world.given();
      await world.reconcile(at("2026-01-05T02:00:00Z"));
      world.answer = { children: [configMap({ name: "bad" })] };
      world.cluster.refusals.set("apply ConfigMap bad", new ApiError(422, {}, "PATCH"));
      await world.reconcile(at("2026-01-05T03:00:00Z"));
      world.cluster.refusals.clear();
      world.cluster.refusals.set("status", new ApiUnreachableError("PATCH", new Error("refused")));
      await world.reconcile(at("2026-01-05T03:01:00Z"));
      world.cluster.refusals.clear();
      await world.reconcile(at("2026-01-05T03:02:00Z"));
      assert.deepEqual(
        world.questions.map(({ due }) => due.map((each) => each.at)),
        [[], ["2026-01-05T03:00:00Z"], ["2026-01-05T03:00:00Z"], ["2026-01-05T03:00:00Z"]],
      );
    });

    it("is not asked of an object whose first look cannot be remembered", async () => {
      world.given();
      world.cluster.refusals.set("status", new ApiUnreachableError("PATCH", new Error("refused")));
      await world.reconcile(at("2026-01-05T02:00:00Z"));
      assert.deepEqual(world.questions, []);
    });

    it("does not put off what the handler asks for, and is put off by nothing that comes later", async () => {
      world.given();
      for (const seconds of [60, 7_200]) {
        world.answer = { children: [], requeueAfterSeconds: seconds };
        const { again, nextLook, report } = await world.reconcile(at("2026-01-05T02:30:00Z"));
        assert.deepEqual(again, { kind: "done", againAfterMs: seconds * 1000 });
        assert.equal(report.againAfterMs, seconds * 1000);
        assert.equal(nextLook, Date.parse("2026-01-05T03:00:00Z"));
      }
    });

    it("can be started by hand, without becoming done for its own time", async () => {
      world.given();
      await world.reconcile(at("2026-01-05T02:00:00Z"));
      world.byHand = [{ name: "nightly", at: "2026-01-05T02:30:07Z" }];
      await world.reconcile(at("2026-01-05T02:30:09Z"));
      assert.deepEqual([dueLast(), remembered()], [world.byHand, "2026-01-05T02:00:00Z"]);
      await world.reconcile(at("2026-01-05T03:00:00Z"));
      assert.deepEqual(dueLast(), [{ name: "nightly", at: "2026-01-05T03:00:00Z" }]);
    });

    it("is nothing for an object that is being deleted, and forgotten with its definition", async () => {
      world.given();
      await world.reconcile(at("2026-01-05T02:00:00Z"));
      await world.reconcile();
      assert.equal(remembered(), undefined);
      world.given({ deletionTimestamp: DELETED, finalizers: [FINALIZER] });
      world.answer = { finalized: true };
      await world.reconcile({
        ...at("2026-01-05T04:00:00Z"),
        operator: operator({ finalize: true, schedules: { nightly } }),
      });
      assert.deepEqual(world.questions.at(-1)?.due, []);
    });
  });
});
