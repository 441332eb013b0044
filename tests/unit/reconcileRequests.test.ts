import assert from "node:assert/strict";
import { ReconcileRequests } from "../../runtime/engine/objectWork";
import type { ReconcileReport } from "../../runtime/reconcile/report";

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

  it("do not wait for an object that is gone or paused", async () => {
    for (const reason of ["gone", "paused"] as const) {
      const report = requests.ask(KEY);
      run(reason);
      assert.equal((await report).skipped, reason);
    }
  });
});
