import assert from "node:assert/strict";
import fc from "fast-check";
import { Allowance, KeyedRateLimiter, Recent } from "../../runtime/base/limits";

describe("Allowance", () => {
  it("lets go of what was taken longest ago, and of no more than it must", () => {
    const gone: string[] = [];
    const allowance = new Allowance<string>(10, (holder) => gone.push(holder));
    for (const holder of ["a", "b", "c"]) allowance.hold(holder, 3);
    allowance.hold("a", 3);
    assert.deepEqual(gone, []);
    allowance.hold("d", 3);
    assert.deepEqual(gone, ["b"]);
  });

  it("never lets more be held than allowed, but for the newest alone", () => {
    const step = fc.record({ holder: fc.nat(9), length: fc.option(fc.nat(60)) });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const held = new Map<number, number>();
        const allowance = new Allowance<number>(100, (holder) => held.delete(holder));
        for (const { holder, length } of steps) {
          held.delete(holder);
          if (length === null) allowance.release(holder);
          else {
            held.set(holder, length);
            allowance.hold(holder, length);
          }
          const total = [...held.values()].reduce((sum, each) => sum + each, 0);
          assert.ok(total <= 100 || held.size === 1, `${total} of ${held.size}`);
        }
      }),
    );
  });
});

describe("recent values", () => {
  let now: number;
  let recent: Recent<string>;

  beforeEach(() => {
    now = 0;
    recent = new Recent({ keptMs: 100, most: 2, now: () => now });
  });

  it("are remembered for their time", () => {
    recent.set("a", "1");
    now = 99;
    assert.equal(recent.get("a"), "1");
    now = 100;
    assert.equal(recent.get("a"), undefined);
  });

  it("are remembered for longer if they are set again", () => {
    recent.set("a", "1");
    now = 50;
    recent.set("b", "2");
    now = 60;
    recent.set("a", "3");
    now = 155;
    recent.set("c", "4");
    assert.deepEqual([recent.get("a"), recent.get("b"), recent.get("c")], ["3", undefined, "4"]);
  });

  it("are the latest if there are too many", () => {
    for (const key of ["a", "b", "a", "c"]) recent.set(key, key);
    assert.deepEqual([recent.get("a"), recent.get("b"), recent.get("c")], ["a", undefined, "c"]);
  });
});

describe("KeyedRateLimiter", () => {
  it("lets a burst pass, then one each time, for every key by itself", () => {
    let now = 0;
    const limiter = new KeyedRateLimiter({ burst: 3, refillMs: 1_000 }, () => now);
    const waits = () => [1, 2, 3, 4].map(() => limiter.tryAccept("a"));
    assert.deepStrictEqual(waits(), [0, 0, 0, 1_000]);
    assert.equal(limiter.tryAccept("b"), 0);
    now += 1_000;
    assert.deepStrictEqual([limiter.tryAccept("a"), limiter.tryAccept("a")], [0, 1_000]);
    now += 60_000;
    assert.deepStrictEqual(waits(), [0, 0, 0, 1_000]);
  });
});
