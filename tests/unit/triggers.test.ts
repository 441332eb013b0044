import assert from "node:assert/strict";
import { Triggers } from "../../runtime/work/triggers";
import { WorkQueue } from "../../runtime/work/workQueue";

const KEY = "shop/widget";

describe("Triggers", () => {
  let now: number;
  let queue: WorkQueue;
  let triggers: Triggers;
  let wakes: number;

  beforeEach(() => {
    [now, wakes] = [0, 0];
    const clock = () => now;
    queue = new WorkQueue({ now: clock, random: () => 1 });
    triggers = new Triggers({ queue, wake: () => void wakes++, now: clock });
  });

  /** When the object is reconciled next, which is then done. */
  function nextAt(result: Parameters<WorkQueue["finish"]>[1] = { kind: "done" }): number {
    now += queue.nextInMs ?? 0;
    assert.equal(queue.take(), KEY);
    queue.finish(KEY, result);
    return now;
  }

  /** When the object is reconciled if something changes every 70 ms. Each reconcile is done before the next change. */
  function changing(untilMs: number, change: () => void): number[] {
    const at: number[] = [];
    const reconcile = () => {
      while (queue.take() === KEY) {
        at.push(now);
        queue.finish(KEY, { kind: "done" });
      }
    };
    for (let nextMs = 0; nextMs <= untilMs; nextMs += 70) {
      while (now + (queue.nextInMs ?? Number.POSITIVE_INFINITY) <= nextMs) {
        now += queue.nextInMs ?? 0;
        reconcile();
      }
      now = nextMs;
      change();
      reconcile();
    }
    return at;
  }

  it("makes one reconcile a second of a child that reports all the time", () => {
    const at = changing(5_000, () => triggers.childReported(KEY, false));
    assert.deepEqual(at, [100, 1_000, 2_000, 3_000, 4_000]);
  });

  it("makes one reconcile a second of a child that comes up, and another one soon after it is ready", () => {
    const at = changing(3_000, () => triggers.childReported(KEY, now < 2_800));
    assert.deepEqual(at, [1_000, 2_050, 2_900]);
  });

  it("puts a finalizer back soon, and once in ten seconds if somebody takes it away each time", () => {
    const at: number[] = [];
    for (let time = 0; time < 8; time++) {
      triggers.stripped(KEY);
      at.push(nextAt());
    }
    assert.deepEqual(at, [0, 0, 0, 0, 0, 10_000, 20_000, 30_000]);
  });

  it("ends no backoff for a report, and ends it for drift", () => {
    triggers.add(KEY, "change");
    nextAt({ kind: "failed", retryAfterMs: 60_000 });
    triggers.childReported(KEY, false);
    assert.equal(queue.nextInMs, 60_000);
    triggers.childDrifted(KEY);
    assert.equal(queue.nextInMs, 20);
  });

  it("corrects drift soon, of several children at once, and less often if somebody contests it", () => {
    const waits: number[] = [];
    const contestedAt: number[] = [];
    for (let round = 0; round < 9; round++) {
      triggers.childrenChanged(KEY);
      const since = now;
      if (triggers.childDrifted(KEY)) contestedAt.push(round);
      assert.equal(triggers.childDrifted(KEY), false);
      waits.push(nextAt() - since);
    }
    assert.deepEqual(waits, [20, 20, 20, 20, 20, 250, 500, 1_000, 2_000]);
    assert.deepEqual([contestedAt, triggers.contested], [[5], 1]);
  });

  it("looks at once when a child is gone that we deleted, and finds no contest in that", () => {
    for (let round = 0; round < 20; round++) {
      triggers.childrenChanged(KEY);
      const from = now;
      triggers.childGone(KEY);
      assert.equal(nextAt() - from, 20);
    }
    assert.equal(triggers.contested, 0);
  });

  it("has room for ten thousand objects that wait, and for those that wait already", () => {
    for (let at = 0; at < 10_000; at++) {
      assert.ok(triggers.accepts(`team/${at}`));
      triggers.add(`team/${at}`, "change");
    }
    assert.equal(triggers.accepts("team/one-more"), false);
    assert.equal(triggers.accepts("team/0"), true);
  });

  it("wakes a worker each time that something was added", () => {
    triggers.add(KEY, "routine", 50);
    triggers.childReported(KEY, false);
    triggers.childDrifted(KEY);
    assert.equal(wakes, 3);
  });

  it("wakes thousands of users of one object after fresh changes, and not all at once", () => {
    const users = Array.from({ length: 10_000 }, (_, index) => `shop/user-${index}`);
    assert.deepEqual(triggers.usedChanged(users, false), []);
    triggers.add(KEY, "change");
    assert.equal(queue.take(), KEY);
    queue.finish(KEY, { kind: "done" });
    const seen = new Set<string>();
    let most = 0;
    for (; seen.size < users.length && now < 60_000; now += 100) {
      let taken = 0;
      for (let key = queue.take(); key !== undefined; key = queue.take()) {
        seen.add(key);
        queue.finish(key, { kind: "done" });
        taken++;
      }
      most = Math.max(most, taken);
    }
    assert.equal(seen.size, users.length);
    assert.ok(most <= 150, `${most} at once`);
    assert.ok(now <= 25_000, `${now} ms`);
  });

  it("tries an object again at once that failed, when what it uses changes, also while it is tried", () => {
    triggers.add(KEY, "change");
    nextAt({ kind: "failed", retryAfterMs: 60_000 });
    triggers.usedChanged([KEY], false);
    assert.equal(queue.take(), KEY);
    triggers.usedChanged([KEY], false);
    queue.finish(KEY, { kind: "failed", retryAfterMs: 60_000 });
    assert.equal(queue.take(), KEY);
  });

  it("lets what changes all the time wake an object once a second", () => {
    const at = changing(8_050, () => triggers.usedChanged([KEY], false));
    assert.deepEqual(at.slice(0, 5), [0, 70, 140, 210, 280]);
    // The first five cost seconds of what comes after them.
    assert.deepEqual(at.slice(5), [1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000]);
  });

  it("lets objects come to rest that change each other by what they use, and says so once", () => {
    let told = 0;
    const waits: number[] = [];
    for (let round = 0; round < 20; round++) {
      triggers.ownChanged(KEY);
      now += 100;
      told += triggers.usedChanged([KEY], true).length;
      const before = now;
      waits.push(nextAt() - before);
    }
    assert.equal(told, 1);
    assert.ok(Math.max(...waits.slice(0, 5)) <= 1_000, waits.join());
    assert.deepEqual(waits.slice(-3), [60_000, 60_000, 60_000]);
    // Anyone who is no operator is followed as ever.
    now += 60_000;
    triggers.usedChanged([KEY], false);
    assert.ok(nextAt() <= now);
  });
});
