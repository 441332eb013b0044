import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { addFiles } from "../unit/operatorFolder";
import { copyProject } from "../unit/support/projectCopy";

/** The worst that a user may put into handlers/. */
const BAD_FILES = {
  "memcached/main.py": 'def reconcile( r ):\n\traise "nothing"\n',
  "ugly/operator.yaml": "crd :   gone.yaml\n",
  "ugly/operator.ts": 'import {x} from "nowhere"\nexport default {  crd : "gone.yaml" }\n',
  "ugly/main.ts": 'var   y : number = "text"\nexport   function other( ) { }\n',
  "ugly/main.test.ts": 'it("fails", () => { throw 1 })\n',
  "ugly/settings.json": '{ "a":1,,',
  "ugly/README.md": '```ts\nconst a: number = "b";\n```\n[gone](gone.md) `npm run nothing`\n',
};

/**
 * Tests that read whatever is in the repository, or what is in its handlers/ by name. Of those that read all pages, one stands
 * for all: `support/pages.ts` gives each the same pages. Of those that run the program, one does too: `runStack` gives each the
 * same folder, with operators of the tests' own. The ones that copy the project take the copy's own handlers.
 */
const READS_THE_REPOSITORY = /ls-files|\b(ROOT|PROJECT), "handlers/;
const READS_THE_PAGES = "docs.test.ts";
const RUNS_THE_PROGRAM = "golden.test.ts";

describe("a repository whose handlers/", function () {
  this.timeout(240_000);
  let copy: string;

  before(() => {
    copy = copyProject();
    execFileSync("git", ["init", "--quiet"], { cwd: copy });
  });

  function runNode(...args: string[]): string {
    const options = { cwd: copy, encoding: "utf8", maxBuffer: 2 ** 26 } as const;
    const { status, stdout, stderr } = spawnSync(process.execPath, args, options);
    assert.equal(status, 0, stdout + stderr);
    return stdout;
  }

  /** Runs the tests that read the repository, and those that run the program. @param others @default none */
  function runTests(...others: string[]): void {
    const tests = path.join(copy, "tests/unit");
    const files = readdirSync(tests, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".test.ts"))
      .filter(
        (file) =>
          READS_THE_REPOSITORY.test(readFileSync(path.join(tests, file), "utf8")) ||
          [RUNS_THE_PROGRAM, ...others].includes(file),
      );
    for (const name of ["operatorSchema.test.ts", "site.test.ts", RUNS_THE_PROGRAM, ...others])
      assert.ok(files.includes(name), name);
    const paths = files.map((file) => path.join(tests, file));
    runNode("--conditions=@argosy-dev/source", "node_modules/mocha/bin/mocha.js", ...paths);
  }

  describe("has a broken Memcached and a badly formatted operator without fixtures", () => {
    before(() => addFiles(path.join(copy, "handlers"), BAD_FILES));

    it("passes the lint", () => {
      // tests/unit/lint.test.ts lints the other files: one stands for all.
      runNode("node_modules/@biomejs/biome/bin/biome", "check", "handlers", "index.ts");
    });

    it("has nothing in it that is type-checked", () => {
      // What these import is in no handlers/: tests/unit/layers.test.ts.
      const { files } = JSON.parse(runNode("node_modules/typescript/bin/tsc", "--showConfig"));
      assert.ok(files.includes("./index.ts"));
      assert.deepEqual(
        files.filter((file: string) => file.startsWith("./handlers")),
        [],
      );
    });

    it("passes the tests that read the repository, and those that run the program", () =>
      runTests(READS_THE_PAGES));

    it("has the Memcached that npm start plays with", () => {
      const script = `require("./cli/scene/memcachedOperator").memcachedOperator().folder`;
      const folder = runNode("--require", "tsx/cjs", "--print", script).trim();
      assert.equal(folder, path.join(copy, "examples/memcached"));
    });
  });

  describe("is removed", () => {
    it("passes the tests that read the repository, and those that run the program", () => {
      rmSync(path.join(copy, "handlers"), { recursive: true });
      runTests();
    });
  });
});
