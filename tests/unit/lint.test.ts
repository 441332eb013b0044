import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { PACKAGE_FOLDER } from "../../tools/packageFolder";

describe("every file", function () {
  this.timeout(120_000);

  it("passes the linter: npm run format mends most complaints", () => {
    const biome = path.join(PACKAGE_FOLDER, "node_modules/@biomejs/biome/bin/biome");
    const options = { cwd: PACKAGE_FOLDER, encoding: "utf8" } as const;
    const { stdout, stderr } = spawnSync(process.execPath, [biome, "check", "--colors=off"], options);
    assert.equal(stderr, "", stderr);
    assert.match(stdout, /^Checked \d+ files in .*No fixes applied\.$/m);
  });
});
