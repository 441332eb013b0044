import assert from "node:assert/strict";
import type { WorkResult } from "../../runtime/work/backoff";
import { Schedule, type ScheduleOptions } from "../../runtime/work/schedule";

describe("Schedule", () => {
  let now: number;
  beforeEach(() => {
    now = 1_000_000;
  });

  function make(options: ScheduleOptions = {}): Schedule {
    return new Schedule({ now: () => now, random: () => 1, ...options });
  }

  /** Takes everything that is due, in order, and ends the work on each at once. */
  function drain(schedule: Schedule, result: WorkResult = { kind: "done" }): string[] {
    const taken: string[] = [];
    for (let key = schedule.take(); key !== undefined; key = schedule.take()) {
      taken.push(key);
      schedule.finish(key, result);
    }
    return taken;
  }

  /** How long it takes until anything is due, in milliseconds. */
  function nextInMs(schedule: Schedule): number {
    assert.notEqual(schedule.nextDueAt, undefined, "nothing waits for a time");
    return (schedule.nextDueAt ?? 0) - now;
  }

  it("gives what changed before children, and children before routine", () => {
    const schedule = make();
    schedule.add("routine", { priority: "routine" });
    schedule.add("child", { priority: "child" });
    schedule.add("change");
    assert.deepEqual(drain(schedule), ["change", "child", "routine"]);
  });

  it("gives a key of more than one reason with the most urgent, once", () => {
    const schedule = make();
    schedule.add("a", { priority: "child" });
    schedule.add("b", { priority: "routine" });
    schedule.add("b");
    schedule.add("b", { priority: "routine" });
    assert.deepEqual(drain(schedule), ["b", "a"]);
  });

  it("gives a key that waits for a time with the most urgent of its reasons, at the earliest of their times", () => {
    const times: readonly (readonly [childMs: number, routineMs: number])[] = [
      [20, 0],
      [20, 10],
      [10, 20],
    ];
    for (const [childMs, routineMs] of times) {
      const schedule = make();
      schedule.add("a", { priority: "child", afterMs: childMs });
      schedule.add("a", { priority: "routine", afterMs: routineMs });
      assert.deepEqual(schedule.stateOf("a").dueInMs ?? 0, Math.min(childMs, routineMs));
      now += 10;
      schedule.add("b", { priority: "routine" });
      assert.deepEqual(drain(schedule), ["a", "b"], `${childMs} ms, ${routineMs} ms`);
    }
  });

  it("gives one of eight turns to the key that has waited longest, once that is ten seconds", () => {
    const schedule = make({ pace: { burst: 1_000, refillMs: 1 } });
    schedule.add("patient", { priority: "routine" });
    const turns = () =>
      Array.from({ length: 16 }, (_, at) => {
        schedule.add(`urgent-${at}`);
        const key = schedule.take();
        if (key !== undefined) schedule.finish(key, { kind: "done" });
        return key;
      });
    assert.ok(!turns().includes("patient"));
    now += 10_000;
    const given = turns();
    assert.equal(given.filter((key) => key === "patient").length, 1);
    assert.ok(given.indexOf("patient") < 8);
  });

  it("gives a key once more that was added while it was worked on, and no more than that", () => {
    const schedule = make();
    schedule.add("a");
    assert.equal(schedule.take(), "a");
    for (let times = 0; times < 3; times++) schedule.add("a");
    assert.equal(schedule.take(), undefined);
    schedule.finish("a", { kind: "done" });
    assert.deepEqual(drain(schedule), ["a"]);
    assert.equal(schedule.has("a"), false);
  });

  it("gives a key once more with the most urgent of the reasons that came meanwhile, at the earliest of their times", () => {
    const [soon, late] = [
      { priority: "routine", afterMs: 500 },
      { priority: "change", afterMs: 1_000 },
    ] as const;
    for (const reasons of [
      [soon, late],
      [late, soon],
    ]) {
      const schedule = make();
      schedule.add("a");
      assert.equal(schedule.take(), "a");
      for (const each of reasons) schedule.add("a", each);
      schedule.finish("a", { kind: "done" });
      assert.equal(nextInMs(schedule), 500);
      now += 500;
      schedule.add("b", { priority: "child" });
      assert.deepEqual(drain(schedule), ["a", "b"]);
    }
  });

  it("gives a delayed key when its time has come, at the earlier of two times, and at once if it changes", () => {
    const schedule = make();
    schedule.add("a", { afterMs: 1_000 });
    schedule.add("a", { afterMs: 500 });
    schedule.add("a", { afterMs: 2_000 });
    assert.deepEqual(drain(schedule), []);
    assert.equal(nextInMs(schedule), 500);
    now += 500;
    assert.deepEqual(drain(schedule), ["a"]);
    schedule.add("b", { afterMs: 1_000 });
    schedule.add("b");
    assert.deepEqual(drain(schedule), ["b"]);
    assert.equal(schedule.nextDueAt, undefined);
  });

  it("gives a key again when its work asks for that, or earlier if it is added", () => {
    const schedule = make();
    schedule.add("a");
    assert.deepEqual(drain(schedule, { kind: "done", againAfterMs: 5_000 }), ["a"]);
    assert.equal(nextInMs(schedule), 5_000);
    schedule.add("a", { priority: "child", afterMs: 1_000 });
    assert.equal(nextInMs(schedule), 1_000);
  });

  it("gives a key again with its first reason if nothing was done for it, whatever less urgent was added meanwhile", () => {
    for (const afterMs of [0, 5, 100_000]) {
      const schedule = make();
      schedule.add("a");
      assert.equal(schedule.take(), "a");
      schedule.add("a", { priority: "routine", afterMs });
      schedule.add("b", { priority: "child" });
      schedule.finish("a", { kind: "again", afterMs: 1_000 });
      now += 1_000;
      assert.deepEqual(drain(schedule), ["a", "b"], `${afterMs} ms`);
    }
  });

  describe("after a failure", () => {
    function failing(attempts: number, options: ScheduleOptions = {}): Schedule {
      const schedule = make(options);
      schedule.add("a");
      for (let attempt = 1; attempt <= attempts; attempt++) {
        if (attempt > 1) now += nextInMs(schedule);
        assert.deepEqual(drain(schedule, { kind: "failed" }), ["a"]);
      }
      return schedule;
    }

    it("waits twice as long each time, up to a bound, with half of it left to chance", () => {
      assert.deepEqual(
        [1, 2, 3, 9, 10, 20].map((attempts) => nextInMs(failing(attempts))),
        [500, 1_000, 2_000, 128_000, 256_000, 300_000],
      );
      assert.equal(nextInMs(failing(3, { random: () => 0 })), 1_000);
    });

    it("waits no longer because it was tried many times before the pause was over", () => {
      const schedule = failing(2);
      for (let time = 0; time < 12; time++) {
        // Somebody changes a child back while the handler fails.
        schedule.add("a", { priority: "child", endsBackoff: true });
        assert.deepEqual(drain(schedule, { kind: "failed" }), ["a"]);
      }
      assert.equal(schedule.attemptOf("a"), 15);
      assert.equal(nextInMs(schedule), 1_000);
      now += 1_000;
      drain(schedule, { kind: "failed" });
      assert.equal(nextInMs(schedule), 2_000);
    });

    it("waits longer although nobody's fault came between the pause and the next failure", () => {
      const schedule = failing(2);
      now += nextInMs(schedule);
      drain(schedule, { kind: "again", afterMs: 50 });
      now += nextInMs(schedule);
      drain(schedule, { kind: "failed" });
      assert.equal(nextInMs(schedule), 2_000);
    });

    it("waits as long as the failure asks for", () => {
      const schedule = make();
      schedule.add("a");
      drain(schedule, { kind: "failed", retryAfterMs: 7_000 });
      assert.equal(nextInMs(schedule), 7_000);
    });

    it("waits for a change alone if the failure is permanent", () => {
      const schedule = make();
      schedule.add("a");
      drain(schedule, { kind: "failed", permanent: true });
      assert.equal(schedule.nextDueAt, undefined);
      assert.equal(schedule.failing, 1);
      assert.equal(schedule.attemptOf("a"), 2);
      schedule.add("a");
      assert.deepEqual(drain(schedule), ["a"]);
      assert.equal(schedule.failing, 0);
    });

    it("a change, the resync and a drifted child end the wait; a child's report does not", () => {
      const endings = [
        ["change", undefined, true],
        ["routine", undefined, true],
        ["child", true, true],
        ["child", undefined, false],
      ] as const;
      for (const [priority, endsBackoff, isEnded] of endings) {
        const schedule = failing(3);
        schedule.add("a", { priority, ...(endsBackoff !== undefined && { endsBackoff }) });
        assert.deepEqual(drain(schedule), isEnded ? ["a"] : [], `${priority} ${endsBackoff}`);
      }
    });

    it("the same holds for what was added during the work that failed, but for routine", () => {
      const endings = [
        ["change", undefined, true],
        ["routine", undefined, false],
        ["child", true, true],
        ["child", undefined, false],
      ] as const;
      for (const [priority, endsBackoff, isEnded] of endings) {
        const schedule = make();
        schedule.add("a");
        schedule.take();
        schedule.add("a", { priority, ...(endsBackoff !== undefined && { endsBackoff }) });
        schedule.finish("a", { kind: "failed" });
        assert.deepEqual(drain(schedule), isEnded ? ["a"] : [], `${priority} ${endsBackoff}`);
        if (!isEnded) assert.equal(nextInMs(schedule), 500);
      }
    });

    it("one of several reasons that were added during the work is enough to end the wait", () => {
      for (const reasons of [
        ["change", "child"],
        ["child", "change"],
      ] as const) {
        const schedule = make();
        schedule.add("a");
        schedule.take();
        for (const priority of reasons) schedule.add("a", { priority });
        schedule.finish("a", { kind: "failed" });
        assert.deepEqual(drain(schedule), ["a"]);
      }
    });

    it("a success forgets the failures", () => {
      const schedule = failing(5);
      now += nextInMs(schedule);
      assert.equal(schedule.attemptOf("a"), 6);
      drain(schedule);
      assert.equal(schedule.attemptOf("a"), 1);
    });
  });

  it("tries again soon, and less soon each time, what failed through nobody's fault; that is no attempt", () => {
    const schedule = make();
    schedule.add("a");
    const waits = Array.from({ length: 10 }, () => {
      assert.equal(schedule.attemptOf("a"), 1);
      assert.deepEqual(drain(schedule, { kind: "again" }), ["a"]);
      const waitMs = nextInMs(schedule);
      now += waitMs;
      return waitMs;
    });
    assert.deepEqual(waits, [10, 20, 40, 80, 160, 320, 640, 1_280, 2_000, 2_000]);
    assert.deepEqual(drain(schedule, { kind: "again", afterMs: 9_000 }), ["a"]);
    assert.equal(nextInMs(schedule), 9_000);
  });

  it("lets a key that changes all the time follow itself at its pace, and forgets no change by that", () => {
    const schedule = make({ pace: { burst: 3, refillMs: 100 } });
    let given = 0;
    for (let ms = 0; ms < 1_000; ms++, now++) {
      schedule.add("busy");
      given += drain(schedule).length;
    }
    assert.ok(given >= 12 && given <= 13, `given out ${given} times`);
    now += 100;
    assert.deepEqual(drain(schedule), ["busy"]);
    schedule.add("other");
    assert.deepEqual(drain(schedule), ["other"]);
  });

  it("gives the others while a key is blocked, and that one as soon as it is not", () => {
    const schedule = make();
    schedule.block(new Set(["a"]));
    schedule.add("a");
    schedule.add("b", { priority: "routine" });
    assert.deepEqual(drain(schedule), ["b"]);
    assert.equal(schedule.depth, 1);
    schedule.block(new Set());
    assert.deepEqual(drain(schedule), ["a"]);
  });

  it("forgets a key that waits, is delayed or has failed; one that is worked on when its work ends", () => {
    const schedule = make();
    schedule.add("ready");
    schedule.add("delayed", { afterMs: 1_000 });
    schedule.forget("ready");
    schedule.forget("delayed");
    schedule.add("working");
    schedule.take();
    schedule.add("working");
    schedule.clear();
    assert.equal(schedule.has("working"), true);
    schedule.finish("working", { kind: "done" });
    now += 10_000;
    assert.deepEqual(drain(schedule), []);
    assert.equal(schedule.has("working"), false);
  });

  it("takes no failure over from an object that went while it was worked on, to a new one of its name or for ever", () => {
    for (const isNew of [false, true]) {
      const schedule = make();
      schedule.add("working");
      schedule.take();
      schedule.forget("working");
      if (isNew) schedule.add("working", { priority: "routine" });
      schedule.finish("working", { kind: "failed", permanent: true });
      assert.deepEqual([schedule.failing, schedule.has("working")], [0, isNew]);
      assert.equal(schedule.attemptOf("working"), 1);
      assert.deepEqual(drain(schedule), isNew ? ["working"] : []);
      schedule.add("working");
      schedule.take();
      schedule.finish("working", { kind: "failed" });
      assert.equal(schedule.failing, 1);
    }
  });

  it("tries work again that nobody failed, also if the object went meanwhile: somebody may wait for its outcome", () => {
    const schedule = make();
    schedule.add("working");
    schedule.take();
    schedule.forget("working");
    schedule.finish("working", { kind: "again" });
    now += 1_000;
    assert.deepEqual(drain(schedule), ["working"]);
  });

  it("tells how many wait, since when the oldest does, and begins to count again", () => {
    const schedule = make();
    assert.equal(schedule.oldestSince, undefined);
    schedule.add("a", { priority: "routine" });
    now += 1_000;
    schedule.add("b");
    schedule.add("c", { afterMs: 1 });
    assert.equal(schedule.depth, 2);
    assert.equal(schedule.oldestSince, 1_000_000);
    schedule.restartWaiting();
    assert.equal(schedule.oldestSince, now);
  });
});
