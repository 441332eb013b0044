import assert from "node:assert/strict";
import path from "node:path";
import { checkOperators } from "../../definition/checkOperators";
import { displayPath } from "../../definition/problems";
import type { JsonObject } from "../../runtime/base/objects";
import type { Operator } from "../../runtime/operator/definition";
import {
  addFiles,
  loadDefinition,
  problemsIn,
  widgetCrd,
  widgetDefinition,
  writeFolder,
} from "./operatorFolder";

describe("checkOperators", () => {
  let root: string;

  beforeEach(() => {
    root = writeFolder({});
  });

  const operator = (
    name: string,
    kind: string,
    names: JsonObject = {},
    group = "shop.example.com",
  ): Operator => {
    const plural = `${kind.toLowerCase()}s`;
    const crd = widgetCrd(
      { group, names: { kind, plural, ...names } },
      { metadata: { name: `${plural}.${group}` } },
    );
    const home = path.join(root, name);
    addFiles(home, { "crd.yaml": crd, "main.py": "" });
    return loadDefinition(home, { ...widgetDefinition, name: name.replace(/\d/, "") });
  };
  const clashes = (...operators: Operator[]): string[] =>
    problemsIn(() => checkOperators(operators)).map((problem) =>
      problem.replaceAll(`${displayPath(root)}/`, "").replace(/:\d+:\d+: /, ": "),
    );

  it("refuses a former name that another operator has", () => {
    const renamed = { ...operator("a", "Cup"), formerNames: ["b"] };
    const expected = [
      'a/operator.yaml: formerNames[0] is "b", which is the name of b/operator.yaml. Rename that operator, or leave this name out.',
    ];
    assert.deepStrictEqual(clashes(renamed, operator("b", "Pot")), expected);
    assert.deepStrictEqual(clashes(operator("b", "Pot"), renamed), expected);
    const elsewhere = { ...operator("a", "Cup"), formerNames: ["shop.b"] };
    assert.deepStrictEqual(clashes(elsewhere, operator("b", "Pot")), []);
  });

  it("refuses a former name that two operators give", () => {
    const one = { ...operator("a", "Cup"), formerNames: ["c"] };
    const two = { ...operator("b", "Pot"), formerNames: ["d", "argosy.c"] };
    assert.deepStrictEqual(clashes(one, two), [
      'b/operator.yaml: formerNames[1] is "argosy.c", which a/operator.yaml also gives. Keep it in one of the two.',
    ]);
  });

  it("lets one kind be in two groups", () => {
    const other = operator("b", "Cup", { shortNames: ["c"] }, "bar.example.com");
    assert.deepStrictEqual(clashes(operator("a", "Cup", { shortNames: ["c"] }), other), []);
  });

  const shared: [string, JsonObject, JsonObject, string][] = [
    ["a short name", { shortNames: ["c"] }, { shortNames: ["p", "c"] }, "c"],
    ["a short name that is the other's singular", {}, { shortNames: ["cup"] }, "cup"],
    ["a singular that is the other's plural", {}, { singular: "cups" }, "cups"],
    ["a kind", {}, { kind: "Cup", singular: "pot" }, "Cup"],
    ["a list kind", {}, { listKind: "CupList" }, "CupList"],
  ];
  for (const [what, ofOne, ofOther, name] of shared) {
    it(`refuses ${what} in one group`, () => {
      const found = clashes(operator("a", "Cup", ofOne), operator("b", "Pot", ofOther));
      const place = `b/operator.yaml: crd uses the name "${name}" in shop.example.com, as does a/operator.yaml.`;
      assert.ok(
        found.some((problem) => problem.startsWith(place)),
        found.join("\n"),
      );
    });
  }
});
