import assert from "node:assert/strict";
import { CUT, cutBytes } from "../../runtime/base/text";

describe("cutBytes", () => {
  it("leaves a text alone that is short enough", () => {
    assert.equal(cutBytes("größe", 7), "größe");
  });

  it("cuts a longer one between two characters, and shows it within the limit", () => {
    assert.equal(cutBytes("größe", 6), `gr${CUT}`);
    assert.equal(cutBytes("🚢🚢", 7), `🚢${CUT}`);
    assert.equal(cutBytes("🚢🚢", 6), CUT);
    assert.equal(cutBytes("x".repeat(2_000), 1_024), `${"x".repeat(1_021)}${CUT}`);
  });
});
