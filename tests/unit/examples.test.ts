import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { runFixtures } from "../../cli/fixtures";
import { loadOperators } from "../../definition/loadOperators";

const ROOT = path.resolve(__dirname, "../..");

/** What is shipped for others to begin with. */
const FOLDERS = [
  "examples",
  "examples/deploy-notifier",
  "templates/python/handlers",
  "templates/typescript/handlers",
  "templates/yaml/handlers",
];

// What comes from a Secret in a cluster is taken from the author's environment. No fixture calls GitHub.
process.env["GITHUB_TOKEN"] ??= "none";

const operators = FOLDERS.flatMap((folder) =>
  loadOperators(path.join(ROOT, folder)).map((operator) => ({ folder, operator })),
);

for (const { folder, operator } of operators) {
  describe(`${folder}/${operator.name}`, () => {
    it("has fixtures, and its handler answers as they say", async () => {
      const results = await runFixtures(operator);
      assert.ok(results.length > 0);
      for (const { name, differences, failure } of results) {
        assert.equal(failure, undefined, name);
        assert.deepStrictEqual(differences, [], name);
      }
    });
  });
}

describe("the Memcached operator", () => {
  const linesOf = (file: string) =>
    readFileSync(path.join(ROOT, "examples/memcached", file), "utf8")
      .split("\n")
      .filter((line) => line.trim() !== "" && !/^\s*(#|\/\/)/.test(line)).length;

  it("is no longer than 38 lines of source, and 68 with its CRD", () => {
    const source = linesOf("operator.yaml") + linesOf("main.py");
    assert.ok(source <= 38, `${source} lines`);
    assert.ok(source + linesOf("crd.yaml") <= 68, `${source + linesOf("crd.yaml")} lines`);
  });
});
