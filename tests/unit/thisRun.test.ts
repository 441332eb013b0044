import assert from "node:assert/strict";
import * as pulumi from "@pulumi/pulumi";
import { onceForEachRun } from "../../components/thisRun";

describe("what is kept for one run of a program", () => {
  const { getMonitor, getEngine } = pulumi.runtime;
  let address = "";
  beforeEach(() => {
    const client = () => ({ getChannel: () => ({ getTarget: () => address }) });
    Object.assign(pulumi.runtime, { getMonitor: client, getEngine: client });
  });
  afterEach(() => void Object.assign(pulumi.runtime, { getMonitor, getEngine }));

  const at = <Result>(place: string, act: () => Result): Result => {
    address = place;
    return act();
  };

  it("is the same for all clients of one address, and another one at another address", () => {
    const kept = onceForEachRun(() => ({}));
    const first = at("one", kept);
    assert.notEqual(at("two", kept), first);
    assert.equal(at("one", kept), first);
    assert.notEqual(
      at(
        "one",
        onceForEachRun(() => ({})),
      ),
      first,
    );
  });

  it("is forgotten after many further runs in the same process", () => {
    const kept = onceForEachRun(() => ({}));
    const first = at("long ago", kept);
    for (let run = 0; run < 10; run++) at(`later ${run}`, kept);
    assert.equal(at("long ago", kept), first);
    for (let run = 10; run < 100; run++) at(`later ${run}`, kept);
    assert.notEqual(at("long ago", kept), first);
  });
});
