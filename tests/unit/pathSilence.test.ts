import assert from "node:assert/strict";
import { PathSilence } from "../../runtime/programs/resident/hints";

describe("PathSilence", () => {
  let now: number;
  let path: PathSilence;
  beforeEach(() => {
    now = 1_000;
    path = new PathSilence(() => now);
  });

  /** A change that the watch reports, this many seconds after the one before. */
  function changed(version: number, afterSeconds = 0): number {
    now += afterSeconds * 1_000;
    path.changed(String(version));
    return path.seconds;
  }

  it("is as long as changes have come without a hint, and grows with each change", () => {
    assert.deepEqual([changed(7), changed(8, 40), changed(9, 50)], [0, 40, 90]);
  });

  it("ends with a hint of any object, which need not name a version", () => {
    for (const version of ["9", undefined]) {
      changed(10);
      assert.equal(changed(11, 40), 40);
      path.hinted(version);
      assert.equal(path.seconds, 0);
    }
    assert.equal(changed(12, 60), 0);
  });

  it("does not begin with a change that its hint has told before the watch", () => {
    for (const version of [7, 8, 9]) {
      path.hinted(String(version));
      assert.equal(changed(version, 60), 0);
    }
    assert.equal(changed(100, 60), 0);
  });

  it("is none while hints come, however late", () => {
    for (let at = 0; at < 100; at++) {
      changed(100 + at, 60);
      path.hinted(String(50 + at));
      assert.equal(path.seconds, 0);
    }
  });

  it("does not grow while nothing changes, as if a single event was lost", () => {
    changed(7);
    now += 3_600_000;
    assert.equal(path.seconds, 0);
  });
});
