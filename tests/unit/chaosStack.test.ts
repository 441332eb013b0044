import assert from "node:assert/strict";
import { lastErrorOf } from "../../tools/chaos/inCluster/stack";

describe("what Pulumi says of an up that failed", () => {
  const said = (...lines: string[]) => lastErrorOf({ message: lines.join("\n") });

  it("is its last error", () => {
    const text = said(
      "error: one",
      "  error: 1 error occurred:",
      "* two",
      "  error: the API server is away",
      "done",
    );
    assert.equal(text, "error: the API server is away");
  });

  it("is why the program failed, where it has", () => {
    const text = said("error: Running program 'index.ts' failed:", "  Error: Expected )", "    at a.ts:1");
    assert.equal(text, "error: Running program 'index.ts' failed: Error: Expected )");
  });

  it("is its last line where it reports none, and never nothing", () => {
    assert.equal(said("code: -2", "killed", ""), "killed");
    assert.equal(said(""), "");
  });
});
