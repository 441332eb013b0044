import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { type TestOptions, test } from "../../cli/test";
import { addFiles, removeFolder, widgetCrd, widgetDefinition, writeFolder } from "./operatorFolder";
import { captured } from "./support/captured";

describe("argosy test", () => {
  let root: string;
  beforeEach(() => {
    root = writeFolder({
      "widget/crd.yaml": widgetCrd(),
      "widget/operator.yaml": { ...widgetDefinition, handler: "main.js" },
      "widget/fixtures/a.yaml": "object: { metadata: { name: a } }\n",
    });
  });
  afterEach(() => removeFolder(root));

  const answering = (status: string) =>
    addFiles(root, {
      "widget/main.js": `let size = 0;\nexport const reconcile = () => ({ children: [], status: ${status} });\n`,
    });
  const run = (options: TestOptions = {}) => captured(() => test([], { handlers: root, ...options }));
  const fixture = () => readFileSync(path.join(root, "widget/fixtures/a.yaml"), "utf8");

  it("writes the answers into the fixtures with --update, and they pass then", async () => {
    answering("{ size: 3 }");
    const { result, stdout } = await run({ update: true });
    assert.equal(result, 0, stdout);
    assert.match(fixture(), /size: 3/);
    assert.equal((await run()).result, 0);
  });

  it("writes no answer with --update that changes each time, and fails", async () => {
    answering("{ size: ++size }");
    const before = fixture();
    const { result, stdout } = await run({ update: true });
    assert.equal(result, 1, stdout);
    assert.match(
      stdout,
      /✘ widget fixtures\/a\.yaml[\s\S]*asked a second time: .*\.size: expected 1, answered 2/,
    );
    assert.match(stdout, /^0 passed, 1 failed$/m);
    assert.equal(fixture(), before);
  });
});
