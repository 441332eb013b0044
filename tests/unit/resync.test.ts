import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { Pace, Resync } from "../../runtime/when/resync";
import { eventually } from "../support/eventually";

const PERIOD_MS = 600_000;

describe("Resync", () => {
  /** The clock, in milliseconds, and what waits for it. */
  let now: number;
  let pauses: { readonly at: number; readonly end: () => void }[];
  let relisted: number;
  /** When each key was added. */
  let added: [key: string, at: number][];
  let keys: string[];
  /** How long the process has worked, and how much longer it works for each object. */
  let active: number;
  let costMs: number;
  let waiting: number;
  let resync: Resync;

  beforeEach(() => {
    [now, pauses, relisted, added, keys] = [0, [], 0, [], ["shop/a", "shop/b", "team/c"]];
    [active, costMs, waiting] = [0, 0, 0];
    resync = make();
  });
  afterEach(() => resync.stop());

  function make(more: Partial<ConstructorParameters<typeof Resync>[0]> = {}): Resync {
    const load = () => ({ active, idle: now - active });
    return new Resync({
      periodMs: PERIOD_MS,
      relist: async () => void relisted++,
      keys: () => keys,
      add: (key) => {
        added.push([key, now]);
        active += costMs;
        now += costMs;
      },
      pace: new Pace(
        () => waiting,
        load,
        () => now,
      ),
      now: () => now,
      pause: (ms, signal) =>
        new Promise((resolve, reject) => {
          pauses.push({ at: now + ms, end: resolve });
          if (signal.aborted) reject(new Error("stopped"));
          signal.onabort = () => reject(new Error("stopped"));
        }),
      ...more,
    });
  }

  /** Lets the time pass until this instant. */
  async function passUntil(end: number): Promise<void> {
    for (;;) {
      await nextTurn();
      const next = pauses.filter(({ at }) => at <= end).sort((one, other) => one.at - other.at)[0];
      if (!next) break;
      pauses = pauses.filter((each) => each !== next);
      now = Math.max(now, next.at);
      next.end();
    }
    now = Math.max(now, end);
  }

  /** The keys that were added since the last call, sorted. */
  function taken(): string[] {
    return added
      .splice(0)
      .map(([key]) => key)
      .sort();
  }

  it("adds every object once in each period, the first time after half of one", async () => {
    resync.start();
    await passUntil(PERIOD_MS / 2 - 1);
    assert.deepEqual([taken(), relisted], [[], 0]);
    await passUntil(PERIOD_MS);
    assert.deepEqual([taken(), relisted], [keys, 1]);
    await passUntil(1.5 * PERIOD_MS - 1);
    assert.deepEqual(taken(), []);
    await passUntil(2 * PERIOD_MS);
    assert.deepEqual([taken(), relisted], [keys, 2]);
  });

  it("spreads the objects, each at the same time of every period, whatever others come and go", async () => {
    keys = Array.from({ length: 1_000 }, (_, at) => `shop/object-${at}`);
    resync.start();
    await passUntil(PERIOD_MS);
    const before = new Map(added.splice(0));
    assert.equal(before.size, 1_000);
    const inFirstHalf = [...before.values()].filter((at) => at < PERIOD_MS / 2 + 120_000).length;
    assert.ok(Math.max(...before.values()) < PERIOD_MS);
    assert.ok(inFirstHalf > 400 && inFirstHalf < 600, `${inFirstHalf} of 1000 in the first half`);
    keys = keys.slice(500).reverse();
    await passUntil(2 * PERIOD_MS);
    assert.equal(added.length, 500);
    for (const [key, at] of added) assert.equal(at, (before.get(key) ?? 0) + PERIOD_MS);
  });

  it("takes at most half of the time, and longer for a round if that does not suffice", async () => {
    keys = Array.from({ length: 1_000 }, (_, at) => `shop/object-${at}`);
    costMs = 400;
    resync.start();
    await passUntil(PERIOD_MS);
    const share = active / (now - PERIOD_MS / 2);
    assert.ok(share > 0.4 && share <= 0.51, `${share} of the time`);
    assert.ok(resync.lateMs > 0);
    // 400 seconds of work take 800. The next round begins then.
    await passUntil(PERIOD_MS / 2 + 850_000);
    assert.deepEqual([relisted, new Set(taken()).size], [2, 1_000]);
    costMs = 0;
    await passUntil(10 * PERIOD_MS);
    assert.equal(resync.lateMs, 0);
  });

  it("adds an object only if none waits, and one each second if some always do", async () => {
    keys = Array.from({ length: 1_000 }, (_, at) => `shop/object-${at}`);
    waiting = 1;
    resync.start();
    await passUntil(PERIOD_MS / 2 + 100_000);
    assert.ok(added.length >= 90 && added.length <= 101, `${added.length} in 100 s`);
    waiting = 0;
    await passUntil(PERIOD_MS);
    assert.equal(added.length, 1_000);
  });

  for (const [how, relist] of [
    ["does not end", () => new Promise<void>(() => {})],
    ["fails", () => Promise.reject(new Error("no such kind"))],
  ] as const) {
    it(`adds every object in each round even if a list ${how}`, async () => {
      // The lists have a part of the real time.
      const periodMs = 100;
      const late = make({ periodMs, relist });
      late.start();
      for (let round = 1; round <= 3; round++) {
        await passUntil((round - 0.5) * periodMs);
        await eventually(async () => {
          await passUntil(now + 1);
          assert.equal(added.length, keys.length, `round ${round}`);
        });
        assert.deepEqual(taken(), keys);
        now = round * periodMs;
      }
      late.stop();
    });
  }

  it("adds nothing after it was stopped, and begins again when it is started", async () => {
    resync.start();
    resync.stop();
    await passUntil(PERIOD_MS);
    assert.deepEqual(taken(), []);
    resync.start();
    await passUntil(2 * PERIOD_MS);
    assert.deepEqual(taken(), keys);
  });

  it("adds nothing if it is stopped while everything is listed", async () => {
    const listing: { end?: () => void } = {};
    const slow = make({
      relist: () =>
        new Promise<void>((resolve) => {
          listing.end = resolve;
        }),
    });
    slow.start();
    await passUntil(PERIOD_MS / 2);
    assert.ok(listing.end);
    slow.stop();
    listing.end();
    await passUntil(2 * PERIOD_MS);
    assert.deepEqual(taken(), []);
  });
});

describe("Pace", () => {
  it("waits for whole milliseconds, whatever the clocks say, so that each wait takes time", () => {
    const times = fc.record({
      active: fc.double({ min: 0, max: 1e6, noNaN: true }),
      idle: fc.double({ min: 0, max: 1e6, noNaN: true }),
      now: fc.double({ min: 0, max: 1e6, noNaN: true }),
    });
    fc.assert(
      fc.property(times, times, fc.nat(2), (begun, later, waiting) => {
        let at = begun;
        const pace = new Pace(
          () => waiting,
          () => at,
          () => at.now,
        );
        pace.begin();
        at = later;
        assert.ok(Number.isInteger(pace.waitMs), `${pace.waitMs}`);
      }),
    );
  });
});
