import assert from "node:assert/strict";
import fc from "fast-check";
import { StartingCosts } from "../../runtime/handler/handlerPool";

describe("StartingCosts", () => {
  /** Costs after processes that answered a first question in one time, and later ones in another. */
  function costs(firstMs: number, laterMs?: number): StartingCosts {
    const costs = new StartingCosts();
    costs.answered(firstMs, true);
    if (laterMs !== undefined) costs.answered(laterMs, false);
    return costs;
  }

  it("finds no use in one more process before any has answered, but where none can be counted on", () => {
    const nothingKnown = new StartingCosts();
    assert.equal(nothingKnown.isWorthOneMore(64, 2), false);
    assert.equal(nothingKnown.isWorthOneMore(1, 0), true);
    assert.equal(nothingKnown.isWorthOneMore(0, 0), false);
    assert.equal(nothingKnown.patienceMs, 0);
  });

  it("starts none for a handler that only computes, on a fast machine and on a slow one", () => {
    for (const slowness of [1, 10, 100])
      assert.equal(costs(80 * slowness, 2 * slowness).isWorthOneMore(60, 2), false);
  });

  it("starts nearly as many as wait for a handler that waits itself", () => {
    const waiting = costs(1_060, 1_000);
    assert.equal(waiting.isWorthOneMore(62, 2), true);
    assert.equal(waiting.isWorthOneMore(10, 54), true);
    assert.equal(waiting.isWorthOneMore(3, 61), false);
  });

  it("takes a process that ends after each answer for one that has to start for each", () => {
    assert.equal(costs(60).isWorthOneMore(1, 2), true);
  });

  it("starts none for answers that are slow because the machine is busy, as long as a recent one was fast", () => {
    const busy = costs(80, 1);
    for (let answer = 0; answer < 15; answer++) busy.answered(500, false);
    assert.equal(busy.isWorthOneMore(60, 2), false);
  });

  it("has more patience with a silent process where starts take longer", () => {
    assert.equal(costs(80).patienceMs, 320);
    const busy = costs(80);
    for (let start = 0; start < 3; start++) busy.answered(1_500, true);
    assert.equal(busy.patienceMs, 6_000);
  });

  it("follows what the processes do now", () => {
    const followed = costs(80, 1_000);
    for (let answer = 0; answer < 200; answer++) followed.answered(1, false);
    assert.equal(followed.isWorthOneMore(60, 2), false);
    for (let answer = 0; answer < 200; answer++) followed.answered(1_000, false);
    assert.equal(followed.isWorthOneMore(60, 2), true);
  });

  it("starts no more than answer what waits in the time that a start takes, and no fewer", () => {
    const ms = fc.integer({ min: 1, max: 10_000 });
    fc.assert(
      fc.property(ms, ms, fc.integer({ min: 1, max: 128 }), (startMs, answerMs, waiting) => {
        const known = costs(startMs + answerMs, answerMs);
        let processes = 1;
        while (processes < 200 && known.isWorthOneMore(waiting, processes)) processes++;
        const enough = (waiting * answerMs) / startMs;
        // Both sides are rounded.
        assert.ok(processes <= Math.max(1, Math.ceil(enough + 1e-6)), `${processes} of ${enough}`);
        assert.ok(processes >= Math.min(200, Math.floor(enough - 1e-6)), `${processes} of ${enough}`);
      }),
    );
  });
});
