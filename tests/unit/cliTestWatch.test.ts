import assert from "node:assert/strict";
import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { test } from "../../cli/commands/test";
import { eventually } from "../support/eventually";
import { addFiles, widgetCrd, widgetDefinition, writeFolder } from "./operatorFolder";
import { captured } from "./support/captured";

describe("argosy test --watch", () => {
  let root: string;
  beforeEach(() => {
    root = writeFolder({
      "handlers/widget/crd.yaml": widgetCrd(),
      "handlers/widget/operator.yaml": { ...widgetDefinition, handler: "main.js" },
      "handlers/widget/main.js": handler(1),
      "handlers/widget/fixtures/a.yaml": fixture(1),
    });
  });

  /** Adds to a file next to the operators each time that it is asked. */
  function handler(status: number): string {
    return `import { appendFileSync } from "node:fs";
export function reconcile() {
  appendFileSync("../../asked", "x");
  return { children: [], status: { size: ${status} } };
}
`;
  }
  function fixture(status: number): string {
    return `object: { metadata: { name: a } }\nrepeatable: false\nanswer: { children: [], status: { size: ${status} } }\n`;
  }
  const watching = (signal?: AbortSignal, ...names: string[]) =>
    test(names, { handlers: path.join(root, "handlers"), watch: true }, signal);
  const asked = (times: number) =>
    eventually(() => {
      const file = path.join(root, "asked");
      assert.equal(existsSync(file) ? readFileSync(file, "utf8").length : 0, times);
    });

  it("asks no handler if it is ended while it reads the operators", async () => {
    await assert.rejects(watching(AbortSignal.abort(new Error("ended"))), { message: "ended" });
    assert.ok(!existsSync(path.join(root, "asked")));
  });

  it("runs again after each edit of a handler or a fixture, also after one that is wrong, until it is ended", async () => {
    const controller = new AbortController();
    const running = captured(() => watching(controller.signal).catch((error: unknown) => error));
    await asked(1);
    addFiles(root, { "handlers/widget/main.js": handler(2) });
    await asked(2);
    addFiles(root, {
      "handlers/widget/operator.yaml": "crd: 3\n",
      "handlers/widget/fixtures/a.yaml": fixture(2),
    });
    // It asks no handler then. On a busy machine the next edit may come before it has looked, which is as good.
    await pause(600);
    addFiles(root, { "handlers/widget/operator.yaml": { ...widgetDefinition, handler: "main.js" } });
    await asked(3);
    // One run follows another: when this one asks, the one before has been printed.
    addFiles(root, { "handlers/widget/main.js": handler(3) });
    await asked(4);
    controller.abort(new Error("ended"));
    const { result, stdout, stderr } = await running;
    assert.equal((result as Error).message, "ended");
    assert.match(
      stdout,
      /^✔ widget[\s\S]*✘ widget fixtures\/a\.yaml\n {2}fixtures\/a\.yaml: status: \.size: expected 1, got 2\n/,
    );
    assert.match(stdout, /0 passed, 1 failed\n[\s\S]*✔ widget fixtures\/a\.yaml\n1 passed, 0 failed\n/);
    assert.match(stderr, /operator\.yaml:[\s\S]*waiting for an edit/);
    assert.doesNotMatch(stdout, /operator\.yaml/);
  });

  it("goes on if a named operator goes and comes back, as when a branch is switched", async () => {
    const controller = new AbortController();
    const running = captured(() => watching(controller.signal, "widget").catch((error: unknown) => error));
    let said = "";
    const { write } = process.stderr;
    // The original is put back by `captured`.
    process.stderr.write = ((text: string) => {
      said += text;
      return write.call(process.stderr, text);
    }) as typeof write;
    await asked(1);
    renameSync(path.join(root, "handlers/widget"), path.join(root, "elsewhere"));
    addFiles(root, {
      "handlers/other/operator.yaml": { ...widgetDefinition, handler: "main.js" },
      "handlers/other/crd.yaml": widgetCrd(),
      "handlers/other/main.js": handler(1),
    });
    await eventually(() => assert.match(said, /There is no operator widget\. [\s\S]*waiting for an edit/));
    rmSync(path.join(root, "handlers/other"), { recursive: true });
    renameSync(path.join(root, "elsewhere"), path.join(root, "handlers/widget"));
    await asked(2);
    controller.abort(new Error("ended"));
    const { result } = await running;
    assert.equal((result as Error).message, "ended");
  });

  it("refuses the name of an operator that does not exist at the start", async () => {
    await assert.rejects(
      captured(() => watching(undefined, "wodget")),
      /There is no operator wodget\./,
    );
  });
});
