import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { readFixtures } from "../../cli/fixtures/fixture";
import { runFixtures } from "../../cli/fixtures/runFixtures";
import { loadOperator } from "../../definition/loadOperator";
import { loadOperators } from "../../definition/loadOperators";
import { assertEach } from "./support/lists";

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

/** The lines of a file, without empty ones and comments. */
const linesOf = (file: string) =>
  readFileSync(path.join(ROOT, "examples", file), "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "" && !/^\s*(#|\/\/|\/?\*)/.test(line)).length;

describe("the numbered examples", () => {
  const LANGUAGES: Readonly<Record<string, string>> = {
    "main.py": "Python",
    "main.ts": "TypeScript",
    "main.js": "JavaScript",
    "main.sh": "Bash, jq",
    "main.pl": "Perl",
  };
  const folders = readdirSync(path.join(ROOT, "examples")).filter((name) => /^\d/.test(name));
  const handlerOf = (folder: string) => {
    const found = readdirSync(path.join(ROOT, "examples", folder)).filter((file) => file in LANGUAGES);
    assert.equal(found.length, 1, folder);
    return String(found[0]);
  };

  it("are those of the table in their README, with language and lines", () => {
    const readme = readFileSync(path.join(ROOT, "examples/README.md"), "utf8");
    const rows = readme
      .split("\n")
      .filter((line) => /^\| \[\d/.test(line))
      .map((line) => line.split("|").map((cell) => cell.trim()));
    const found = folders.map((folder) => {
      const handler = handlerOf(folder);
      return [
        `[${folder.slice(0, 2)}](${folder})`,
        LANGUAGES[handler],
        String(linesOf(`${folder}/${handler}`)),
      ];
    });
    assertEach(rows, ([, link, , language, lines]) => [link, language, lines], found);
    assert.ok(rows.every(([, , shows]) => shows !== undefined && shows.length > 10));
  });

  it("are counted from 1 without a gap", () => {
    const numbers = folders.map((folder) => Number(folder.slice(0, 2)));
    assert.deepEqual(
      numbers,
      folders.map((_, index) => index + 1),
    );
    assert.ok(numbers.length >= 13);
  });

  it("begin with objects that do not claim one name for their children", () => {
    const names = loadOperators(path.join(ROOT, "examples")).map(({ folder }) => {
      const [first] = readFixtures(folder);
      return (first?.object.metadata as { name: string } | undefined)?.name;
    });
    assert.equal(new Set(names).size, names.length, names.join());
  });

  it("are small: a handler of 10 to 40 lines, a README of 3 to 12", () => {
    for (const folder of folders) {
      const lines = linesOf(`${folder}/${handlerOf(folder)}`);
      assert.ok(lines >= 10 && lines <= 40, `${folder}: ${lines} lines`);
      const readme = path.join(ROOT, "examples", folder, "README.md");
      assert.ok(existsSync(readme), folder);
      const length = readFileSync(readme, "utf8").trim().split("\n").length;
      assert.ok(length >= 3 && length <= 12, `${folder}: a README of ${length} lines`);
    }
  });

  it("are named as their folders, and each is in order by itself", () => {
    for (const folder of folders) {
      const { name } = loadOperator(path.join(ROOT, "examples", folder));
      assert.equal(name, folder.replace(/^\d\d-/, ""));
    }
  });
});

describe("the Memcached operator", () => {
  it("is no longer than 38 lines of source, and 68 with its CRD", () => {
    const source = linesOf("memcached/operator.yaml") + linesOf("memcached/main.py");
    assert.ok(source <= 38, `${source} lines`);
    assert.ok(
      source + linesOf("memcached/crd.yaml") <= 68,
      `${source + linesOf("memcached/crd.yaml")} lines`,
    );
  });
});
