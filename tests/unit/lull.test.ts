import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { Lull } from "../../runtime/lull";

describe("Lull", () => {
  let work: { stillMs: number; isBusy: boolean };
  let lull: Lull;
  beforeEach(() => {
    work = { stillMs: 0, isBusy: false };
    lull = new Lull({ stillMs: () => work.stillMs, isBusy: () => work.isBusy });
  });

  /** The numbers of the turns that have been given, in their order. */
  function turns(count: number, since: number): number[] {
    const given: number[] = [];
    for (let at = 0; at < count; at++) void lull.turn(since).then(() => given.push(at));
    return given;
  }

  it("gives turns when no reconcile has begun or ended for a while", async () => {
    const since = performance.now();
    const given = turns(2, since);
    await sleep(100);
    assert.deepStrictEqual(given, []);
    work.stillMs = 1_000;
    await lull.turn(since);
    await sleep(100);
    assert.deepStrictEqual(given, [0, 1]);
  });

  it("gives a turn to what has waited for five seconds, whatever goes on", async () => {
    const given = turns(1, performance.now() - 4_000);
    await sleep(100);
    assert.deepStrictEqual(given, []);
    await lull.turn(performance.now() - 5_000);
  });

  it("gives them one by one while many objects wait", async () => {
    work.isBusy = true;
    const startedAt = performance.now();
    const given = turns(4, startedAt - 60_000);
    await lull.turn(startedAt - 60_000);
    assert.deepStrictEqual(given, [0, 1, 2, 3]);
    // Timers of Node may fire a millisecond early.
    assert.ok(performance.now() - startedAt >= 4 * 49, "they came at once");
  });

  it("lets nothing wait any more at its end", async () => {
    work.isBusy = true;
    const waiting = lull.turn(performance.now());
    lull.end();
    await waiting;
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: 1_000 }, () => lull.turn(startedAt - 60_000)));
    assert.ok(performance.now() - startedAt < 49 * 1_000, "they were given one by one");
  });
});
