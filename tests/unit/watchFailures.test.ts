import assert from "node:assert/strict";
import { ApiError, ApiUnreachableError } from "../../runtime/kubernetes/errors";
import { type Step, WatchFailures } from "../../runtime/observe/watchFailures";

const SIGNAL = new AbortController().signal;

function refusal(code: number, message = "no", reason?: string): ApiError {
  return new ApiError(code, { message, ...(reason !== undefined && { reason }) }, "GET");
}

const UNCACHED = refusal(429, "storage is (re)initializing: the conversion webhook failed");
const TOO_NEW = refusal(504, "Too large resource version", "Timeout");
const CUT = new ApiUnreachableError("GET", new Error("cut"));
const AWAY = new ApiUnreachableError("GET", new Error("refused"), false);
const UNREADABLE = new TypeError("the list has no metadata");

describe("what a reflector does after an error", () => {
  let now: number;
  let answersOthers: boolean;
  let failures: WatchFailures;
  beforeEach(() => {
    [now, answersOthers] = [0, true];
    failures = new WatchFailures(
      async () => answersOthers,
      () => now,
    );
  });

  function outcome(error: Error, step: Step, wasListed = true) {
    return failures.afterFailure(error, step, wasListed, SIGNAL);
  }

  /** What it does at these times, in seconds. */
  async function at(seconds: readonly number[], error: Error, step: Step, wasListed = true) {
    const done = [];
    for (const each of seconds) {
      now = each * 1_000;
      done.push(await outcome(error, step, wasListed));
    }
    return done;
  }

  const table: [what: string, error: Error, list: string, watch: string][] = [
    ["a missing right", refusal(403), "refused", "relist"],
    ["a missing kind", refusal(404), "refused", "refused"],
    ["a kind that cannot be watched", refusal(405), "retry", "relist"],
    ["a version that is too old", refusal(410), "relist", "relist"],
    ["too many requests", refusal(429), "retry", "retry"],
    ["a cache that cannot be filled", UNCACHED, "retry", "retry"],
    ["a version that is newer than any", TOO_NEW, "relist", "relist"],
    ["a busy gateway", refusal(504), "retry", "retry"],
    ["any other answer", refusal(500), "retry", "retry"],
    ["no answer", CUT, "retry", "retry"],
    ["an answer that cannot be read", UNREADABLE, "retry", "retry"],
    ["a request that could not be sent", AWAY, "retry", "retry"],
  ];
  for (const [what, error, list, watch] of table)
    it(`follows from the table for ${what}`, async () => {
      assert.deepEqual([await outcome(error, "list"), await outcome(error, "watch")], [list, watch]);
    });

  const lasting: [what: string, error: Error, list: string, watch: string][] = [
    ["a kind that cannot be watched", refusal(405), "refused", "relist"],
    ["a version that is too old", refusal(410), "refused", "relist"],
    ["too many requests", refusal(429), "retry", "relist"],
    ["a cache that cannot be filled", UNCACHED, "refused", "relist"],
    ["a version that is newer than any", TOO_NEW, "refused", "relist"],
    ["any other answer", refusal(500), "refused", "relist"],
    ["an API that is down", refusal(503), "refused", "relist"],
    ["no answer", CUT, "refused", "retry"],
    ["an answer that cannot be read", UNREADABLE, "refused", "retry"],
    ["a request that could not be sent", AWAY, "retry", "retry"],
  ];
  for (const [what, error, list, watch] of lasting)
    it(`follows from the table for ${what}, if that lasts for two minutes`, async () => {
      const times = [0, 60, 120];
      assert.equal((await at(times, error, "list")).at(-1), list);
      assert.equal((await at(times, error, "watch")).at(-1), watch);
    });

  it("concludes something after ten seconds if the kind was never listed, and three failures", async () => {
    assert.deepEqual(await at([0, 9, 10], refusal(500), "list", false), ["retry", "retry", "refused"]);
    failures.listed();
    assert.deepEqual(await at([20, 40], refusal(500), "list", false), ["retry", "retry"]);
    failures.listed();
    assert.deepEqual(await at([50, 100, 169, 170], refusal(500), "list"), [
      "retry",
      "retry",
      "retry",
      "refused",
    ]);
  });

  it("concludes nothing if the API server lists no other kind", async () => {
    answersOthers = false;
    assert.deepEqual(await at([0, 60, 120, 600], refusal(500), "list"), Array(4).fill("retry"));
  });

  it("begins to count again after a list, and after the API server was away", async () => {
    const listsNoOther = async () => {
      answersOthers = false;
      await at([120], CUT, "list");
      answersOthers = true;
    };
    for (const end of [() => failures.listed(), () => outcome(AWAY, "list"), listsNoOther]) {
      await at([0, 60], refusal(500), "list");
      await end();
      assert.deepEqual(await at([120, 180, 239, 240], refusal(500), "list"), [
        "retry",
        "retry",
        "retry",
        "refused",
      ]);
      failures.listed();
    }
  });

  it("begins to count failing watches anew after an event, and after each list that follows from them", async () => {
    await at([0, 60], refusal(500), "watch");
    failures.watched();
    assert.deepEqual(await at([120, 239, 240, 241, 360, 361], refusal(500), "watch"), [
      "retry",
      "retry",
      "relist",
      "retry",
      "retry",
      "relist",
    ]);
  });
});
