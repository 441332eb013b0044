import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Resync } from "../../runtime/when/resync";
import { eventually } from "../support/eventually";

describe("Resync", () => {
  /** The pauses that are waited for: how long, and how they are ended. */
  let pauses: { ms: number; end: () => void }[];
  let relisted: number;
  let added: Map<string, number>;
  let keys: string[];
  let options: ConstructorParameters<typeof Resync>[0];
  let resync: Resync;

  beforeEach(() => {
    [pauses, relisted, added, keys] = [[], 0, new Map(), ["shop/a", "shop/b", "team/c"]];
    options = {
      periodMs: 600_000,
      relist: async () => void relisted++,
      keys: () => keys,
      add: (key, afterMs) => void added.set(key, afterMs),
      pause: (ms, signal) =>
        new Promise((resolve, reject) => {
          pauses.push({ ms, end: resolve });
          signal.addEventListener("abort", () => reject(new Error("stopped")));
        }),
    };
    resync = new Resync(options);
  });
  afterEach(() => resync.stop());

  /** Lets the pause in progress end. */
  async function pass(): Promise<void> {
    pauses.at(-1)?.end();
    await nextTurn();
  }

  it("adds every object once in each period, the first time after half of one", async () => {
    resync.start();
    assert.deepEqual(
      pauses.map(({ ms }) => ms),
      [300_000],
    );
    await pass();
    assert.deepEqual([[...added.keys()], relisted], [keys, 1]);
    added.clear();
    await pass();
    assert.equal(added.size, 0);
    await pass();
    assert.deepEqual([[...added.keys()], relisted], [keys, 2]);
    assert.equal(
      pauses.slice(0, 3).reduce((sum, { ms }) => sum + ms, 0),
      900_000,
    );
  });

  it("spreads the objects, each at the same time of every period, whatever others come and go", async () => {
    keys = Array.from({ length: 1_000 }, (_, at) => `shop/object-${at}`);
    resync.start();
    await pass();
    const before = new Map(added);
    const times = [...before.values()];
    const inFirstHalf = times.filter((ms) => ms < 120_000).length;
    assert.ok(Math.min(...times) >= 0 && Math.max(...times) < 300_000);
    assert.ok(inFirstHalf > 400 && inFirstHalf < 600, `${inFirstHalf} of 1000 in the first half`);
    keys = keys.slice(500).reverse();
    added.clear();
    await pass();
    await pass();
    for (const [key, ms] of added) assert.equal(ms, before.get(key));
  });

  for (const [how, relist] of [
    ["does not end", () => new Promise<void>(() => {})],
    ["fails", () => Promise.reject(new Error("no such kind"))],
  ] as const) {
    it(`adds every object in each period even if a list ${how}`, async () => {
      const late = new Resync({ ...options, periodMs: 100, relist });
      late.start();
      for (let period = 1; period <= 3; period++) {
        await pass();
        await eventually(() => assert.deepEqual([...added.keys()], keys, `period ${period}`));
        added.clear();
        await pass();
      }
      late.stop();
    });
  }

  it("adds nothing after it was stopped, and begins again when it is started", async () => {
    resync.start();
    resync.stop();
    await pass();
    assert.equal(added.size, 0);
    resync.start();
    await pass();
    assert.equal(added.size, 3);
  });

  it("adds nothing if it is stopped while everything is listed", async () => {
    const listing: { end?: () => void } = {};
    const slow = new Resync({
      periodMs: 1_000,
      relist: () =>
        new Promise<void>((resolve) => {
          listing.end = resolve;
        }),
      keys: () => keys,
      add: (key, afterMs) => void added.set(key, afterMs),
      pause: async () => {},
    });
    slow.start();
    await nextTurn();
    slow.stop();
    listing.end?.();
    await nextTurn();
    assert.equal(added.size, 0);
  });
});
