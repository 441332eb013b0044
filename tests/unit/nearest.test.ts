import assert from "node:assert/strict";
import { nearest } from "../../definition/nearest";

describe("the word that was likely meant", () => {
  const cases: [word: string, candidates: string[], meant: string | undefined][] = [
    ["childs", ["crd", "children"], "children"],
    ["knd", ["apiVersion", "kind"], "kind"],
    ["ON", ["on"], "on"],
    ["o", ["on"], "on"],
    ["1", ["on", "crd"], undefined],
    ["postgres", ["memcached"], undefined],
    ["", ["on"], undefined],
    ["cache", [], undefined],
  ];
  for (const [word, candidates, meant] of cases) {
    it(`is ${meant ?? "none"} for "${word}" of ${candidates.join(", ") || "none"}`, () => {
      assert.equal(nearest(word, candidates), meant);
    });
  }
});
