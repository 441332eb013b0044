import assert from "node:assert/strict";
import fc from "fast-check";
import { type Outcome, type Priority, ReconcileQueue } from "../../runtime/queue";
import { FakeClock } from "./support/fakeClock";
import { started, type WatchedQueue } from "./support/watchedQueue";

const DONE: Outcome = { done: true };
const FAILED: Outcome = { done: false };
const MINUTE = 60_000;

describe("ReconcileQueue", () => {
  let clock: FakeClock;
  beforeEach(() => {
    clock = FakeClock.install();
  });
  afterEach(() => clock.uninstall());

  /** Lets one key fail once, from when it is idle. */
  async function failOnce(watched: WatchedQueue, key: string, outcome: Outcome = FAILED): Promise<void> {
    watched.queue.add(key);
    await clock.tick();
    watched.finish(key, outcome);
    await clock.tick();
  }

  describe("under any interleaving", () => {
    const keys = fc.constantFrom("a", "b", "c", "d");
    const priorities = fc.constantFrom<Priority>("change", "child", "routine");
    const outcomes = fc.oneof(
      { weight: 3, arbitrary: fc.constant<Outcome>(DONE) },
      fc.nat({ max: 2_000 }).map((againAfterMs): Outcome => ({ done: true, againAfterMs })),
      { weight: 2, arbitrary: fc.constant<Outcome>(FAILED) },
      fc.nat({ max: 2_000 }).map((retryAfterMs): Outcome => ({ done: false, retryAfterMs })),
      fc.constant<Outcome>({ done: false, permanent: true }),
    );
    type Step = (watched: WatchedQueue) => void | Promise<void>;
    const steps = fc.oneof(
      {
        weight: 4,
        arbitrary: fc
          .tuple(keys, priorities)
          .map(([key, priority]) => say(`add ${key} ${priority}`, (watched) => watched.add(key, priority))),
      },
      fc
        .tuple(keys, fc.nat({ max: 200 }), priorities)
        .map(([key, ms, priority]) =>
          say(`addAfter ${key} ${ms} ${priority}`, (watched) => watched.addAfter(key, ms, priority)),
        ),
      {
        weight: 4,
        arbitrary: fc
          .tuple(keys, outcomes)
          .map(([key, outcome]) =>
            say(`finish ${key} ${JSON.stringify(outcome)}`, (watched) => watched.finish(key, outcome)),
          ),
      },
      {
        weight: 2,
        arbitrary: keys.map((key) => say(`${key} steps aside`, (watched) => watched.stepAside(key))),
      },
      keys.map((key) => say(`forget ${key}`, (watched) => watched.forget(key))),
      fc.nat({ max: 3_000 }).map((ms) => say(`tick ${ms}`, () => clock.tick(ms))),
    );

    /** A step that a counterexample shows by its words. */
    function say(words: string, step: Step): Step {
      return Object.assign((watched: WatchedQueue) => step(watched), { [fc.toStringMethod]: () => words });
    }

    it("no key runs twice at once, no more run than allowed, and none that was added is left un-run", async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 3 }),
          fc.array(steps, { maxLength: 60 }),
          async (concurrency, taken) => {
            const watched = started({ concurrency });
            for (const step of taken) {
              await step(watched);
              await clock.tick();
              assert.deepStrictEqual(watched.violations, []);
              assert.equal(watched.queue.active, watched.running.size + watched.aside.size);
              assert.ok(
                (watched.queue.depth === 0 && watched.aside.size === 0) ||
                  watched.running.size === concurrency,
                "a key waits although there is room",
              );
            }
            await watched.finishAll(clock);
            assert.deepStrictEqual(watched.violations, []);
            assert.deepStrictEqual(watched.leftUnrun(), []);
            assert.equal(watched.queue.depth, 0);
            assert.equal(clock.pending, 0, "a timer is left");
          },
        ),
        { numRuns: 300 },
      );
    });

    it("a key that was forgotten while it did not run starts no more until it is added", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(steps, { maxLength: 40 }), keys, async (taken, key) => {
          const watched = started({ concurrency: 2 });
          for (const step of taken) await step(watched);
          await clock.tick();
          fc.pre(!watched.running.has(key) && !watched.aside.has(key));
          watched.forget(key);
          const before = watched.starts.length;
          await watched.finishAll(clock);
          assert.ok(!watched.starts.slice(before).includes(key), `${key} ran after it was forgotten`);
        }),
      );
    });
  });

  it("runs a key once more that was added many times while it ran", async () => {
    const watched = started();
    watched.queue.add("a");
    await clock.tick();
    for (let times = 0; times < 100; times++) watched.queue.add("a");
    watched.finish("a", DONE);
    await watched.finishAll(clock);
    assert.deepStrictEqual(watched.starts, ["a", "a"]);
  });

  it("runs a key once that was added many times while it waited", async () => {
    const watched = started();
    watched.queue.add("busy");
    for (let times = 0; times < 100; times++) watched.queue.add("a");
    await watched.finishAll(clock);
    assert.deepStrictEqual(watched.starts, ["busy", "a"]);
  });

  for (const runMs of [0, 5, 50]) {
    it(`runs a key that changes 100 times a second ten times a second, where a run takes ${runMs} ms`, async () => {
      const watched = started();
      let lastAdded = 0;
      for (let at = 0; at < 10_000; at += 10) {
        const before = watched.starts.length;
        watched.queue.add("hot");
        if (watched.starts.length > before) lastAdded = watched.starts.length;
        await clock.tick(Math.max(1, Math.min(runMs, 10)));
        if (at % Math.max(10, runMs) === 0) watched.finishAny(DONE);
        await clock.tick(Math.max(0, 9 - runMs));
      }
      const hot = watched.starts.length;
      assert.ok(hot >= 80 && hot <= 130, `${hot} runs in ten seconds, ${lastAdded} at once`);
      // The last change is run too.
      watched.add("hot", "change");
      await watched.finishAll(clock);
      await clock.tick(200);
      await watched.finishAll(clock);
      assert.ok(watched.starts.length > hot, "its newest state was not handled");
      assert.equal(watched.queue.depth, 0);
    });
  }

  it("holds back no key that changes twenty times in a row, nor another one beside a hot one", async () => {
    const watched = started({ concurrency: 2 });
    for (let times = 0; times < 20; times++) {
      watched.queue.add("busy for a moment");
      await watched.finishAll(clock);
    }
    assert.equal(watched.starts.length, 20);
    for (let times = 0; times < 500; times++) {
      watched.queue.add("hot");
      watched.finish("hot", DONE);
      await clock.tick(1);
    }
    watched.queue.add("another");
    assert.equal(watched.starts.at(-1), "another");
  });

  it("waits no longer than its pace where what changes without end fails each time", async () => {
    const watched = started();
    for (let times = 0; times < 1_000; times++) {
      watched.queue.add("hot");
      watched.finish("hot", FAILED);
      await clock.tick(10);
    }
    assert.ok(watched.starts.length >= 80 && watched.starts.length <= 130, `${watched.starts.length} runs`);
  });

  it("takes changes first, then children, then routine, each in the order of arrival", async () => {
    const watched = started();
    watched.queue.add("busy");
    watched.queue.add("r1", "routine");
    watched.queue.add("c1", "child");
    watched.queue.add("x1", "change");
    watched.queue.add("r2", "routine");
    watched.queue.add("x2", "change");
    await watched.finishAll(clock);
    assert.deepStrictEqual(watched.starts, ["busy", "x1", "x2", "c1", "r1", "r2"]);
  });

  it("moves a waiting key up when it changes, and never down", async () => {
    const watched = started();
    watched.queue.add("busy");
    watched.queue.add("c1", "child");
    watched.queue.add("a", "routine");
    watched.queue.add("a", "change");
    watched.queue.add("a", "routine");
    await watched.finishAll(clock);
    assert.deepStrictEqual(watched.starts, ["busy", "a", "c1"]);
  });

  it("lets a routine key have its turn under an endless storm of changes", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 10 }), async (ahead) => {
        const watched = started();
        watched.queue.add("busy");
        for (let older = 0; older < ahead; older++) watched.queue.add(`older-${older}`);
        await clock.tick(1);
        watched.queue.add("patient", "routine");
        await clock.tick(10_000);
        for (let turn = 0; !watched.starts.includes("patient"); turn++) {
          assert.ok(turn <= 8 * (ahead + 2), "it starves");
          await clock.tick(1);
          watched.queue.add(`storm-${turn}`);
          watched.queue.add(`storm-${turn}-b`);
          watched.finishAny(DONE);
          await clock.tick();
        }
      }),
      { numRuns: 20 },
    );
  });

  it("gives routine no turn while changes wait, until it has waited for ten seconds", async () => {
    const watched = started();
    watched.queue.add("busy");
    watched.queue.add("patient", "routine");
    await clock.tick(1);
    for (let turn = 0; !watched.starts.includes("patient"); turn++) {
      watched.queue.add(`change-${turn}`);
      watched.queue.add(`change-${turn}-b`);
      await clock.tick(100);
      watched.finishAny(DONE);
      await clock.tick();
    }
    const before = watched.starts.indexOf("patient");
    assert.ok(before >= 100 && before <= 108, `after ${before} others`);
  });

  it("gives routine no more than one turn of eight while changes wait", async () => {
    const watched = started();
    watched.queue.add("busy");
    for (let index = 0; index < 40; index++) {
      watched.queue.add(`routine-${index}`, "routine");
      watched.queue.add(`change-${index}`, "change");
      await clock.tick(1);
    }
    await clock.tick(10_000);
    for (let turn = 0; turn < 40; turn++) {
      watched.finishAny(DONE);
      await clock.tick();
    }
    const routine = watched.starts.filter((key) => key.startsWith("routine"));
    assert.equal(routine.length, 5);
  });

  describe("after a failure", () => {
    it("waits longer each time, up to a bound, between half and all of the backoff", async () => {
      await fc.assert(
        fc.asyncProperty(fc.double({ min: 0, max: 0.999, noNaN: true }), async (chance) => {
          const watched = started({ firstBackoffMs: 100, longestBackoffMs: 5_000, random: () => chance });
          watched.queue.add("a");
          for (let failures = 1; failures <= 12; failures++) {
            await clock.tick(clock.nextInMs ?? 0);
            assert.equal(watched.attempts.at(-1), failures);
            watched.finish("a", FAILED);
            await clock.tick();
            const full = Math.min(100 * 2 ** (failures - 1), 5_000);
            assert.ok(Math.abs((clock.nextInMs ?? 0) - full * (0.5 + chance / 2)) < 0.001);
          }
          watched.queue.clear();
        }),
        { numRuns: 20 },
      );
    });

    it("does not let two keys that failed together come back together", async () => {
      const watched = started({ concurrency: 2 });
      watched.queue.add("a");
      watched.queue.add("b");
      await clock.tick();
      watched.finish("a", FAILED);
      watched.finish("b", FAILED);
      await clock.tick();
      const first = clock.nextInMs ?? 0;
      await clock.tick(first);
      assert.equal(watched.running.size, 1);
    });

    it("counts from one again after a success", async () => {
      const watched = started();
      await failOnce(watched, "a");
      await clock.tick(MINUTE);
      watched.finish("a", DONE);
      await failOnce(watched, "a");
      assert.deepStrictEqual(watched.attempts, [1, 2, 1]);
      assert.ok((clock.nextInMs ?? MINUTE) <= 500, "the backoff is not the first one");
    });

    it("tries at once when the object changes, and goes on counting", async () => {
      const watched = started();
      await failOnce(watched, "a", { done: false, retryAfterMs: MINUTE });
      watched.queue.add("a", "change");
      await clock.tick();
      assert.deepStrictEqual(watched.attempts, [1, 2]);
    });

    for (const priority of ["child", "routine"] as const) {
      it(`waits for the end of the backoff although a "${priority}" comes`, async () => {
        const watched = started();
        await failOnce(watched, "a", { done: false, retryAfterMs: MINUTE });
        watched.queue.add("a", priority);
        watched.queue.addAfter("a", 5, priority);
        await clock.tick(MINUTE - 1);
        assert.deepStrictEqual(watched.starts, ["a"]);
        await clock.tick(1);
        assert.deepStrictEqual(watched.starts, ["a", "a"]);
      });

      it(`waits for its backoff where a "${priority}" came while it ran`, async () => {
        const watched = started();
        watched.queue.add("a");
        await clock.tick();
        watched.queue.add("a", priority);
        watched.finish("a", { done: false, retryAfterMs: MINUTE });
        await clock.tick(MINUTE - 1);
        assert.deepStrictEqual(watched.starts, ["a"]);
        await clock.tick(1);
        assert.deepStrictEqual(watched.starts, ["a", "a"]);
      });
    }

    it("tries at once where the object changed while it ran", async () => {
      const watched = started();
      watched.queue.add("a");
      await clock.tick();
      watched.queue.add("a", "change");
      watched.finish("a", { done: false, permanent: true });
      await clock.tick();
      assert.deepStrictEqual(watched.attempts, [1, 2]);
    });

    it("does not try by itself what is said to be permanent", async () => {
      const watched = started();
      await failOnce(watched, "a", { done: false, permanent: true });
      await clock.tick(24 * 60 * MINUTE);
      assert.equal(clock.pending, 0);
      assert.deepStrictEqual(watched.starts, ["a"]);
    });

    it("tries what is permanent when a change, a child or the resync asks for it, also while it runs", async () => {
      for (const priority of ["change", "child", "routine"] as const) {
        const watched = started();
        watched.queue.add("a");
        await clock.tick();
        watched.queue.add("a", priority);
        watched.finish("a", { done: false, permanent: true });
        await clock.tick();
        watched.finish("a", { done: false, permanent: true });
        await clock.tick();
        watched.queue.add("a", priority);
        await clock.tick();
        assert.deepStrictEqual(watched.attempts, [1, 2, 3], priority);
      }
    });
  });

  it("runs a key again after the time that its run asked for", async () => {
    const watched = started();
    await failOnce(watched, "a", { done: true, againAfterMs: MINUTE });
    await clock.tick(MINUTE - 1);
    assert.deepStrictEqual(watched.starts, ["a"]);
    await clock.tick(1);
    assert.deepStrictEqual(watched.attempts, [1, 1]);
  });

  it("makes one run of delayed additions, at the time of the first", async () => {
    const watched = started();
    watched.queue.addAfter("a", 50, "child");
    await clock.tick(30);
    watched.queue.addAfter("a", 50, "child");
    await clock.tick(19);
    assert.deepStrictEqual(watched.starts, []);
    await clock.tick(1);
    assert.deepStrictEqual(watched.starts, ["a"]);
    await watched.finishAll(clock);
    assert.deepStrictEqual(watched.starts, ["a"]);
  });

  it("lets delayed additions wait also where they come while the key runs", async () => {
    const watched = started();
    watched.queue.add("a");
    await clock.tick();
    watched.queue.addAfter("a", 50, "child");
    watched.queue.addAfter("a", 90, "child");
    await clock.tick(20);
    watched.finish("a", DONE);
    await clock.tick(29);
    assert.deepStrictEqual(watched.starts, ["a"]);
    await clock.tick(1);
    assert.deepStrictEqual(watched.starts, ["a", "a"]);
    watched.queue.addAfter("a", MINUTE, "child");
    watched.finish("a", { done: true, againAfterMs: 10 });
    await clock.tick(10);
    assert.deepStrictEqual(watched.starts, ["a", "a", "a"]);
    watched.queue.addAfter("a", MINUTE, "child");
    watched.queue.add("a", "change");
    watched.finish("a", DONE);
    await clock.tick();
    assert.deepStrictEqual(watched.starts, ["a", "a", "a", "a"]);
  });

  it("brings a later turn forward when something is due sooner", async () => {
    const watched = started();
    await failOnce(watched, "a", { done: true, againAfterMs: MINUTE });
    watched.queue.addAfter("a", 50, "child");
    await clock.tick(50);
    assert.deepStrictEqual(watched.starts, ["a", "a"]);
  });

  it("forgets the failures and the timers of a key that is gone", async () => {
    const watched = started();
    await failOnce(watched, "a");
    watched.queue.forget("a");
    assert.equal(clock.pending, 0);
    watched.queue.add("a");
    await clock.tick();
    assert.deepStrictEqual(watched.attempts, [1, 1]);
  });

  it("begins nothing while it is paused, and loses nothing", async () => {
    const watched = started({ concurrency: 2 });
    watched.queue.add("a");
    await clock.tick();
    let paused = false;
    const pausing = watched.queue.pause().then(() => {
      paused = true;
    });
    watched.queue.add("b");
    await clock.tick();
    assert.equal(paused, false, "a run has not ended");
    watched.finish("a", DONE);
    await pausing;
    assert.deepStrictEqual(watched.starts, ["a"]);
    watched.queue.start();
    await clock.tick();
    assert.deepStrictEqual(watched.starts, ["a", "b"]);
  });

  it("has nothing left after clear", async () => {
    const watched = started();
    await failOnce(watched, "a");
    watched.queue.add("b");
    watched.queue.add("c", "routine");
    watched.queue.addAfter("d", 10, "child");
    await clock.tick();
    watched.queue.clear();
    await watched.finishAll(clock);
    assert.deepStrictEqual(watched.starts, ["a", "b"]);
    assert.equal(clock.pending, 0);
  });

  it("tells how many wait, how many run, and how long the first has been waiting", async () => {
    const queue = new ReconcileQueue({ concurrency: 1, work: () => new Promise(() => {}) });
    assert.equal(queue.oldestSeconds, 0);
    queue.add("a", "routine");
    await clock.tick(1_000);
    queue.add("b");
    await clock.tick(1_000);
    assert.deepStrictEqual([queue.depth, queue.active, queue.oldestSeconds], [2, 0, 0]);
    queue.start();
    assert.deepStrictEqual([queue.depth, queue.active, queue.oldestSeconds], [1, 1, 0]);
    await clock.tick(3_000);
    assert.equal(queue.oldestSeconds, 3);
  });

  it("tells for how long no run has begun or ended", async () => {
    const watched = started({ concurrency: 1 });
    assert.equal(watched.queue.stillMs, Number.POSITIVE_INFINITY);
    await clock.tick(1_000);
    watched.queue.add("a");
    assert.equal(watched.queue.stillMs, 0);
    await clock.tick(300);
    assert.equal(watched.queue.stillMs, 300);
    watched.finish("a", DONE);
    await clock.tick(200);
    assert.equal(watched.queue.stillMs, 200);
  });

  it("tells how many have failed, until they succeed or are gone", async () => {
    const watched = started({ concurrency: 3 });
    await failOnce(watched, "retried");
    await failOnce(watched, "hopeless", { done: false, permanent: true });
    await failOnce(watched, "gone");
    await failOnce(watched, "fine", DONE);
    assert.equal(watched.queue.failing, 3);
    watched.forget("gone");
    await failOnce(watched, "hopeless", DONE);
    assert.equal(watched.queue.failing, 1);
    await failOnce(watched, "retried", { done: true, againAfterMs: MINUTE });
    assert.equal(watched.queue.failing, 0);
  });
});
