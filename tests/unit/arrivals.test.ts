import assert from "node:assert/strict";
import { Arrivals } from "../../runtime/work/arrivals";

describe("what brings an object to a run", () => {
  let now: number;
  let arrivals: Arrivals;
  beforeEach(() => {
    now = 100;
    arrivals = new Arrivals(() => now);
  });

  it("is the first of equal things, and the most reporting several", () => {
    arrivals.note("a", "child");
    now = 110;
    arrivals.note("a", "watch");
    now = 120;
    arrivals.note("a", "watch");
    arrivals.note("a", "child");
    now = 150;
    assert.deepEqual(arrivals.take("a", 1, 130), { cause: "watch", at: 110, readyAt: 130, takenAt: 150 });
  });

  it("counts for one run, and is forgotten with its object", () => {
    arrivals.note("a", "hint");
    arrivals.note("b", "hint");
    arrivals.forget("b");
    assert.equal(arrivals.take("a", 1, 100).cause, "hint");
    assert.deepEqual(arrivals.take("a", 1, 100), { cause: "time", readyAt: 100, takenAt: 100 });
    assert.equal(arrivals.take("a", 2, 100).cause, "retry");
    assert.equal(arrivals.take("b", 1, 100).cause, "time");
    arrivals.note("a", "hint");
    arrivals.clear();
    assert.equal(arrivals.take("a", 1, 100).cause, "time");
  });

  it("never had its turn after it came", () => {
    assert.deepEqual(arrivals.take("a", 1, 170), { cause: "time", readyAt: 100, takenAt: 100 });
  });

  it("takes no more memory than that of ten thousand objects", () => {
    for (let at = 0; at < 20_000; at++) arrivals.note(`key-${at}`, "hint");
    assert.equal(arrivals.take("key-0", 1, 0).cause, "time");
    assert.equal(arrivals.take("key-10000", 1, 0).cause, "hint");
    assert.equal(arrivals.take("key-19999", 1, 0).cause, "hint");
  });
});
