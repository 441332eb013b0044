import assert from "node:assert/strict";
import { mock } from "node:test";
import { Alarms } from "../../runtime/when/dueTimes";

const HOUR_MS = 3_600_000;

describe("Alarms", () => {
  let now: number;
  let due: string[];
  let alarms: Alarms;

  beforeEach(() => {
    mock.timers.enable({ apis: ["setTimeout"] });
    [now, due] = [Date.parse("2026-01-05T02:00:00Z"), []];
    alarms = new Alarms(
      (key) => void due.push(key),
      () => now,
    );
  });
  afterEach(() => {
    alarms.end();
    mock.timers.reset();
  });

  /** Time passes, for the process and on the wall. */
  function pass(ms: number, onWallMs = ms): void {
    for (let passed = 0; passed < ms; passed += 1_000) {
      now += (onWallMs * 1_000) / ms;
      mock.timers.tick(1_000);
    }
  }

  it("are due at their instants, each once, in order", () => {
    alarms.set("b", now + 2 * HOUR_MS);
    alarms.set("a", now + HOUR_MS);
    alarms.set("never", now + HOUR_MS);
    alarms.set("never", undefined);
    assert.equal(alarms.dueInMs("a"), HOUR_MS);
    pass(HOUR_MS - 1_000);
    assert.deepEqual(due, []);
    pass(1_000);
    assert.deepEqual(due, ["a"]);
    assert.equal(alarms.dueInMs("a"), undefined);
    pass(5 * HOUR_MS);
    assert.deepEqual(due, ["a", "b"]);
  });

  it("are a minute late at most if the machine slept, or the clock was set forward", () => {
    alarms.set("a", now + HOUR_MS);
    pass(60_000, HOUR_MS);
    assert.deepEqual(due, ["a"]);
  });

  it("are not due before their instant if the clock was set back", () => {
    alarms.set("a", now + HOUR_MS);
    pass(HOUR_MS, 0);
    assert.deepEqual(due, []);
    pass(HOUR_MS);
    assert.deepEqual(due, ["a"]);
  });

  it("may be set again by what is due", () => {
    alarms = new Alarms(
      (key) => {
        due.push(key);
        if (due.length < 3) alarms.set(key, now + 1_000);
      },
      () => now,
    );
    alarms.set("a", now);
    pass(10_000);
    assert.deepEqual(due, ["a", "a", "a"]);
  });
});
