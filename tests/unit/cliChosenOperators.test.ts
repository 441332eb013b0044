import assert from "node:assert/strict";
import path from "node:path";
import { widgetCrd, widgetDefinition, writeFolder } from "./operatorFolder";
import { runArgosy } from "./support/runArgosy";

describe("a command for one operator, next to a broken one", () => {
  let root: string;
  beforeEach(() => {
    root = writeFolder({
      "handlers/broken/operator.yaml": "crd: 3\n",
      "handlers/widget/crd.yaml": widgetCrd(),
      "handlers/widget/operator.yaml": { ...widgetDefinition, handler: "main.js" },
      "handlers/widget/main.js": "export const reconcile = () => ({ children: [] });\n",
      "handlers/widget/fixtures/a.yaml": "object: { metadata: { name: a } }\nanswer: { children: [] }\n",
    });
  });

  const run = (...args: string[]) => runArgosy(...args, "--handlers", path.join(root, "handlers"));

  for (const [what, args] of [
    ["tests", ["test", "widget"]],
    ["writes the types of", ["types", "widget", "--language", "typescript"]],
    ["extends", ["add", "child", "widget", "v1/Secret"]],
    ["writes the files of", ["files", "widget", "--out", "@/out"]],
  ] as const) {
    it(`${what} that one`, async () => {
      const { result, stderr } = await run(...args.map((word) => word.replace("@", root)));
      assert.deepEqual([result, stderr], [0, ""]);
    });
  }

  it("says what is wrong with the broken one if that is named, or if none is", async () => {
    for (const args of [["test", "broken"], ["test"], ["types"]]) {
      const { result, stderr } = await run(...args);
      assert.equal(result, 1);
      assert.match(stderr, /broken\/operator\.yaml:1:1: /);
    }
  });
});
