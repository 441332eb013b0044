import assert from "node:assert/strict";
import * as pulumi from "@pulumi/pulumi";
import { thisRun } from "../../components/inCluster/thisRun";

describe("what is kept for one run of a program", () => {
  const { getMonitor, getEngine } = pulumi.runtime;
  let address = "";
  before(() => {
    const client = () => ({ getChannel: () => ({ getTarget: () => address }) });
    Object.assign(pulumi.runtime, { getMonitor: client, getEngine: client });
  });
  after(() => void Object.assign(pulumi.runtime, { getMonitor, getEngine }));

  /** In any run of a program: each has an address of its own. */
  const at = (run: string) => {
    address = run;
    return thisRun();
  };

  it("is the same for all clients of one address, and another one at another address", () => {
    const first = at("one");
    assert.notEqual(at("two"), first);
    assert.equal(at("one"), first);
  });

  it("is forgotten after many further runs in the same process", () => {
    const first = at("long ago");
    for (let run = 0; run < 500; run++) at(`later ${run}`);
    assert.equal(at("long ago"), first);
    for (let run = 500; run < 2_000; run++) at(`later ${run}`);
    assert.notEqual(at("long ago"), first);
  });
});
