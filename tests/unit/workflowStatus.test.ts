import assert from "node:assert/strict";
import { hasBegun, statusOf } from "../../runtime/report/workflows";
import { observed } from "./support/objects";

const workflow = (status: unknown) => observed("Workflow", { status }, { name: "run" });

describe("what a Workflow's status says", () => {
  it("is nothing where a client wrote something else", () => {
    for (const status of [undefined, null, 3, "x", []]) assert.deepEqual(statusOf(workflow(status)), {});
    for (const nodes of [undefined, null, 3, "x", []]) {
      const said = workflow({ phase: "Failed", nodes });
      assert.deepEqual(statusOf(said), { phase: "Failed" });
      assert.equal(hasBegun(said), false);
    }
  });

  it("is of nodes only what is one", () => {
    const nodes = { a: null, b: { phase: "Running" }, c: "x" };
    const said = workflow({ nodes });
    assert.deepEqual(statusOf(said).nodes, { b: { phase: "Running" } });
    assert.equal(hasBegun(said), true);
  });
});
