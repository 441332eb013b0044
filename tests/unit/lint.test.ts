import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { PACKAGE_FOLDER } from "../../tools/packageFolder";
import { projectFiles } from "./support/projectCopy";

describe("every file", function () {
  this.timeout(120_000);

  it("passes the linter: npm run format mends most complaints", () => {
    const biome = path.join(PACKAGE_FOLDER, "node_modules/@biomejs/biome/bin/biome");
    const options = { cwd: PACKAGE_FOLDER, encoding: "utf8" } as const;
    const { stdout, stderr } = spawnSync(process.execPath, [biome, "check", "--colors=off"], options);
    assert.equal(stderr, "", stderr);
    assert.match(stdout, /^Checked \d+ files in .*No fixes applied\.$/m);
  });

  it("names only tests that exist, such as those that keep the guarantees of a module", () => {
    const files = projectFiles();
    const tests = files.filter((file) => file.endsWith(".test.ts")).map((file) => `/${file}`);
    const namedIn = (file: string) =>
      [...readFileSync(path.join(PACKAGE_FOLDER, file), "utf8").matchAll(/[\w/-]+\.test\.ts\b/g)]
        .map(([named]) => named)
        .filter((named) => !tests.some((test) => test.endsWith(`/${named.replace(/^\/+/, "")}`)))
        .map((named) => `${file}: ${named}`);
    const named = files.filter((file) =>
      /^(runtime|components|definition|preflight|designs|cli\/\w+\/\w+\.ts)/.test(file),
    );
    assert.deepEqual(named.flatMap(namedIn), []);
  });
});
