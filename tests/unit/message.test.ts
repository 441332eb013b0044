import assert from "node:assert/strict";
import { ReconcileFailure } from "../../runtime/base/failure";
import { NEXT_ATTEMPT_ANNOTATION, NEXT_TRY_ANNOTATION } from "../../runtime/base/names";
import type { WorkResult } from "../../runtime/base/turn";
import type { Outcome } from "../../runtime/reconcile/report";
import { messageAbout } from "../../runtime/report/teller";
import { WorkQueue } from "../../runtime/when/workQueue";
import { WIDGETS } from "./support/objects";
import { due } from "./support/wakeups";

describe("the Event of a failure", () => {
  let now: number;
  let queue: WorkQueue;
  beforeEach(() => {
    now = 0;
    queue = new WorkQueue({ now: () => now, random: () => 0.999_999, longestWaitMs: 200_000 });
  });

  /** Fails once, and gives what the Event tells of the next try: its number, and in how many milliseconds it comes at most. */
  function failing(again: WorkResult, add: () => void): [number, number | undefined] {
    add();
    assert.equal(queue.takeDue(), "a");
    const failure = new ReconcileFailure("HandlerError", "no size");
    const attempt = queue.attemptOf("a");
    const report = {
      uid: "u",
      name: "widget",
      attempt,
      failure,
      changes: [],
    } as unknown as Outcome["report"];
    const waitMs = queue.longestWaitAfter("a", again);
    const [event] = messageAbout({ report, events: [], again }, WIDGETS, undefined, waitMs)?.events ?? [];
    const { [NEXT_ATTEMPT_ANNOTATION]: next, [NEXT_TRY_ANNOTATION]: by } = event?.annotations ?? {};
    queue.finish("a", again);
    return [Number(next), by === undefined ? undefined : Date.parse(by) - Date.now()];
  }

  for (const [what, again] of [
    ["a backoff", { kind: "failed" }],
    ["the pause that the failure asks for", { kind: "failed", retryAfterMs: 5_000 }],
    ["no pause", { kind: "failed", permanent: true }],
  ] as const)
    for (const [when, isWaited] of [
      ["that was waited out", true],
      ["that a change ended", false],
    ] as const)
      it(`tells the next try after ${what} ${when}, as the queue has it`, () => {
        for (let turn = 1; turn <= 15; turn++) {
          const [next, inMs] = failing(again, () => {
            const { dueInMs } = queue.stateOf("a");
            if (isWaited && dueInMs !== undefined) now += dueInMs;
            else queue.add("a", due());
          });
          const { attempt, dueInMs } = queue.stateOf("a");
          assert.equal(next, attempt);
          if (dueInMs === undefined || inMs === undefined) assert.equal(inMs, dueInMs);
          else assert.ok(Math.abs(inMs - dueInMs) < 1_000, `${inMs} ms, and not ${dueInMs} ms`);
        }
      });
});
