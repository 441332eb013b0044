import assert from "node:assert/strict";
import path from "node:path";
import { STEPS } from "../../tools/e2e";
import { runNode } from "../../tools/runTool";
import { testFilesIn } from "../../tools/testArguments";
import { writeFolder } from "./operatorFolder";
import { captured } from "./support/captured";

describe("a tool that the commands run", () => {
  let folder: string;

  before(() => {
    folder = writeFolder({
      "ends.js": "process.send('finished'); process.exitCode = 3; process.disconnect();",
      "lingers.js": "process.send('finished'); setInterval(() => {}, 1000);",
      "fails.js": "process.exit(4);",
    });
  });

  it("gives its exit code, and whether it has come to its end", async () => {
    assert.deepEqual(await runNode([path.join(folder, "ends.js")]), { exitCode: 3, told: "finished" });
    assert.deepEqual(await runNode([path.join(folder, "fails.js")]), { exitCode: 4 });
  });

  it("is ended, and has failed, where it leaves something running", async () => {
    const lingers = [path.join(folder, "lingers.js")];
    const { result, stderr } = await captured(() => runNode(lingers, { lingerMilliseconds: 100 }));
    assert.deepEqual(result, { exitCode: 1, told: "finished" });
    assert.match(stderr, /left something running/);
  });
});

describe("npm run e2e", () => {
  it("knows the place of each test file in the order", () => {
    const names = testFilesIn("tests/e2e").map((file) => path.basename(file, ".test.ts"));
    assert.deepEqual([...STEPS].sort(), names.sort());
  });
});
