import assert from "node:assert/strict";
import { parseLedger, withoutKeys } from "../../tools/chaos/effects";

const entry = (key: string, value: number) => JSON.stringify({ key, value });

describe("what a chaos run's handler did outside", () => {
  it("is counted by its id, with the changes that it was done for", () => {
    const effects = parseLedger([entry("u/1", 3), entry("u/1", 3), entry("u/2", 4), '{"key":"u/'].join("\n"));
    assert.deepEqual(
      [...effects].map(([id, { acts, values }]) => [id, acts, [...values]]),
      [
        ["u/1", 2, [3]],
        ["u/2", 1, [4]],
      ],
    );
  });

  it("is told from what another form did before, which shares the ledger", () => {
    const before = parseLedger(entry("a/1", 1));
    const effects = parseLedger([entry("a/1", 1), entry("a/1", 1), entry("b/1", 1)].join("\n"));
    assert.deepEqual([...withoutKeys(effects, before).keys()], ["b/1"]);
  });
});
