import assert from "node:assert/strict";
import fs, { existsSync, mkdirSync, readdirSync } from "node:fs";
import path from "node:path";
import { mock } from "node:test";
import { main } from "../../cli/argosy";
import { widgetCrd, widgetDefinition, writeFolder } from "./operatorFolder";
import { captured } from "./support/captured";
import { filesIn } from "./support/filesIn";

describe("cli: new files of a command", () => {
  let root: string;
  beforeEach(() => {
    root = writeFolder({
      "handlers/widget/crd.yaml": widgetCrd(),
      "handlers/widget/main.py": "",
      "handlers/widget/operator.yaml": widgetDefinition,
    });
  });

  /** Runs a command on a disk that becomes full while the file of this name is written. */
  async function onFullDisk(name: string, ...args: string[]) {
    const write = fs.writeFileSync;
    const refused = mock.method(fs, "writeFileSync", (...given: Parameters<typeof write>) => {
      const [file, content, options] = given;
      if (!path.basename(`${file}`).includes(name)) return write(...given);
      write(file, `${content}`.slice(0, 10), options);
      throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    });
    return await captured(() => main(args)).finally(() => refused.mock.restore());
  }

  const handlers = () => path.join(root, "handlers");
  const cases: [string, (place: string) => string[], full: string][] = [
    ["init", (place) => ["init", place], "main.py"],
    ["new", (place) => ["new", "shop.example.com/Cache", "--handlers", place], "created.yaml"],
    ["files", (place) => ["files", "widget", "--out", place, "--handlers", handlers()], "main.py"],
  ];
  for (const [command, args, full] of cases) {
    it(`are written as a whole or not at all by argosy ${command}: a full disk leaves nothing`, async () => {
      const place = path.join(root, "new");
      const { result, stdout, stderr } = await onFullDisk(full, ...args(place));
      assert.equal(result, 1);
      assert.match(stderr, new RegExp(`${full} cannot be used: no space is left on its file system\\.\\n$`));
      assert.equal(stdout, "");
      assert.equal(existsSync(place), false);
      assert.equal((await captured(() => main(args(place)))).result, 0);
    });
  }

  it("leave existing files, if they could not be written", async () => {
    const place = path.join(root, "new");
    mkdirSync(place);
    fs.writeFileSync(path.join(place, "index.ts"), "mine");
    await onFullDisk("main.py", "init", place, "--force");
    assert.deepEqual(filesIn(place), ["index.ts"]);
    assert.deepEqual(readdirSync(place), ["index.ts"]);
  });
});
