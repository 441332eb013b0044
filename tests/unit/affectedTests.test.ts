import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { renameSync, rmSync } from "node:fs";
import path from "node:path";
import { affectedTests, changedFiles, type FileUsers, readFileUsers } from "../../tools/affectedTests";
import { LONG_FILES, testFilesIn } from "../../tools/testArguments";
import { addFiles, writeFolder } from "./operatorFolder";
import { assertNone } from "./support/lists";

const TESTS = testFilesIn("tests/unit", "tests/integration", "tests/package");
/** They read the whole repository. */
const ALWAYS = [
  ...["types", "lint", "docs", "site"].map((name) => `tests/unit/${name}.test.ts`),
  "tests/package/handlersFolder.test.ts",
];
const OF_PACKAGE = "tests/package/library.test.ts";
const NEW = "runtime/base/new.ts";
/** A whole string would be a use of it. */
const UNKNOWN = ["unknown", "txt"].join(".");
const STACK = ["Pulumi", "dev", "yaml"].join(".");
const OTHER = "tests/unit/nearest.test.ts";

describe("the tests that a change can reach", () => {
  let users: FileUsers;
  before(function () {
    this.timeout(60_000);
    users = readFileUsers([NEW, UNKNOWN]);
  });

  for (const [what, changed, reached] of [
    ["of themselves", OTHER, [OTHER]],
    ["by an import", "tools/testArguments.ts", ["tests/unit/testArguments.test.ts"]],
    ["by an import of an import", "runtime/when/dueTimes.ts", ["tests/integration/engineArgo.test.ts"]],
    ["by an import of a folder", "cli/commands/types.ts", ["tests/unit/cliTypes.test.ts"]],
    ["by the package's name", "components/operators.ts", ["tests/unit/configuration.test.ts"]],
    ["by a path in a string", "docs/deploy.md", ["tests/unit/packages.test.ts"]],
    ["by a folder's path", "examples/memcached/main.py", ["tests/unit/examples.test.ts"]],
    ["by a stack's name", STACK, ["tests/unit/badInput.test.ts"]],
    ["by the rules for each file of a folder", NEW, ["tests/unit/layers.test.ts"]],
    ["by a program that they start", "tools/bootstrap.mjs", ["tests/unit/cliBootstrap.test.ts"]],
  ] as const) {
    it(`${what}: ${changed}`, () => {
      const { tests, reachesAll } = affectedTests([changed], TESTS, users);
      assert.equal(reachesAll, undefined);
      assertNone([...reached, ...ALWAYS], (test) => !tests.includes(test));
      assert.equal(tests.includes(OTHER), changed === OTHER);
      assert.equal(tests.includes(OF_PACKAGE), !/^(tests|docs)\//.test(changed));
      assert.ok(tests.length < TESTS.length);
      if (changed.startsWith("docs/")) assert.ok(tests.length < 30, tests.join("\n"));
    });
  }

  it("begin with those that use a changed file directly", () => {
    const { tests } = affectedTests(["runtime/when/dueTimes.ts", OTHER], TESTS, users);
    const [firstOfOthers] = LONG_FILES;
    const before = tests.slice(0, tests.indexOf(String(firstOfOthers)));
    assertNone(["tests/unit/dueTimes.test.ts", OTHER], (test) => !before.includes(test));
  });

  for (const file of ["package-lock.json", "tsconfig.json", "tests/support/patience.ts", UNKNOWN]) {
    it(`are all, because of ${file}`, () => {
      assert.deepEqual(affectedTests([OTHER, file], TESTS, users), { tests: TESTS, reachesAll: file });
    });
  }
});

describe("the changed files", () => {
  let folder: string;
  const git = (...args: string[]) => execFileSync("git", args, { cwd: folder, stdio: "ignore" });
  before(() => {
    folder = writeFolder({ "kept.ts": "1", "edited.ts": "1", "gone.ts": "1", "former.ts": "1" });
  });

  it("are unknown without a repository", () => assert.equal(changedFiles(folder), undefined));

  it("are those that differ from the last commit, under the present and the former name, and those that are not tracked", () => {
    const author = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"];
    git("init");
    git("add", ".");
    git(...author, "commit", "-m", "a");
    assert.deepEqual(changedFiles(folder), []);
    addFiles(folder, { "edited.ts": "2", "new folder/ä.ts": "1" });
    rmSync(path.join(folder, "gone.ts"));
    renameSync(path.join(folder, "former.ts"), path.join(folder, "renamed.ts"));
    git("add", "renamed.ts", "former.ts");
    assert.deepEqual(changedFiles(folder)?.sort(), [
      "edited.ts",
      "former.ts",
      "gone.ts",
      "new folder/ä.ts",
      "renamed.ts",
    ]);
  });
});
