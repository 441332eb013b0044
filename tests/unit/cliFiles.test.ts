import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { main } from "../../cli/argosy";
import { widgetCrd, widgetDefinition, writeFolder } from "./operatorFolder";
import { captured } from "./support/captured";

describe("argosy files", () => {
  let root: string;
  beforeEach(() => {
    root = writeFolder({
      "handlers/widget/operator.yaml": {
        ...widgetDefinition,
        handler: "main.ts",
        include: ["../shared"],
        files: { image: "a:1" },
      },
      "handlers/widget/crd.yaml": widgetCrd(),
      "handlers/widget/main.ts":
        'import { one } from "../shared/one";\nexport const reconcile = (): object => ({ children: [], status: { one } });\n',
      "handlers/widget/run.sh": "",
      "handlers/widget/lib/fast.so": "",
      "handlers/shared/one.ts": "export const one: number = 1;\n",
      "handlers/shared/text.txt": "text",
    });
  });
  const handlers = () => path.join(root, "handlers");
  const run = (...args: string[]) =>
    captured(() => main(["files", ...args, "--handlers", handlers(), "--out", path.join(root, "out")]));

  it("writes what the handler finds in a cluster, compiled code included", async () => {
    const { result, stderr } = await run("widget");
    assert.deepEqual([result, stderr], [0, ""]);
    const bundle = readFileSync(path.join(root, "out/widget/main.ts"), "utf8");
    const module = { exports: {} as { reconcile?: () => unknown } };
    new Function("module", "exports", "require", "__filename", bundle)(module, module.exports, require, "/x");
    assert.deepEqual(module.exports.reconcile?.(), { children: [], status: { one: 1 } });
    assert.equal(readFileSync(path.join(root, "out/shared/text.txt"), "utf8"), "text");
    assert.equal(statSync(path.join(root, "out/widget/run.sh")).mode & 0o555, 0o555);
    assert.ok(statSync(path.join(root, "out/widget/lib/fast.so")));
    assert.throws(() => statSync(path.join(root, "out/shared/one.ts")));
  });

  it("overwrites nothing, and knows the operators", async () => {
    await run("widget");
    const again = await run("widget");
    assert.equal(again.result, 1);
    assert.match(again.stderr, /out is not empty\. Name an empty folder with --out\.\n$/);
    const unknown = await run("widgt");
    assert.equal(unknown.result, 2);
    assert.equal(unknown.stderr, "There is no operator widgt. Did you mean widget?\n");
  });
});
