import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { addFiles, removeFolder } from "./operatorFolder";
import { copyProject } from "./support/projectCopy";

/** What a user may do to handlers/. */
const EDITS: Readonly<Record<string, (handlers: string) => void>> = {
  "is removed": (handlers) => rmSync(handlers, { recursive: true }),
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
};

/** Tests that read the program's files, or run the program. The ones that copy the project take the copy's own handlers. */
const READS_THE_PROGRAM = /\brunStack\(|handlers\/|"handlers"|ls-files/;
const TOO_LONG = ["package.test.ts", "renderCommand.test.ts", "handlersFolder.test.ts", "functions.test.ts"];

for (const [state, edit] of Object.entries(EDITS)) {
  describe(`a repository whose handlers/ ${state}`, function () {
    this.timeout(240_000);
    let copy: string;

    before(() => {
      copy = copyProject();
      edit(path.join(copy, "handlers"));
      execFileSync("git", ["init", "--quiet"], { cwd: copy });
    });
    after(() => removeFolder(copy));

    function runNode(...args: string[]): string {
      const options = { cwd: copy, encoding: "utf8", maxBuffer: 2 ** 26 } as const;
      const { status, stdout, stderr } = spawnSync(process.execPath, args, options);
      assert.equal(status, 0, stdout + stderr);
      return stdout;
    }

    it("passes the lint", () => void runNode("node_modules/@biomejs/biome/bin/biome", "check"));

    it("has nothing in it that is type-checked", () => {
      const files = runNode("node_modules/typescript/bin/tsc", "--listFilesOnly").split("\n");
      assert.ok(files.includes(path.join(copy, "index.ts")));
      assert.deepEqual(
        files.filter((file) => file.startsWith(path.join(copy, "handlers"))),
        [],
      );
    });

    it("passes the tests that read the program", () => {
      const tests = path.join(copy, "tests/unit");
      const files = readdirSync(tests, { recursive: true, encoding: "utf8" })
        .filter((file) => file.endsWith(".test.ts") && !TOO_LONG.includes(path.basename(file)))
        .map((file) => path.join(tests, file))
        .filter((file) => READS_THE_PROGRAM.test(readFileSync(file, "utf8")));
      assert.ok(files.length > 5);
      runNode("node_modules/mocha/bin/mocha.js", ...files);
    });

    it("has the Memcached that npm start plays with", () => {
      const script = `require("./cli/memcachedOperator").memcachedOperator().folder`;
      const folder = runNode("--require", "tsx/cjs", "--print", script).trim();
      assert.equal(folder, path.join(copy, "examples/memcached"));
    });
  });
}
