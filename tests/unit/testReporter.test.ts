import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { PACKAGE_FOLDER } from "../../tools/packageFolder";
import { writeFolder } from "./operatorFolder";

/** Generous: a run takes some seconds on a quiet machine. */
const TIMEOUT_MS = 300_000;
const TYPESCRIPT = "--require=./cli/typescript.cjs";
const REPORTER = "--reporter=./tests/reporter.ts";

describe("the reporter of the tests", function () {
  this.timeout(TIMEOUT_MS);
  let folder: string;

  before(() => {
    folder = writeFolder({
      "fine.test.js": "it('is fine', () => {}); it.skip('is skipped', () => {});",
      "broken.test.js": `
        describe("a suite", () => it("is broken", () => {
          throw new Error("no disk", { cause: new Error("no power") });
        }));`,
      "hook.test.js":
        "describe('a suite', () => { before(() => { throw 1; }); it('is not run', () => {}); });",
      "late.test.js": `it("takes longer than it says", async function () {
        this.timeout(300);
        await new Promise((resolve) => setTimeout(resolve, 500));
      });`,
      "slow.test.js": "it('takes a while', (done) => void setTimeout(done, 500));",
      "unloadable.test.js": "const = 1;",
      "ends.test.js": "it('ends the process', () => process.exit(7));",
      "run.cjs": `
        const { endTests, runTests } = require("${PACKAGE_FOLDER}/tools/testRun.ts");
        const files = process.argv.slice(2);
        runTests({ title: "tests", files, jobs: 1, options: ["--no-config"] }).then(endTests);`,
      "lingers.test.js": "it('leaves a timer', () => void setInterval(() => {}, 1000));",
    });
  });

  /**
   * Runs Node in the project's folder.
   * @param env further variables
   */
  function node(args: readonly string[], names: readonly string[], env: NodeJS.ProcessEnv = {}) {
    const files = names.map((name) => path.join(folder, `${name}.test.js`));
    const { stdout, status } = spawnSync(process.execPath, [...args, ...files], {
      cwd: PACKAGE_FOLDER,
      encoding: "utf8",
      timeout: TIMEOUT_MS,
      // A continuous integration may ask for colours, in which the lines begin with an escape.
      env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: undefined, MOCHA_COLORS: undefined, ...env },
    });
    return { stdout, status, lines: stdout.trimEnd().split("\n") };
  }

  function assertFailure(stdout: string): void {
    assert.match(stdout, /\d\) \S*broken\.test\.js\n\s+a suite\n\s+is broken:/);
    assert.match(stdout, /Error: no power/);
    assert.equal(stdout.match(/Error: no disk/g)?.length, 1);
  }

  describe("of files that run side by side", () => {
    const files = ["fine", "broken", "late", "hook", "lingers", "unloadable", "ends"];
    const mocha = ["node_modules/mocha/bin/mocha.js", "--no-config", "--parallel", "--jobs=2"];
    const required = ["leftRunning", "patience"].map((name) => `--require=./tests/support/${name}.ts`);
    const options = [TYPESCRIPT, ...required, REPORTER];
    let result: ReturnType<typeof node>;
    before(() => {
      result = node([...mocha, ...options], files, { ARGOSY_TEST_LINGER_MS: "1000" });
    });

    it("reports a failure whole and with its file, the result last", () => {
      assert.deepEqual([result.status, result.lines.at(-1)], [5, "3 passed, 5 failed, 1 skipped"]);
      assertFailure(result.stdout);
    });

    it("gives each test more time than it asks for", () => {
      assert.match(result.stdout, /^✔ \S*late\.test\.js {2}1 passed/m);
    });

    it("tells of which file a hook has failed", () => {
      assert.match(result.stdout, /^✖ \S*hook\.test\.js {2}0 passed, 1 failed/m);
    });

    it("tells which file leaves something running", () => {
      assert.match(
        result.stdout,
        /lingers\.test\.js\n.*\n\s+AssertionError.*: is left running after the last test/,
      );
      assert.match(result.stdout, /Timeout/);
    });

    it("counts a file that cannot be loaded, or that ends its process, as failed, and goes on", () => {
      assert.match(result.stdout, /unloadable\.test\.js/);
      assert.match(result.stdout, /ends\.test\.js/);
    });

    for (const first of ["broken", "hook"])
      it(`ends with --bail after the failure of ${first}.test.js, though files wait`, () => {
        const { stdout, status, lines } = node([...mocha, ...options, "--bail"], [first, "slow", "fine"]);
        assert.equal(status, 1, stdout);
        assert.match(lines.at(-1) ?? "", /^[012] passed, 1 failed, [01] skipped$/);
      });
  });

  it("reports files that run one after the other: a failure whole and with its file, and again last, where it is seen", () => {
    const { stdout, lines } = node([TYPESCRIPT, path.join(folder, "run.cjs")], ["fine", "broken"], {
      MOCHA_OPTIONS: `${TYPESCRIPT} ${REPORTER}`,
    });
    assertFailure(stdout);
    const [failure, numbers] = lines.slice(-2);
    assert.match(failure ?? "", /^failed: \S*broken\.test\.js > a suite > is broken: no disk$/);
    assert.equal(numbers, "1 passed, 1 failed, 1 skipped");
    assert.deepEqual(stdout.match(/^\d+ passed, .*$/gm), [numbers]);
  });
});
