import assert from "node:assert/strict";
import { HeapBudget } from "../../runtime/when/workers";

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
