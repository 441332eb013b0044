import assert from "node:assert/strict";
import { asCommandError, CommandError } from "../../cli/common/commandError";
import {
  isIntegration,
  LONG_FILES,
  readTestArguments,
  testCommand,
  testFilesIn,
} from "../../tools/testArguments";

const FOLDERS = ["tests/unit", "tests/package", "tests/integration"];

describe("cli: arguments of npm test", () => {
  /** What the arguments ask for. Commander's own complaints are thrown, not printed. */
  function read(args: string[], environment: NodeJS.ProcessEnv = {}, script = "test") {
    const command = testCommand(script)
      .exitOverride()
      .configureOutput({ writeErr: () => {} });
    return readTestArguments(command.parse(args, { from: "user" }), FOLDERS, environment);
  }

  it("may be none", () => {
    assert.deepEqual(read([]), { files: [], options: [], isChoice: false, isAll: false });
  });

  it("name tests, also by a word that is the name of a folder", () => {
    const byName = { files: [], isChoice: true, isAll: false };
    assert.deepEqual(read(["--grep", "handlers"]), { ...byName, options: ["--grep=handlers"] });
    assert.deepEqual(read(["-g", "--x y", "--bail"]), { ...byName, options: ["--grep=--x y", "--bail"] });
  });

  it("name files and folders, each file once", () => {
    const file = "tests/unit/testArguments.test.ts";
    assert.deepEqual(read([file]).files, [file]);
    assert.deepEqual(read([`./${file}`, file]).files, [file]);
    assert.deepEqual(read(["tests/unit/fuzz/"]).files, testFilesIn("tests/unit/fuzz"));
    assert.ok(read(["tests"]).files.length > 150);
    assert.ok(read(["tests"]).files.every((each) => !each.startsWith("tests/e2e")));
  });

  it("begin with the files that take longest, and then with those of which fewer run at a time", () => {
    const [all, long] = [testFilesIn(...FOLDERS), LONG_FILES.length];
    assert.deepEqual(all.slice(0, long).sort(), [...LONG_FILES].sort());
    const kinds = all.slice(long).map((file) => isIntegration(file));
    assert.ok(kinds.includes(true) && !kinds.slice(kinds.indexOf(false)).includes(true));
  });

  it("fail what is skipped in CI, where it would be tried nowhere", () => {
    assert.deepEqual(read(["--bail"], { CI: "true" }).options, ["--bail", "--forbid-pending"]);
    assert.deepEqual(read([], { CI: "true" }, "e2e").options, []);
  });

  it("say how many files run at a time, and whether all tests run, without a choice of tests", () => {
    const { jobs, isAll, isChoice, options } = read(["--jobs", "3", "--all", "--bail"]);
    assert.deepEqual([jobs, isAll, isChoice, options], [3, true, false, ["--bail"]]);
    assert.equal(read(["tests/unit"]).isChoice, true);
    assert.throws(() => read(["--all"], {}, "e2e"), /unknown option '--all'/);
  });

  for (const [what, args, expected] of [
    ["a file that does not exist", ["tests/unit/none.test.ts"], /none\.test\.ts is not a test file below/],
    ["a file that is no test", ["tests/reporter.ts"], /is not a test file/],
    [
      "a test of the e2e",
      ["tests/e2e/up.test.ts"],
      /is not a test file below tests\/unit or tests\/package or tests\/integration/,
    ],
    ["a folder without tests", ["docs"], /To run the tests whose names match: npm test -- --grep docs$/],
    ["no number of jobs", ["--jobs", "0"], /option '--jobs <number>' .* It must be a whole number above 0/],
    ["no time", ["--timeout", "soon"], /option '--timeout <ms>' .* It must be a whole number above 0/],
    ["an option that there is not", ["--gerp", "queue"], /unknown option '--gerp'.*Did you mean --grep/s],
    ["an option without its value", ["--grep"], /option '-g, --grep <pattern>' argument missing/],
  ] as const) {
    it(`are refused with ${what}`, () => {
      assert.throws(
        () => read([...args]),
        (error: unknown) => {
          const refusal = asCommandError(error);
          assert.ok(refusal instanceof CommandError, String(error));
          assert.equal(refusal.exitCode, 2);
          assert.match((error as Error).message, expected);
          return true;
        },
      );
    });
  }
});
