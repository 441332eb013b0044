import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { addFiles } from "../unit/operatorFolder";
import { copyProject } from "../unit/support/projectCopy";

const REMOVED = "is removed";
/** What a user may do to handlers/, one after the other in the same copy of the repository: the code is compiled only once. */
const EDITS: Readonly<Record<string, (handlers: string) => void>> = {
  "has a broken Memcached and a badly formatted operator without fixtures": (handlers) =>
    addFiles(handlers, {
      "memcached/main.py": 'def reconcile( r ):\n\traise "nothing"\n',
      "ugly/operator.yaml": "crd :   gone.yaml\n",
      "ugly/operator.ts": 'import {x} from "nowhere"\nexport default {  crd : "gone.yaml" }\n',
      "ugly/main.ts": 'var   y : number = "text"\nexport   function other( ) { }\n',
      "ugly/main.test.ts": 'it("fails", () => { throw 1 })\n',
      "ugly/settings.json": '{ "a":1,,',
      "ugly/README.md": '```ts\nconst a: number = "b";\n```\n[gone](gone.md) `npm run nothing`\n',
    }),
  [REMOVED]: (handlers) => rmSync(handlers, { recursive: true }),
};

/**
 * Tests that read whatever is in the repository, or what is in its handlers/ by name. Of those that read all pages, one stands
 * for all: `support/pages.ts` gives each the same pages. Of those that run the program, one does too: `runStack` gives each the
 * same folder, with operators of the tests' own. The ones that copy the project take the copy's own handlers.
 */
const READS_THE_REPOSITORY = /ls-files|\b(ROOT|PROJECT), "handlers/;
const READS_THE_PAGES = "docs.test.ts";
const RUNS_THE_PROGRAM = "golden.test.ts";
const STAND_FOR_OTHERS: readonly string[] = [READS_THE_PAGES, RUNS_THE_PROGRAM];

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

  for (const [state, edit] of Object.entries(EDITS)) {
    describe(state, () => {
      before(() => edit(path.join(copy, "handlers")));

      // Without the folder there is nothing of it to lint. tests/unit/lint.test.ts lints the other files: one stands for all.
      if (state !== REMOVED)
        it("passes the lint", () => {
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

      it("passes the tests that read the repository, and those that run the program", () => {
        const tests = path.join(copy, "tests/unit");
        const files = readdirSync(tests, { recursive: true, encoding: "utf8" })
          .filter((file) => file.endsWith(".test.ts") && file !== path.basename(__filename))
          .map((file) => path.join(tests, file))
          .filter(
            (file) =>
              READS_THE_REPOSITORY.test(readFileSync(file, "utf8")) ||
              STAND_FOR_OTHERS.includes(path.basename(file)),
          );
        const names = files.map((file) => path.basename(file));
        for (const name of [READS_THE_PAGES, "operatorSchema.test.ts", "site.test.ts", RUNS_THE_PROGRAM])
          assert.ok(names.includes(name), name);
        runNode("--conditions=@argosy-dev/source", "node_modules/mocha/bin/mocha.js", ...files);
      });

      it("has the Memcached that npm start plays with", () => {
        const script = `require("./cli/scene/memcachedOperator").memcachedOperator().folder`;
        const folder = runNode("--require", "tsx/cjs", "--print", script).trim();
        assert.equal(folder, path.join(copy, "examples/memcached"));
      });
    });
  }
});
