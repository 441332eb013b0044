import assert from "node:assert/strict";
import fs, { chmodSync, lstatSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import path from "node:path";
import { mock } from "node:test";
import { main } from "../../cli/argosy";
import { rewriteFile } from "../../cli/common/rewriteFile";
import { widgetCrd, widgetDefinition, writeFolder } from "./operatorFolder";
import { captured } from "./support/captured";

describe("cli: a user's file that a command rewrites", () => {
  let root: string;
  beforeEach(() => {
    root = writeFolder({
      "widget/crd.yaml": widgetCrd(),
      "widget/main.py": "",
      "widget/operator.yaml": widgetDefinition,
    });
  });
  const definition = () => path.join(root, "widget/operator.yaml");

  it("stays as it was if the disk is full, and the message names the file", async () => {
    const before = [readFileSync(definition(), "utf8"), readdirSync(path.dirname(definition()))];
    const write = fs.writeFileSync;
    const refused = mock.method(fs, "writeFileSync", (file: string, text: string) => {
      write(file, text.slice(0, 10));
      throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    });
    const { result, stderr } = await captured(() =>
      main(["add", "child", "widget", "apps/v1/StatefulSet", "--handlers", root]),
    ).finally(() => refused.mock.restore());
    assert.deepEqual([readFileSync(definition(), "utf8"), readdirSync(path.dirname(definition()))], before);
    assert.equal(result, 1);
    assert.match(stderr, /operator\.yaml cannot be used: no space is left on its file system\.\n$/);
  });

  for (const [what, method, error, message] of [
    [
      "if it is mounted by itself",
      "renameSync",
      { code: "EBUSY", syscall: "rename" },
      /widget\/operator\.yaml cannot be used: it is in use, or mounted by itself/,
    ],
    [
      "if its folder takes no new file, which the message names",
      "writeFileSync",
      { code: "EACCES", syscall: "open" },
      /widget cannot be used: permission denied\.\n$/,
    ],
  ] as const)
    it(`stays as it was ${what}`, async () => {
      const before = [readFileSync(definition(), "utf8"), readdirSync(path.dirname(definition()))];
      const refused = mock.method(fs, method, () => {
        throw Object.assign(new Error(error.code), error);
      });
      const { result, stderr } = await captured(() =>
        main(["add", "child", "widget", "apps/v1/StatefulSet", "--handlers", root]),
      ).finally(() => refused.mock.restore());
      assert.deepEqual([readFileSync(definition(), "utf8"), readdirSync(path.dirname(definition()))], before);
      assert.equal(result, 1);
      assert.match(stderr, message);
    });

  it("keeps its mode", () => {
    chmodSync(definition(), 0o640);
    rewriteFile(definition(), "crd: a");
    assert.equal(statSync(definition()).mode & 0o7777, 0o640);
    assert.equal(readFileSync(definition(), "utf8"), "crd: a");
  });

  it("can be read by no other user at any time if it is private", () => {
    chmodSync(definition(), 0o600);
    const modes: number[] = [];
    const write = fs.writeFileSync;
    const observed = mock.method(fs, "writeFileSync", (...args: Parameters<typeof write>) => {
      write(...args);
      modes.push(statSync(`${args[0]}`).mode & 0o077);
    });
    try {
      rewriteFile(definition(), "crd: a");
    } finally {
      observed.mock.restore();
    }
    assert.deepEqual(modes, [0]);
  });

  it("is the one behind a link, which stays a link", () => {
    const link = path.join(root, "link.yaml");
    symlinkSync("widget/operator.yaml", link);
    rewriteFile(link, "crd: a");
    assert.ok(lstatSync(link).isSymbolicLink());
    assert.equal(readFileSync(definition(), "utf8"), "crd: a");
  });

  it("is made if there is none", () => {
    rewriteFile(path.join(root, "new.yaml"), "crd: a");
    assert.equal(readFileSync(path.join(root, "new.yaml"), "utf8"), "crd: a");
    assert.deepEqual(readdirSync(root).sort(), ["new.yaml", "widget"]);
  });
});
