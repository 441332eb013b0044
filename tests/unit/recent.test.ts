import assert from "node:assert/strict";
import { dropOldest, Recent } from "../../runtime/base/limits";

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

describe("dropOldest", () => {
  it("leaves those that were added last", () => {
    const set = new Set([1, 2, 3]);
    dropOldest(set, 3);
    assert.deepEqual([...set], [1, 2, 3]);
    dropOldest(set, 1);
    assert.deepEqual([...set], [3]);
    const map = new Map([
      ["a", 1],
      ["b", 2],
    ]);
    dropOldest(map, 1);
    assert.deepEqual([...map.keys()], ["b"]);
  });
});
