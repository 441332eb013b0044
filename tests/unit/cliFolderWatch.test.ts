import assert from "node:assert/strict";
import fs, { appendFileSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { mock } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { FolderWatch } from "../../cli/dev/folderWatch";
import { eventually } from "../support/eventually";
import { removeFolder, writeFolder } from "./operatorFolder";

describe("cli: the watch of the operators' folder", () => {
  let root: string;
  let watch: FolderWatch;
  let told: string[][];

  let notices: string[];
  const watchOf = (folder = root) =>
    new FolderWatch(folder, (files) => told.push(files.map((file) => path.relative(root, file)).sort()), {
      onBlind: (notice) => notices.push(notice),
    });

  beforeEach(() => {
    notices = [];
    root = writeFolder({ "shop/main.py": "1", "shop/fixtures/a.yaml": "1" });
    told = [];
    watch = watchOf();
  });
  afterEach(() => {
    watch.close();
    removeFolder(root);
    assert.deepEqual(notices, []);
  });

  const hasTold = (...files: string[]) =>
    eventually(() =>
      assert.ok(
        files.every((file) => told.flat().includes(file)),
        `${files} told`,
      ),
    );

  it("reports an edit, and several at once", async () => {
    appendFileSync(path.join(root, "shop/main.py"), "2");
    writeFileSync(path.join(root, "shop/crd.yaml"), "a");
    await hasTold("shop/main.py", "shop/crd.yaml");
    assert.equal(told.length, 1);
  });

  it("reports files in a new folder, and a folder that is put in place of another", async () => {
    mkdirSync(path.join(root, "cache"));
    await hasTold("cache");
    writeFileSync(path.join(root, "cache/main.py"), "1");
    await hasTold("cache/main.py");
    renameSync(path.join(root, "shop"), path.join(root, "old"));
    mkdirSync(path.join(root, "shop"));
    await hasTold("shop");
    told.length = 0;
    writeFileSync(path.join(root, "shop/new.py"), "1");
    await hasTold("shop/new.py");
  });

  it("reports files in a folder within a folder that is put in place of another", async () => {
    const file = "shop/lib/names.py";
    mkdirSync(path.join(root, "shop/lib"));
    await hasTold("shop/lib");
    mkdirSync(path.join(root, "new/lib"), { recursive: true });
    renameSync(path.join(root, "shop"), path.join(root, "old"));
    renameSync(path.join(root, "new"), path.join(root, "shop"));
    await hasTold("shop");
    writeFileSync(path.join(root, file), "1");
    await hasTold(file);
  });

  it("reports files behind links to folders, and follows no link in a circle", async () => {
    const elsewhere = writeFolder({ "main.py": "1" });
    symlinkSync(elsewhere, path.join(root, "linked"));
    symlinkSync("nowhere", path.join(root, "dangling"));
    symlinkSync("..", path.join(root, "shop/circle"));
    // Each links to all. So there are paths without end, and more of them with each step.
    const colours = ["red", "green", "blue"];
    for (const one of colours) mkdirSync(path.join(root, one));
    for (const one of colours)
      for (const other of colours) symlinkSync(`../${other}`, path.join(root, one, other));
    watch.close();
    watch = watchOf();
    appendFileSync(path.join(elsewhere, "main.py"), "2");
    await hasTold("linked/main.py");
    appendFileSync(path.join(root, "shop/main.py"), "2");
    await hasTold("shop/main.py");
  });

  it("reports edits of files behind links, also of a link that is new", async () => {
    const elsewhere = writeFolder({ "crd.yaml": "1", "main.py": "1" });
    symlinkSync(path.join(elsewhere, "crd.yaml"), path.join(root, "shop/crd.yaml"));
    watch.close();
    watch = watchOf();
    symlinkSync(path.join(elsewhere, "main.py"), path.join(root, "shop/linked.py"));
    await hasTold("shop/linked.py");
    told.length = 0;
    appendFileSync(path.join(elsewhere, "crd.yaml"), "2");
    writeFileSync(path.join(elsewhere, "new.py"), "2");
    renameSync(path.join(elsewhere, "new.py"), path.join(elsewhere, "main.py"));
    await hasTold("shop/crd.yaml", "shop/linked.py");
  });

  for (const [what, remake] of [
    ["replaced at once", (folder: string) => renameSync(folder, `${folder}.old`)],
    ["removed and made again", (folder: string) => rmSync(folder, { recursive: true })],
  ] as const)
    for (const isRoot of [false, true])
      it(`goes on when ${isRoot ? "it is a link to a folder that is" : "a folder behind a link is"} ${what}`, async () => {
        const elsewhere = writeFolder({ "linked/main.py": "1" });
        const [folder, link] = [path.join(elsewhere, "linked"), path.join(root, "link")];
        const links = isRoot ? ["link"] : ["link", "shop/link"];
        for (const each of links) symlinkSync(folder, path.join(root, each));
        watch.close();
        watch = watchOf(isRoot ? link : root);
        remake(folder);
        await hasTold(...links);
        told.length = 0;
        mkdirSync(folder);
        await hasTold(...links);
        told.length = 0;
        writeFileSync(path.join(folder, "main.py"), "2");
        await hasTold(...links.map((each) => `${each}/main.py`));
      });

  it("goes on when the folder itself is removed and made again", async () => {
    rmSync(root, { recursive: true });
    await hasTold("");
    mkdirSync(path.join(root, "shop"), { recursive: true });
    await eventually(() => assert.ok(told.flat().filter((file) => file === "").length > 1));
    told.length = 0;
    writeFileSync(path.join(root, "shop/main.py"), "1");
    await hasTold("shop/main.py");
  });

  it("reports what is removed", async () => {
    rmSync(path.join(root, "shop"), { recursive: true });
    await hasTold("shop/main.py");
  });

  it("does not report what an operator does not have", async () => {
    appendFileSync(path.join(root, "shop/fixtures/a.yaml"), "2");
    writeFileSync(path.join(root, "shop/.main.py.swp"), "x");
    await pause(400);
    assert.deepEqual(told, []);
  });

  it("tells nothing after its end", async () => {
    watch.close();
    appendFileSync(path.join(root, "shop/main.py"), "2");
    await pause(300);
    assert.deepEqual(told, []);
  });

  for (const [code, setting] of [
    ["ENOSPC", /no inotify watches left\. .*: sudo sysctl fs\.inotify\.max_user_watches=\d+$/],
    ["EMFILE", /no (inotify instances|open files) left\. .*: (sudo sysctl fs\.inotify|ulimit)/],
  ] as const)
    it(`says once that it notices no edits, and what to do, if the system answers ${code}`, () => {
      watch.close();
      const refused = mock.method(fs, "watch", () => {
        throw Object.assign(new Error(code), { code });
      });
      try {
        watch = watchOf();
      } finally {
        refused.mock.restore();
      }
      const [notice = "", ...others] = notices.splice(0);
      assert.match(notice, /^Edits in .*, and perhaps in other folders, are not noticed: the system has /);
      assert.match(notice, setting);
      assert.deepEqual(others, []);
    });
});
