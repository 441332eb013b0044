import assert from "node:assert/strict";
import fc from "fast-check";
import type { WorkResult } from "../../runtime/base/turn";
import { HeapBudget, Workers } from "../../runtime/when/workers";
import { WorkQueue } from "../../runtime/when/workQueue";
import { FakeClock } from "./support/fakeClock";
import { due } from "./support/wakeups";

describe("Workers", () => {
  let clock: FakeClock;
  let queue: WorkQueue;
  let workers: Workers;
  /** The work in progress: how it is ended, by its key. */
  let working: Map<string, (result?: WorkResult) => void>;
  /** "key attempt" of each work that began. */
  let begun: string[];
  /** How the work in progress leaves its place, by its key. */
  let leave: Map<string, () => void>;
  let faults: string[];

  beforeEach(() => {
    clock = FakeClock.install();
    queue = new WorkQueue({ random: () => 1 });
    [working, begun, leave, faults] = [new Map(), [], new Map(), []];
    workers = new Workers({
      queue,
      concurrency: 2,
      mostAtWork: 4,
      work: (key, attempt, leavePlace) => {
        leave.set(key, leavePlace);
        assert.ok(!working.has(key), `${key} is worked on twice at once`);
        begun.push(`${key} ${attempt}`);
        if (key === "throws") throw new TypeError("hunter2");
        return new Promise((resolve) => {
          working.set(key, (result = { kind: "done" }) => {
            working.delete(key);
            resolve(result);
          });
        });
      },
      onFault: (key, frames) => void faults.push(`${key}: ${frames}`),
    });
  });
  afterEach(() => clock.uninstall());

  function add(key: string, afterMs = 0): void {
    queue.add(key, due("change", afterMs));
    workers.wake();
  }

  async function end(key: string, result?: WorkResult): Promise<void> {
    working.get(key)?.(result);
    await clock.tick();
  }

  it("works on nothing until it is started, and then on two keys at once", async () => {
    for (const key of ["a", "b", "c"]) add(key);
    assert.deepEqual(begun, []);
    workers.start();
    assert.deepEqual([...workers.keys], ["a", "b"]);
    await end("a");
    assert.deepEqual([...workers.keys], ["b", "c"]);
  });

  it("begins the next when one leaves its place, and gives no key out again that is still worked on", async () => {
    for (const key of ["a", "b", "c", "d"]) add(key);
    workers.start();
    leave.get("a")?.();
    leave.get("a")?.();
    assert.deepEqual(begun, ["a 1", "b 1", "c 1"]);
    add("a");
    leave.get("b")?.();
    assert.deepEqual(begun, ["a 1", "b 1", "c 1", "d 1"]);
    await end("a");
    leave.get("c")?.();
    assert.deepEqual(begun, ["a 1", "b 1", "c 1", "d 1", "a 1"]);
  });

  it("works on no more keys than it may, however many have left their places", async () => {
    for (const key of ["a", "b", "c", "d", "e"]) add(key);
    workers.start();
    for (const key of ["a", "b", "c", "d"]) leave.get(key)?.();
    assert.deepEqual([...workers.keys], ["a", "b", "c", "d"]);
    await end("a");
    assert.deepEqual([...workers.keys], ["b", "c", "d", "e"]);
  });

  it("begins what is due later when it is due, however far away that is", async () => {
    workers.start();
    add("soon", 100);
    add("late", 2 ** 31 + 1_000);
    await clock.tick(99);
    assert.deepEqual(begun, []);
    await clock.tick(1);
    assert.deepEqual(begun, ["soon 1"]);
    await end("soon");
    await clock.tick(2 ** 31 + 800);
    assert.deepEqual(begun, ["soon 1"]);
    await clock.tick(200);
    assert.deepEqual(begun, ["soon 1", "late 1"]);
    assert.equal(clock.pending, 0);
  });

  it("tells the work which attempt it is", async () => {
    workers.start();
    add("a");
    await end("a", { kind: "failed", retryAfterMs: 1_000 });
    await clock.tick(1_000);
    await end("a", { kind: "again" });
    await clock.tick(1_000);
    await end("a");
    add("a");
    assert.deepEqual(begun, ["a 1", "a 2", "a 2", "a 1"]);
  });

  it("ends no work by a pause, and begins as many others as have a place when it is started again", async () => {
    workers.start();
    add("a");
    add("b");
    workers.pause();
    add("c");
    add("d");
    await end("b");
    assert.deepEqual([...workers.keys], ["a"]);
    workers.start();
    assert.deepEqual([...workers.keys], ["a", "c"]);
    await end("a");
    assert.deepEqual([...workers.keys], ["c", "d"]);
  });

  it("takes what throws for a failure of its key, says where without the message, and goes on", async () => {
    workers.start();
    add("throws");
    add("a");
    await clock.tick();
    assert.deepEqual([...workers.keys], ["a"]);
    assert.match(faults.join(), /^throws: TypeError\n +at /);
    assert.doesNotMatch(faults.join(), /hunter2/);
    await clock.tick(500);
    assert.deepEqual(begun, ["throws 1", "a 1", "throws 2"]);
    await end("a");
  });

  it("lets other work of the process have its turn while it works on many keys that need nothing", async () => {
    let [done, most, before] = [0, 0, 0];
    const quick = new Workers({
      queue,
      concurrency: 10,
      work: async () => {
        done++;
        return { kind: "done" };
      },
      onFault: () => {},
    });
    for (let at = 0; at < 1_000; at++) queue.add(String(at), due("change"));
    quick.start();
    while (done < 1_000) {
      await new Promise((resolve) => setImmediate(resolve));
      most = Math.max(most, done - before);
      before = done;
    }
    assert.ok(most <= 50, `${most} in one turn`);
  });

  it("says when nothing is worked on", async () => {
    workers.start();
    await workers.idle();
    add("a");
    workers.pause();
    let isIdle = false;
    void workers.idle().then(() => {
      isIdle = true;
    });
    await clock.tick();
    assert.equal(isIdle, false);
    await end("a");
    assert.equal(isIdle, true);
  });

  it("never works on a key twice at once, whatever happens in whatever order", async () => {
    const key = fc.constantFrom("a", "b", "c");
    const result = fc.constantFrom<WorkResult>({ kind: "done" }, { kind: "failed" }, { kind: "again" });
    const step = fc.oneof(
      fc.record({ kind: fc.constant("add" as const), key, afterMs: fc.constantFrom(0, 500) }),
      fc.record({ kind: fc.constant("end" as const), key, result }),
      fc.record({ kind: fc.constantFrom("pause" as const, "start" as const, "clear" as const) }),
      fc.record({ kind: fc.constant("tick" as const), ms: fc.nat(1_000) }),
    );
    await fc.assert(
      fc
        .asyncProperty(fc.array(step, { maxLength: 50 }), async (steps) => {
          for (const each of steps) {
            if (each.kind === "add") add(each.key, each.afterMs);
            else if (each.kind === "end") await end(each.key, each.result);
            else if (each.kind === "tick") await clock.tick(each.ms);
            else if (each.kind === "clear") queue.clear();
            else workers[each.kind]();
            assert.ok(working.size <= 2);
          }
        })
        .afterEach(async () => {
          workers.pause();
          queue.clear();
          for (const one of [...working.keys()]) await end(one);
          queue.clear();
        }),
    );
  });
});

const KI = 1024;

describe("HeapBudget", () => {
  let now: number;
  let called: string[];
  let budget: HeapBudget;
  beforeEach(() => {
    [now, called] = [0, []];
    budget = new HeapBudget(
      (key) => void called.push(key),
      1_000 * KI,
      () => now,
    );
  });
  /** Which of these keys have room, with their lengths in Ki. */
  const taken = (keys: Record<string, number>) =>
    Object.entries(keys)
      .filter(([key, length]) => budget.acquire(key, length * KI))
      .map(([key]) => key);

  it("refuse no key that is small, however much is worked on", () => {
    assert.deepEqual(taken({ a: 1_000, b: 64, c: 64, d: 65 }), ["a", "b", "c"]);
  });

  it("have room for one key, however large it is", () => {
    assert.deepEqual(taken({ a: 9_000, b: 100 }), ["a"]);
    budget.shrink("a", 0);
    assert.deepEqual(taken({ b: 100 }), ["b"]);
  });

  it("have room for as many as fit, and call the first of the others when there is more", () => {
    assert.deepEqual(taken({ a: 400, b: 400, c: 400, d: 400 }), ["a", "b"]);
    assert.deepEqual(called, []);
    budget.shrink("a", 0);
    assert.deepEqual(called, ["c"]);
    assert.deepEqual(taken({ c: 400 }), ["c"]);
    budget.shrink("b", 0);
    assert.deepEqual(called, ["c", "d"]);
    assert.deepEqual(taken({ d: 400 }), ["d"]);
  });

  it("let none that comes later go before the largest", () => {
    assert.deepEqual(taken({ a: 500, huge: 1_000, b: 100, c: 100 }), ["a"]);
    assert.deepEqual(taken({ c: 100 }), []);
    budget.shrink("a", 0);
    assert.deepEqual(called, ["huge"]);
    assert.deepEqual(taken({ b: 100, huge: 1_000 }), ["huge"]);
    budget.shrink("huge", 0);
    assert.deepEqual(taken({ b: 100, c: 100 }), ["b", "c"]);
  });

  it("are not kept from the others by one that does not come again", () => {
    assert.deepEqual(taken({ a: 500, gone: 1_000, b: 100 }), ["a"]);
    now = 9_999;
    assert.deepEqual(taken({ b: 100 }), []);
    now = 10_000;
    assert.deepEqual(taken({ b: 100 }), ["b"]);
  });

  it("are not kept from the others by one that was refused, and is small or gone when it comes again", () => {
    assert.deepEqual(taken({ a: 500, shrunk: 1_000, b: 100 }), ["a"]);
    assert.deepEqual(taken({ shrunk: 0 }), ["shrunk"]);
    assert.deepEqual(called, ["b"]);
    assert.deepEqual(taken({ b: 100 }), ["b"]);
  });

  it("have more room when a key goes on with less, as when its handler has answered", () => {
    assert.deepEqual(taken({ a: 900, b: 300 }), ["a"]);
    budget.shrink("a", 800 * KI);
    assert.deepEqual(called, []);
    budget.shrink("a", 700 * KI);
    assert.deepEqual([called, taken({ b: 300 })], [["b"], ["b"]]);
    budget.shrink("b", 64 * KI);
    assert.deepEqual(taken({ c: 300 }), ["c"]);
    // It cannot grow.
    budget.shrink("a", 900 * KI);
    budget.shrink("c", 0);
    assert.deepEqual(taken({ d: 300 }), ["d"]);
  });

  it("release what was never taken without harm", () => {
    budget.shrink("a", 0);
    assert.deepEqual(taken({ a: 1_000 }), ["a"]);
  });
});
