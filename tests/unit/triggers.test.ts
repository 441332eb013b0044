import assert from "node:assert/strict";
import { Schedule } from "../../runtime/work/schedule";
import { Triggers } from "../../runtime/work/triggers";

const KEY = "shop/widget";

describe("Triggers", () => {
  let now: number;
  let schedule: Schedule;
  let triggers: Triggers;
  let wakes: number;

  beforeEach(() => {
    [now, wakes] = [0, 0];
    const clock = () => now;
    schedule = new Schedule({ now: clock, random: () => 1 });
    triggers = new Triggers({ schedule, wake: () => void wakes++, now: clock });
  });

  /** When the object is reconciled next, which is then done. */
  function nextAt(result: Parameters<Schedule["settle"]>[1] = { kind: "done" }): number {
    now = Math.max(now, schedule.nextDueAt ?? now);
    assert.equal(schedule.take(), KEY);
    schedule.settle(KEY, result);
    return now;
  }

  it("makes one reconcile a second of a child that reports all the time", () => {
    const at: number[] = [];
    for (; now <= 5_000; now += 50) {
      triggers.childReported(KEY);
      if ((schedule.nextDueAt ?? Number.POSITIVE_INFINITY) <= now) at.push(nextAt());
    }
    assert.deepEqual(at, [100, 1_000, 2_000, 3_000, 4_000, 5_000]);
  });

  it("ends no backoff for a report, and ends it for drift", () => {
    triggers.add(KEY, "change");
    nextAt({ kind: "failed", retryAfterMs: 60_000 });
    triggers.childReported(KEY);
    assert.equal(schedule.nextDueAt, 60_000);
    triggers.childDrifted(KEY);
    assert.equal(schedule.nextDueAt, 20);
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

  it("has room for ten thousand objects that wait, and for those that wait already", () => {
    for (let at = 0; at < 10_000; at++) {
      assert.ok(triggers.accepts(`team/${at}`));
      triggers.add(`team/${at}`, "change");
    }
    assert.equal(triggers.accepts("team/one-more"), false);
    assert.equal(triggers.accepts("team/0"), true);
  });

  it("wakes whoever works each time that something was added", () => {
    triggers.add(KEY, "routine", 50);
    triggers.childReported(KEY);
    triggers.childDrifted(KEY);
    assert.equal(wakes, 3);
  });
});
