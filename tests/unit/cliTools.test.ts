import assert from "node:assert/strict";
import path from "node:path";
import { STEPS } from "../../tools/e2e";
import { PACKAGE_FOLDER } from "../../tools/packageFolder";
import { runNode, runTool } from "../../tools/runTool";
import { testFilesIn } from "../../tools/testArguments";
import { removeFolder, writeFolder } from "./operatorFolder";

describe("a tool that the commands run", () => {
  let folder: string;

  before(() => {
    folder = writeFolder({
      "ends.js": "process.send('finished'); process.exitCode = 3; process.disconnect();",
      "lingers.js": "process.send('finished'); setInterval(() => {}, 1000);",
      "fails.js": "process.exit(4);",
      "tells.js": "process.send(Object.keys(process.env).includes('LEFT_OUT')); process.disconnect();",
    });
  });
  after(() => removeFolder(folder));

  it("gives its exit code, and whether it has come to its end", async () => {
    assert.deepEqual(await runNode([path.join(folder, "ends.js")]), { exitCode: 3, told: "finished" });
    assert.deepEqual(await runNode([path.join(folder, "fails.js")]), { exitCode: 4 });
  });

  it("gets our environment, without the variables that it must not have", async () => {
    process.env.LEFT_OUT = "1";
    try {
      const entry = path.relative(path.join(PACKAGE_FOLDER, "node_modules"), path.join(folder, "tells.js"));
      const tool = { title: "a tool", entry, args: [] };
      assert.equal((await runTool(tool)).told, true);
      assert.equal((await runTool({ ...tool, without: ["LEFT_OUT"] })).told, false);
    } finally {
      delete process.env.LEFT_OUT;
    }
  });

  it("is ended, and has failed, where it leaves something running", async () => {
    const { write } = process.stderr;
    const told: string[] = [];
    process.stderr.write = (text: string | Uint8Array) => told.push(String(text)) > 0;
    try {
      const result = await runNode([path.join(folder, "lingers.js")], { lingerMilliseconds: 100 });
      assert.deepEqual(result, { exitCode: 1, told: "finished" });
    } finally {
      process.stderr.write = write;
    }
    assert.match(told.join(""), /left something running/);
  });
});

describe("npm run e2e", () => {
  it("knows the place of each test file in the order", () => {
    const names = testFilesIn("tests/e2e").map((file) => path.basename(file, ".test.ts"));
    assert.deepEqual([...STEPS].sort(), names.sort());
  });
});
