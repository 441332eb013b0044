import assert from "node:assert/strict";
import { CHILDREN_CHANGED_BACK, Contests } from "../../runtime/when/contests";

describe("Contests", () => {
  let now: number;
  let contests: Contests;
  beforeEach(() => {
    now = 0;
    contests = new Contests(
      { patience: 3, firstDelayMs: 100, longestDelayMs: 1_000, quietMs: 2_000 },
      () => now,
    );
  });

  /** `rounds` times, our change is undone after `undoneAfterMs`; we change it again when the delay is over. */
  function fight(rounds: number, key = "a", undoneAfterMs = 1): number[] {
    return Array.from({ length: rounds }, () => {
      contests.changed(key);
      now += undoneAfterMs;
      contests.drifted(key);
      const delayMs = contests.delayMs(key);
      now += delayMs;
      return delayMs;
    });
  }

  it("puts nothing off where changes are undone never or only now and then", () => {
    contests.changed("a");
    assert.equal(contests.delayMs("a"), 0);
    assert.deepEqual(fight(20, "b", 2_001), new Array(20).fill(0));
    assert.equal(contests.drifted("c"), false);
    assert.equal(contests.delayMs("c"), 0);
  });

  it("mends a few times at once, then less and less often, up to a bound", () => {
    assert.deepEqual(fight(9), [0, 0, 0, 100, 200, 400, 800, 1_000, 1_000]);
  });

  it("tells once that an object is contested, and how many are", () => {
    const told = Array.from({ length: 10 }, () => {
      contests.changed("a");
      return contests.drifted("a");
    });
    assert.deepEqual(
      told.map((isContested, round) => (isContested ? round : -1)).filter((round) => round >= 0),
      [3],
    );
    assert.equal(contests.size, 1);
    fight(4, "b");
    assert.equal(contests.size, 2);
  });

  it("tells it once also of an autoscaler, which looks every 15 s", () => {
    contests = new Contests(CHILDREN_CHANGED_BACK, () => now);
    const told: number[] = [];
    for (let round = 1; round <= 40; round++) {
      contests.changed("a");
      now += 15_000;
      if (contests.drifted("a")) told.push(round);
      now += contests.delayMs("a");
    }
    assert.deepEqual(told, [6]);
  });

  it("counts many children that are undone at once as one time", () => {
    contests.changed("a");
    for (let child = 0; child < 200; child++) assert.equal(contests.drifted("a"), false);
    assert.equal(contests.delayMs("a"), 0);
  });

  it("has no patience with one object at the cost of another", () => {
    fight(9, "a");
    contests.changed("b");
    contests.drifted("b");
    assert.equal(contests.delayMs("b"), 0);
  });

  it("is over when what we changed stays for a while: then it is mended at once again", () => {
    fight(9);
    contests.changed("a");
    now += 2_001;
    assert.equal(contests.size, 0);
    contests.drifted("a");
    assert.equal(contests.delayMs("a"), 0);
    assert.deepEqual(fight(4), [0, 0, 0, 100]);
  });

  it("is not over while what was undone waits to be mended", () => {
    fight(9);
    contests.changed("a");
    contests.drifted("a");
    now += 1_000 + 2_000;
    assert.equal(contests.size, 1);
    contests.changed("a");
    contests.drifted("a");
    assert.equal(contests.delayMs("a"), 1_000);
  });

  it("still knows of drift that came long after our last change, although other objects changed since", () => {
    contests.changed("a");
    now += 100_000;
    contests.drifted("a");
    contests.changed("b");
    assert.equal(contests.changed("a"), true);
  });

  it("begins a new contest for an object that was quiet, although an earlier drift of another one still waits", () => {
    contests.changed("b");
    contests.drifted("b");
    fight(3, "a");
    contests.changed("a");
    now += 2_001;
    assert.equal(contests.drifted("a"), false);
    assert.equal(contests.delayMs("a"), 0);
  });

  it("remembers nothing of objects that have been quiet", () => {
    for (let object = 0; object < 1_000; object++) contests.changed(`object-${object}`);
    now += 10_000;
    contests.changed("last");
    assert.equal(remembered(), 1);
  });

  it("remembers nothing of old changes by other clients where we change nothing: another process leads", () => {
    for (let object = 0; object < 1_000; object++) contests.drifted(`object-${object}`);
    now += 1_000_000;
    contests.drifted("last");
    assert.equal(remembered(), 1);
  });

  const remembered = () => (contests as unknown as { contests: Map<string, unknown> }).contests.size;
});
