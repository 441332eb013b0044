import assert from "node:assert/strict";
import fc from "fast-check";
import type { WorkResult } from "../../runtime/base/turn";
import type { Priority } from "../../runtime/when/readyKeys";
import { WorkQueue, type WorkQueueOptions } from "../../runtime/when/workQueue";

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
