import assert from "node:assert/strict";
import fc from "fast-check";
import type { WorkResult } from "../../runtime/base/turn";
import type { Priority } from "../../runtime/when/readyKeys";
import { WorkQueue, type WorkQueueOptions } from "../../runtime/when/workQueue";
import { withinCpuTime } from "../support/cpuTime";
import { due } from "./support/wakeups";

describe("WorkQueue", () => {
  let now: number;
  beforeEach(() => {
    now = 1_000_000;
  });

  function make(options: WorkQueueOptions = {}): WorkQueue {
    return new WorkQueue({ now: () => now, random: () => 1, ...options });
  }

  /** Takes everything that is due, in order, and ends the work on each at once. */
  function drain(queue: WorkQueue, result: WorkResult = { kind: "done" }): string[] {
    const taken: string[] = [];
    for (let key = queue.takeDue(); key !== undefined; key = queue.takeDue()) {
      taken.push(key);
      queue.finish(key, result);
    }
    return taken;
  }

  /** How long it takes until anything is due, in milliseconds. */
  function nextInMs(queue: WorkQueue): number {
    const { nextInMs } = queue;
    assert.ok(nextInMs !== undefined, "nothing waits for a time");
    return nextInMs;
  }

  it("gives a key of more than one reason with the most urgent, once", () => {
    const queue = make();
    queue.add("a", due("child", 0, false));
    queue.add("b", due("routine"));
    queue.add("b", due());
    queue.add("b", due("routine"));
    assert.deepEqual(drain(queue), ["b", "a"]);
  });

  it("gives a key that waits for a time with the most urgent of its reasons, at the earliest of their times", () => {
    const times: readonly (readonly [childMs: number, routineMs: number])[] = [
      [20, 0],
      [20, 10],
      [10, 20],
    ];
    for (const [childMs, routineMs] of times) {
      const queue = make();
      queue.add("a", due("child", childMs, false));
      queue.add("a", due("routine", routineMs));
      assert.deepEqual(queue.stateOf("a").dueInMs ?? 0, Math.min(childMs, routineMs));
      now += 10;
      queue.add("b", due("routine"));
      assert.deepEqual(drain(queue), ["a", "b"], `${childMs} ms, ${routineMs} ms`);
    }
  });

  it("gives one of eight turns to the key that has waited longest, once that is ten seconds", () => {
    const queue = make({ rateLimit: { burst: 1_000, refillMs: 1 } });
    queue.add("patient", due("routine"));
    const turns = () =>
      Array.from({ length: 16 }, (_, at) => {
        queue.add(`urgent-${at}`, due());
        const key = queue.takeDue();
        if (key !== undefined) queue.finish(key, { kind: "done" });
        return key;
      });
    assert.ok(!turns().includes("patient"));
    now += 10_000;
    const given = turns();
    assert.equal(given.filter((key) => key === "patient").length, 1);
    assert.ok(given.indexOf("patient") < 8);
  });

  it("gives a key that was added during its work once more, with the most urgent of the reasons, at their earliest time", () => {
    const [soon, late] = [due("routine", 500), due("change", 1_000)];
    for (const reasons of [
      [soon, late],
      [late, soon],
    ]) {
      const queue = make();
      queue.add("a", due());
      assert.equal(queue.takeDue(), "a");
      for (const each of reasons) queue.add("a", each);
      assert.equal(queue.takeDue(), undefined);
      queue.finish("a", { kind: "done" });
      assert.equal(nextInMs(queue), 500);
      now += 500;
      queue.add("b", due("child", 0, false));
      assert.deepEqual(drain(queue), ["a", "b"]);
    }
  });

  it("gives a delayed key when its time has come, at the earlier of two times, and at once if it changes", () => {
    const queue = make();
    queue.add("a", due("change", 1_000));
    queue.add("a", due("change", 500));
    queue.add("a", due("change", 2_000));
    assert.deepEqual(drain(queue), []);
    assert.equal(nextInMs(queue), 500);
    now += 500;
    assert.deepEqual(drain(queue), ["a"]);
    queue.add("b", due("change", 1_000));
    queue.add("b", due());
    assert.deepEqual(drain(queue), ["b"]);
    assert.equal(queue.nextInMs, undefined);
  });

  it("gives a key again when its work asks for that, or earlier if it is added", () => {
    const queue = make();
    queue.add("a", due());
    assert.deepEqual(drain(queue, { kind: "done", againAfterMs: 5_000 }), ["a"]);
    assert.equal(nextInMs(queue), 5_000);
    queue.add("a", due("child", 1_000, false));
    assert.equal(nextInMs(queue), 1_000);
  });

  it("gives a key again with its first reason if nothing was done for it, whatever less urgent was added during its work", () => {
    for (const afterMs of [0, 5, 100_000]) {
      const queue = make();
      queue.add("a", due());
      assert.equal(queue.takeDue(), "a");
      queue.add("a", due("routine", afterMs));
      queue.add("b", due("child", 0, false));
      queue.finish("a", { kind: "again", afterMs: 1_000 });
      now += 1_000;
      assert.deepEqual(drain(queue), ["a", "b"], `${afterMs} ms`);
    }
  });

  it("gives what changed before a key that the API server held up, and that key before routine", () => {
    const queue = make();
    queue.add("held", due());
    queue.add("routine", due("routine"));
    assert.equal(queue.takeDue(), "held");
    queue.finish("held", { kind: "again", afterMs: 1_000, yields: true });
    now += 1_000;
    queue.stateOf("held");
    assert.equal(queue.depth, 2);
    queue.add("change", due());
    assert.deepEqual(drain(queue), ["change", "held", "routine"]);
    queue.add("routine", due("routine"));
    drain(queue, { kind: "again", afterMs: 1_000, yields: true });
    now += 1_000;
    queue.add("child", due("child", 0, false));
    assert.deepEqual(drain(queue), ["child", "routine"]);
  });

  describe("after a failure", () => {
    function failing(attempts: number, options: WorkQueueOptions = {}): WorkQueue {
      const queue = make(options);
      queue.add("a", due());
      for (let attempt = 1; attempt <= attempts; attempt++) {
        if (attempt > 1) now += nextInMs(queue);
        assert.deepEqual(drain(queue, { kind: "failed" }), ["a"]);
      }
      return queue;
    }

    it("waits twice as long each time, up to a bound, with half of it left to chance", () => {
      assert.deepEqual(
        [1, 2, 3, 9, 10, 20].map((attempts) => nextInMs(failing(attempts))),
        [500, 1_000, 2_000, 128_000, 256_000, 300_000],
      );
      assert.equal(nextInMs(failing(3, { random: () => 0 })), 1_000);
    });

    it("waits no longer because it was tried many times before the pause was over", () => {
      const queue = failing(2);
      for (let time = 0; time < 12; time++) {
        // Another client changes a child back while the handler fails.
        queue.add("a", due("child", 0, true));
        assert.deepEqual(drain(queue, { kind: "failed" }), ["a"]);
      }
      assert.equal(queue.attemptOf("a"), 15);
      assert.equal(nextInMs(queue), 1_000);
      now += 1_000;
      drain(queue, { kind: "failed" });
      assert.equal(nextInMs(queue), 2_000);
    });

    it("waits longer although a try that was no failure came between the pause and the next failure", () => {
      const queue = failing(2);
      now += nextInMs(queue);
      drain(queue, { kind: "again", afterMs: 50 });
      now += nextInMs(queue);
      drain(queue, { kind: "failed" });
      assert.equal(nextInMs(queue), 2_000);
    });

    it("waits as long as the failure asks for", () => {
      const queue = make();
      queue.add("a", due());
      drain(queue, { kind: "failed", retryAfterMs: 7_000 });
      assert.equal(nextInMs(queue), 7_000);
    });

    it("waits for a change alone if the failure is permanent", () => {
      const queue = make();
      queue.add("a", due());
      drain(queue, { kind: "failed", permanent: true });
      assert.equal(queue.nextInMs, undefined);
      assert.equal(queue.failing, 1);
      assert.equal(queue.attemptOf("a"), 2);
      queue.add("a", due());
      assert.deepEqual(drain(queue), ["a"]);
      assert.equal(queue.failing, 0);
    });

    for (const endsBackoff of [true, false]) {
      it(`a reason that ${endsBackoff ? "ends" : "does not end"} the wait does so whether it comes during the wait or before`, () => {
        for (const priority of ["change", "child", "routine"] as const) {
          const waiting = failing(3);
          waiting.add("a", due(priority, 0, endsBackoff));
          assert.deepEqual(drain(waiting), endsBackoff ? ["a"] : []);
          const queue = make();
          queue.add("a", due());
          queue.takeDue();
          queue.add("a", due(priority, 0, endsBackoff));
          queue.finish("a", { kind: "failed" });
          assert.deepEqual(drain(queue), endsBackoff ? ["a"] : []);
          if (!endsBackoff) assert.equal(nextInMs(queue), 500);
        }
      });
    }

    it("one of several reasons that were added during the work is enough to end the wait", () => {
      for (const reasons of [
        [true, false],
        [false, true],
      ]) {
        const queue = make();
        queue.add("a", due());
        queue.takeDue();
        for (const endsBackoff of reasons) queue.add("a", due("child", 0, endsBackoff));
        queue.finish("a", { kind: "failed" });
        assert.deepEqual(drain(queue), ["a"]);
      }
    });

    it("a success forgets the failures", () => {
      const queue = failing(5);
      now += nextInMs(queue);
      assert.equal(queue.attemptOf("a"), 6);
      drain(queue);
      assert.equal(queue.attemptOf("a"), 1);
    });
  });

  it("tries work again that ended without a failure, first soon and then less soon: that is no attempt", () => {
    const queue = make();
    queue.add("a", due());
    const waits = Array.from({ length: 10 }, () => {
      assert.equal(queue.attemptOf("a"), 1);
      assert.deepEqual(drain(queue, { kind: "again" }), ["a"]);
      const waitMs = nextInMs(queue);
      now += waitMs;
      return waitMs;
    });
    assert.deepEqual(waits, [10, 20, 40, 80, 160, 320, 640, 1_280, 2_000, 2_000]);
    assert.deepEqual(drain(queue, { kind: "again", afterMs: 9_000 }), ["a"]);
    assert.equal(nextInMs(queue), 9_000);
  });

  it("lets a key that changes all the time come again as fast as its rate limit allows, and forgets no change by that", () => {
    const queue = make({ rateLimit: { burst: 3, refillMs: 100 } });
    let given = 0;
    for (let ms = 0; ms < 1_000; ms++, now++) {
      queue.add("busy", due());
      given += drain(queue).length;
    }
    assert.ok(given >= 12 && given <= 13, `given out ${given} times`);
    now += 100;
    assert.deepEqual(drain(queue), ["busy"]);
    queue.add("other", due());
    assert.deepEqual(drain(queue), ["other"]);
  });

  it("gives all others while a key is blocked, of very many each as soon as of a few, and that one as soon as it is not", () => {
    // 400 ms when this was written, and 5 s when each look for the first passed the places of those that had left.
    withinCpuTime(800, () => {
      for (const priority of ["change", "routine"] as const) {
        const queue = make();
        queue.block(new Set(["0"]));
        for (let at = 0; at < 100_000; at++) queue.add(String(at), due(priority));
        assert.deepEqual([drain(queue).length, queue.depth], [99_999, 1]);
        queue.block(new Set());
        assert.deepEqual(drain(queue), ["0"]);
      }
    });
  });

  it("forgets a key that waits, is delayed or has failed; one that is worked on when its work ends", () => {
    const queue = make();
    queue.add("ready", due());
    queue.add("delayed", due("change", 1_000));
    queue.forget("ready");
    queue.forget("delayed");
    queue.add("working", due());
    queue.takeDue();
    queue.add("working", due());
    queue.clear();
    assert.equal(queue.has("working"), true);
    queue.finish("working", { kind: "done" });
    now += 10_000;
    assert.deepEqual(drain(queue), []);
    assert.equal(queue.has("working"), false);
  });

  it("takes no failure over from an object that went while it was worked on, to a new one of its name or for ever", () => {
    for (const isNew of [false, true]) {
      const queue = make();
      queue.add("working", due());
      queue.takeDue();
      queue.forget("working");
      if (isNew) queue.add("working", due("routine"));
      queue.finish("working", { kind: "failed", permanent: true });
      assert.deepEqual([queue.failing, queue.has("working")], [0, isNew]);
      assert.equal(queue.attemptOf("working"), 1);
      assert.deepEqual(drain(queue), isNew ? ["working"] : []);
      queue.add("working", due());
      queue.takeDue();
      queue.finish("working", { kind: "failed" });
      assert.equal(queue.failing, 1);
    }
  });

  it("tries work again that has not failed, even if its object went: a caller may wait for the outcome", () => {
    const queue = make();
    queue.add("working", due());
    queue.takeDue();
    queue.forget("working");
    queue.finish("working", { kind: "again" });
    now += 1_000;
    assert.deepEqual(drain(queue), ["working"]);
  });

  it("tells how many wait, how long the oldest does, and begins to count again", () => {
    const queue = make();
    assert.equal(queue.oldestMs, 0);
    queue.add("a", due("routine"));
    now += 1_000;
    queue.add("b", due());
    queue.add("c", due("change", 1));
    assert.equal(queue.depth, 2);
    assert.equal(queue.oldestMs, 1_000);
    queue.restartWaiting();
    assert.equal(queue.oldestMs, 0);
  });

  describe("what brought a key to its run", () => {
    /** The cause of the next run, and when it came. */
    function next(queue: WorkQueue, result: WorkResult = { kind: "done" }) {
      const key = queue.takeDue() ?? "";
      const arrival = queue.arrivalOf(key);
      queue.finish(key, result);
      return arrival;
    }

    it("is the first of equal things, and the most reporting several", () => {
      const queue = make();
      const at = now;
      for (const cause of ["child", "watch", "watch", "child"] as const) {
        queue.add("a", { ...due(), cause });
        now += 10;
      }
      const arrival = { cause: "watch", alsoBy: ["child"], at: at + 10, readyAt: at, takenAt: at + 40 };
      assert.deepEqual(next(queue), arrival);
    });

    it("counts for one run, even if it came during the last one, and is forgotten with its object", () => {
      const queue = make();
      queue.add("a", { ...due(), cause: "hint" });
      queue.takeDue();
      assert.equal(queue.arrivalOf("a").cause, "hint");
      queue.add("a", { ...due(), cause: "child" });
      queue.finish("a", { kind: "failed" });
      assert.equal(next(queue, { kind: "failed" }).cause, "child");
      now += nextInMs(queue);
      assert.equal(next(queue).cause, "retry");
      queue.add("a", { ...due(), cause: "hint" });
      queue.forget("a");
      queue.add("a", due());
      assert.equal(next(queue).cause, "time");
    });

    it("is forgotten when this process begins to work", () => {
      const queue = make();
      queue.add("a", { ...due(), cause: "watch" });
      queue.restartWaiting();
      assert.equal(next(queue).cause, "time");
    });
  });
});

const LONGEST_WAIT_MS = 60_000;

describe("WorkQueue against a model", () => {
  let now: number;
  beforeEach(() => {
    now = 1_000_000;
  });

  function make(options: WorkQueueOptions): WorkQueue {
    return new WorkQueue({ now: () => now, ...options });
  }

  const KEYS = ["a", "b", "c", "d"];
  const key = fc.constantFrom(...KEYS);
  const result = fc.oneof(
    fc.constant<WorkResult>({ kind: "done" }),
    fc.nat(200_000).map((againAfterMs): WorkResult => ({ kind: "done", againAfterMs })),
    fc.constant<WorkResult>({ kind: "failed" }),
    fc.nat(200_000).map((retryAfterMs): WorkResult => ({ kind: "failed", retryAfterMs })),
    fc.constant<WorkResult>({ kind: "failed", permanent: true }),
    fc.option(fc.nat(5_000), { nil: 0 }).map((afterMs): WorkResult => ({ kind: "again", afterMs })),
  );
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("take" as const) }) },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant("add" as const),
        key,
        priority: fc.constantFrom<Priority>("change", "child", "routine"),
        afterMs: fc.constantFrom(0, 0, 20, 1_000, 500_000),
        endsBackoff: fc.boolean(),
      }),
    },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("finish" as const), at: fc.nat(3), result }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.nat(20_000) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("block" as const), keys: fc.subarray(KEYS) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("forget" as const), key }) },
  );

  it("gives no key twice at once, no blocked key, and in the end every key that was added", () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 80 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (steps, random) => {
          const queue = make({ longestWaitMs: LONGEST_WAIT_MS, random: () => random });
          const working = new Set<string>();
          /** Keys that must be given out once more. */
          const owed = new Set<string>();
          /** Keys whose object went while they were worked on: their failure does not count. */
          const gone = new Set<string>();
          let blocked: readonly string[] = [];
          const take = () => {
            const taken = queue.takeDue();
            if (taken === undefined) return undefined;
            assert.ok(!working.has(taken), `${taken} is given out twice`);
            assert.ok(!blocked.includes(taken), `${taken} is blocked`);
            working.add(taken);
            owed.delete(taken);
            return taken;
          };
          const finish = (ended: string, how: WorkResult) => {
            working.delete(ended);
            queue.finish(ended, how);
            const isGone = gone.delete(ended) && how.kind !== "again";
            const isDue = how.kind === "again" || (how.kind === "failed" && !how.permanent);
            if (isGone) return;
            if (isDue || (how.kind === "done" && how.againAfterMs !== undefined)) owed.add(ended);
          };
          for (const each of steps) {
            const ended = each.kind === "finish" ? [...working][each.at] : undefined;
            if (each.kind === "take") take();
            else if (each.kind === "wait") now += each.ms;
            else if (each.kind === "finish") ended !== undefined && finish(ended, each.result);
            else if (each.kind === "add") {
              const { priority, afterMs, endsBackoff } = each;
              queue.add(each.key, { priority, afterMs, endsBackoff });
              // A child of a key that failed for good may be ignored until it changes itself.
              owed.add(each.key);
            } else if (each.kind === "block") {
              blocked = each.keys;
              queue.block(new Set(blocked));
            } else {
              queue.forget(each.key);
              if (working.has(each.key)) gone.add(each.key);
              owed.delete(each.key);
            }
          }
          queue.block(new Set());
          blocked = [];
          for (const one of [...working]) finish(one, { kind: "done" });
          // The longest of the delays above is over by then.
          for (let round = 0; round < 20 && owed.size > 0; round++) {
            now += 100_000;
            for (let taken = take(); taken !== undefined; taken = take()) finish(taken, { kind: "done" });
          }
          assert.deepEqual([...owed], []);
          assert.equal(queue.depth, 0);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("gives a key that failed no later than the longest wait, whatever its failure asks for", () => {
    const options = fc.record({
      retryAfterMs: fc.option(fc.nat(10_000_000), { nil: undefined }),
      tries: fc.nat(30),
    });
    fc.assert(
      fc.property(options, fc.double({ min: 0, max: 1, noNaN: true }), ({ retryAfterMs, tries }, random) => {
        const queue = make({ longestWaitMs: LONGEST_WAIT_MS, random: () => random });
        queue.add("a", { priority: "change", afterMs: 0, endsBackoff: true });
        for (let attempt = 1; attempt <= tries + 1; attempt++) {
          assert.equal(queue.attemptOf("a"), attempt);
          assert.equal(queue.takeDue(), "a");
          queue.finish("a", { kind: "failed", ...(retryAfterMs !== undefined && { retryAfterMs }) });
          assert.ok((queue.nextInMs ?? Number.POSITIVE_INFINITY) <= LONGEST_WAIT_MS);
          now += LONGEST_WAIT_MS;
        }
      }),
    );
  });
});
