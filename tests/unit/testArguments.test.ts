import assert from "node:assert/strict";
import { CommandError } from "../../cli/commandError";
import { readTestArguments, testFilesIn } from "../../tools/testArguments";

const FOLDERS = ["tests/unit", "tests/integration"];

describe("cli: arguments of npm test", () => {
  const read = (args: string[], environment: NodeJS.ProcessEnv = {}) =>
    readTestArguments("test", FOLDERS, args, environment);

  it("may be none", () => {
    assert.deepEqual(read([]), { files: [], options: [] });
  });

  it("name tests, also by a word that is the name of a folder", () => {
    assert.deepEqual(read(["--grep", "handlers"]), { files: [], options: ["--grep=handlers"] });
    assert.deepEqual(read(["-g", "--x y", "--bail"]), { files: [], options: ["--grep=--x y", "--bail"] });
  });

  it("name files and folders, each file once", () => {
    const file = "tests/unit/testArguments.test.ts";
    assert.deepEqual(read([file]).files, [file]);
    assert.deepEqual(read([`./${file}`, file]).files, [file]);
    assert.deepEqual(read(["tests/unit/fuzz/"]).files, testFilesIn("tests/unit/fuzz"));
    assert.ok(read(["tests"]).files.length > 150);
    assert.ok(read(["tests"]).files.every((each) => !each.startsWith("tests/e2e")));
  });

  it("fail what is skipped in CI, where it would be tried nowhere", () => {
    assert.deepEqual(read(["--bail"], { CI: "true" }).options, ["--bail", "--forbid-pending"]);
    assert.deepEqual(readTestArguments("e2e", ["tests/e2e"], [], { CI: "true" }).options, []);
  });

  it("say how many files run at a time", () => {
    assert.equal(read(["--jobs", "3"]).jobs, 3);
  });

  for (const [what, args, expected] of [
    ["a file that is not there", ["tests/unit/none.test.ts"], /none\.test\.ts is no test file below/],
    ["a file that is no test", ["tests/reporter.ts"], /is no test file/],
    [
      "a test of the e2e",
      ["tests/e2e/up.test.ts"],
      /is no test file below tests\/unit or tests\/integration/,
    ],
    ["a folder without tests", ["handlers"], /--grep handlers runs the tests whose names match/],
    ["no number of jobs", ["--jobs", "0"], undefined],
    ["an option that there is not", ["--gerp", "queue"], undefined],
    ["an option without its value", ["--grep"], undefined],
  ] as const) {
    it(`are refused with ${what}`, () => {
      const { write } = process.stderr;
      const told: string[] = [];
      process.stderr.write = (text: string | Uint8Array) => told.push(String(text)) > 0;
      try {
        assert.throws(() => read([...args]), refusal(expected ?? /^$/));
      } finally {
        process.stderr.write = write;
      }
      // Where there is no message of ours, commander has written its own.
      if (!expected) assert.match(told.join(""), /^error: /);
    });
  }

  for (const [option, variable] of [
    ["--grep", "npm_config_grep"],
    ["-g", "npm_config_global"],
    ["--bail", "npm_config_bail"],
  ] as const) {
    it(`are refused where npm took ${option}, without "--" before it`, () => {
      assert.throws(
        () => read([], { [variable]: "true" }),
        refusal(new RegExp(`npm took ${option} .*write "--" before it.*npm test -- --grep`)),
      );
    });
  }

  function refusal(message: RegExp) {
    return (error: unknown) => {
      assert.ok(error instanceof CommandError, String(error));
      assert.equal(error.exitCode, 2);
      assert.match(error.message, message);
      return true;
    };
  }
});
