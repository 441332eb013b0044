import assert from "node:assert/strict";
import { onceForEachRun } from "../../components/thisRun";
import { fakeRuns } from "./support/fakeRuns";

describe("what is kept for one run of a program", () => {
  let runs: ReturnType<typeof fakeRuns>;
  beforeEach(() => {
    runs = fakeRuns();
  });
  afterEach(() => runs.restore());

  const at = <Result>(address: string, act: () => Result): Result => {
    runs.enter(address);
    return act();
  };

  it("is the same for all clients of one address, and another one at another address", () => {
    const kept = onceForEachRun("test", () => ({}));
    const first = at("one", kept);
    assert.notEqual(at("two", kept), first);
    assert.equal(at("one", kept), first);
    const another = onceForEachRun("another", () => ({}));
    assert.notEqual(at("one", another), first);
  });

  it("is forgotten after many further runs in the same process", () => {
    const kept = onceForEachRun("test", () => ({}));
    const first = at("long ago", kept);
    for (let run = 0; run < 500; run++) at(`later ${run}`, kept);
    assert.equal(at("long ago", kept), first);
    for (let run = 500; run < 2_000; run++) at(`later ${run}`, kept);
    assert.notEqual(at("long ago", kept), first);
  });
});
