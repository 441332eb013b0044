import assert from "node:assert/strict";
import { ReconcileFailure } from "../../runtime/base/failure";
import type { Condition } from "../../runtime/base/objects";
import { conditionsOf, type Verdict } from "../../runtime/remember/composeStatus";

const NOW = "2026-01-02T03:04:05Z";
const READY: Verdict = { kind: "ready" };
const FAILED: Verdict = { kind: "failed", failure: new ReconcileFailure("HandlerError", "no plan") };

describe("the run that Ready names", () => {
  const ready = (verdict: Verdict, previous: readonly Condition[], run?: string) =>
    conditionsOf(verdict, previous, 1, NOW, run);
  const message = (conditions: readonly Condition[]) =>
    conditions.find(({ type }) => type === "Ready")?.message;

  it("is the one that did something, in Ready alone", () => {
    const conditions = ready(READY, [], "shop-demo-1-ab");
    assert.equal(message(conditions), "every child is applied and ready (run shop-demo-1-ab)");
    assert.equal(conditions.filter((condition) => condition.message.includes("(run ")).length, 1);
  });

  it("stays where a later run did nothing, so that its status is not written", () => {
    const before = ready({ kind: "progressing", message: "wait" }, [], "shop-demo-1-ab");
    assert.equal(message(ready(READY, before)), "every child is applied and ready (run shop-demo-1-ab)");
    const calm = ready(READY, ready(READY, before));
    assert.deepStrictEqual(ready(READY, calm), calm);
  });

  it("is no run that failed, once one has not", () => {
    const before = ready(FAILED, [], "shop-demo-1-ab");
    assert.equal(message(before), "no plan (run shop-demo-1-ab)");
    assert.equal(message(ready(READY, before)), "every child is applied and ready");
  });

  it("is not the former one if an unrecorded run fails", () => {
    assert.equal(message(ready(FAILED, ready(READY, [], "shop-demo-1-ab"))), "no plan");
  });

  it("stays where the message is cut", () => {
    const long: Verdict = { kind: "progressing", message: "x".repeat(5_000) };
    assert.ok(message(ready(long, [], "shop-demo-1-ab"))?.endsWith("… (run shop-demo-1-ab)"));
  });
});
