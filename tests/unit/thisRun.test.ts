import assert from "node:assert/strict";
import { thisRun } from "../../components/inCluster/thisRun";
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
    const first = at("one", thisRun);
    assert.notEqual(at("two", thisRun), first);
    assert.equal(at("one", thisRun), first);
  });

  it("is forgotten after many further runs in the same process", () => {
    const first = at("long ago", thisRun);
    for (let run = 0; run < 500; run++) at(`later ${run}`, thisRun);
    assert.equal(at("long ago", thisRun), first);
    for (let run = 500; run < 2_000; run++) at(`later ${run}`, thisRun);
    assert.notEqual(at("long ago", thisRun), first);
  });
});
