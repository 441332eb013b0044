import assert from "node:assert/strict";
import { ReconcileRequests } from "../../runtime/engine/objectWork";
import { ApiError, ApiUnreachableError } from "../../runtime/kubernetes/errors";
import type { Outcome, ReconcileReport } from "../../runtime/reconcile/report";
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
    /** After how many seconds the object is looked at again. */
    const comesAfter = ({ again }: Outcome) => {
      const ms =
        again.kind === "done" ? again.againAfterMs : again.kind === "failed" ? again.retryAfterMs : 0;
      return ms === undefined ? undefined : Math.ceil(ms / 10_000) * 10;
    };
    const dueLast = () => world.questions.at(-1)?.due;

    it("is remembered at the first look, before the handler is asked, and wakes the object", async () => {
      world.given();
      const outcome = await world.reconcile(at("2026-01-05T02:00:00Z"));
      assert.deepEqual(world.cluster.steps.slice(0, 2), ["status", "ask reconcile"]);
      assert.deepEqual([dueLast(), remembered()], [[], "2026-01-05T02:00:00Z"]);
      assert.deepEqual([outcome.again.kind, comesAfter(outcome)], ["done", 3_600]);
    });

    it("wakes the object sooner than its handler or a failure wish, but not one that is paused, goes or is gone", async () => {
      const looks = async (more: Partial<ReconcilerOptions> = {}) =>
        comesAfter(await world.reconcile({ ...at("2026-01-05T02:00:00Z"), ...more }));
      assert.equal(await looks(), undefined);
      world.given();
      for (const [seconds, expected] of [
        [60, 60],
        [7_200, 3_600],
      ] as const) {
        world.answer = { children: [], requeueAfterSeconds: seconds };
        assert.equal(await looks(), expected);
        world.answer = { error: { message: "no plan yet", retryAfterSeconds: seconds } };
        assert.equal(await looks(), expected);
      }
      world.answer = { error: { message: "no such plan", permanent: true } };
      assert.equal(await looks(), 3_600);
      world.answer = { children: [configMap()] };
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

const KEY = "shop/demo";
const NIGHTLY = { name: "nightly", at: "2026-11-23T03:00:00Z" };

describe("ReconcileRequests", () => {
  let requests: ReconcileRequests;
  beforeEach(() => {
    requests = new ReconcileRequests();
  });
  /** A run begins and ends. @returns the schedules that its callers start */
  const run = (skipped?: ReconcileReport["skipped"]) => {
    const taken = requests.takeWaiting(KEY);
    requests.answer(KEY, taken, { id: skipped ?? "done", skipped } as ReconcileReport);
    return taken.map(({ due }) => due?.name);
  };

  it("wait, with the schedules that they start, for a run that came to something", async () => {
    const report = requests.ask(KEY, NIGHTLY);
    const reasons = [
      "changed during the run",
      "not the leader",
      "API server away",
      "not listed yet",
    ] as const;
    for (const reason of reasons) assert.deepEqual(run(reason), ["nightly"], reason);
    assert.deepEqual(run(), ["nightly"]);
    assert.equal((await report).id, "done");
    assert.deepEqual(run(), []);
  });

  it("are answered by a run that begins after the question, and not by the one that runs", async () => {
    const running = requests.takeWaiting(KEY);
    const report = requests.ask(KEY);
    requests.answer(KEY, running, { id: "running" } as ReconcileReport);
    run();
    assert.equal((await report).id, "done");
  });

  it("are refused at the end, also if their run comes to nothing after it, until there are runs again", async () => {
    const answers = [requests.ask(KEY), requests.ask("shop/other")];
    const running = requests.takeWaiting(KEY);
    requests.refuse(new Error("over"));
    requests.answer(KEY, running, { skipped: "not the leader" } as ReconcileReport);
    for (const answer of [...answers, requests.ask(KEY)]) await assert.rejects(answer, /over/);
    assert.equal(requests.has(KEY), false);
    requests.open();
    const report = requests.ask(KEY);
    assert.ok(requests.has(KEY));
    run();
    assert.equal((await report).id, "done");
  });

  it("do not wait for an object that is gone or paused", async () => {
    for (const reason of ["gone", "paused"] as const) {
      const report = requests.ask(KEY);
      run(reason);
      assert.equal((await report).skipped, reason);
    }
  });
});
