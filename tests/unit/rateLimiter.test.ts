import assert from "node:assert/strict";
import { KeyedRateLimiter } from "../../runtime/base/limits";

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
