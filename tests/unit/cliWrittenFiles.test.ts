import assert from "node:assert/strict";
import fs, {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from "node:fs";
import path from "node:path";
import { mock } from "node:test";
import { rewriteFile } from "../../cli/common/rewriteFile";
import { widgetCrd, widgetDefinition, writeFolder } from "./operatorFolder";
import { filesIn } from "./support/filesIn";
import { runArgosy } from "./support/runArgosy";

const NO_SPACE = { code: "ENOSPC", syscall: "write" };

describe("cli: the files that a command writes", () => {
  let root: string;
  beforeEach(() => {
    root = writeFolder({
      "handlers/widget/crd.yaml": widgetCrd(),
      "handlers/widget/main.py": "",
      "handlers/widget/operator.yaml": widgetDefinition,
    });
  });
  const handlers = () => path.join(root, "handlers");

  /** Runs a command while a function of the file system refuses what `isRefused` says. */
  async function refusing(
    method: "writeFileSync" | "renameSync",
    error: object,
    args: readonly string[],
    isRefused = (_: string) => true,
  ) {
    const original = fs[method] as (file: string, content: string, ...rest: unknown[]) => void;
    const refused = mock.method(fs, method, (file: string, content: string, ...rest: unknown[]) => {
      if (!isRefused(path.basename(`${file}`))) return original(file, content, ...rest);
      // A disk that becomes full takes the beginning.
      if (error === NO_SPACE) original(file, content.slice(0, 10), ...rest);
      throw Object.assign(new Error("refused"), error);
    });
    return await runArgosy(...args).finally(() => refused.mock.restore());
  }

  const cases: [string, (place: string) => string[], full: string][] = [
    ["init", (place) => ["init", place], "main.py"],
    ["new", (place) => ["new", "shop.example.com/Cache", "--handlers", place], "created.yaml"],
    ["files", (place) => ["files", "widget", "--out", place, "--handlers", handlers()], "main.py"],
  ];
  for (const [command, args, full] of cases) {
    it(`are written as a whole or not at all by argosy ${command}: a full disk leaves nothing`, async () => {
      const place = path.join(root, "new");
      const isFull = (name: string) => name.includes(full);
      const { result, stdout, stderr } = await refusing("writeFileSync", NO_SPACE, args(place), isFull);
      assert.equal(result, 1);
      assert.match(stderr, new RegExp(`${full} cannot be used: no space is left on its file system\\.\\n$`));
      assert.equal(stdout, "");
      assert.equal(existsSync(place), false);
      assert.equal((await runArgosy(...args(place))).result, 0);
    });
  }

  it("leave existing files, if they could not be written", async () => {
    const place = path.join(root, "new");
    mkdirSync(place);
    fs.writeFileSync(path.join(place, "index.ts"), "mine");
    await refusing("writeFileSync", NO_SPACE, ["init", place, "--force"], (name) => name.includes("main.py"));
    assert.deepEqual(filesIn(place), ["index.ts"]);
    assert.deepEqual(readdirSync(place), ["index.ts"]);
  });

  describe("in place of a user's", () => {
    const definition = () => path.join(root, "handlers/widget/operator.yaml");
    const seen = () => [readFileSync(definition(), "utf8"), readdirSync(path.dirname(definition()))];

    for (const [what, method, error, message] of [
      [
        "if the disk is full, and the message names the file",
        "writeFileSync",
        NO_SPACE,
        /operator\.yaml cannot be used: no space is left on its file system\.\n$/,
      ],
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
      it(`leave that as it was ${what}`, async () => {
        const before = seen();
        const args = ["add", "child", "widget", "apps/v1/StatefulSet", "--handlers", handlers()];
        const { result, stderr } = await refusing(method, error, args);
        assert.deepEqual(seen(), before);
        assert.equal(result, 1);
        assert.match(stderr, message);
      });

    it("keep its mode", () => {
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

    it("are behind its link, which stays a link", () => {
      const link = path.join(root, "link.yaml");
      symlinkSync("handlers/widget/operator.yaml", link);
      rewriteFile(link, "crd: a");
      assert.ok(lstatSync(link).isSymbolicLink());
      assert.equal(readFileSync(definition(), "utf8"), "crd: a");
    });

    it("are made if there is none", () => {
      rewriteFile(path.join(root, "new.yaml"), "crd: a");
      assert.equal(readFileSync(path.join(root, "new.yaml"), "utf8"), "crd: a");
      assert.deepEqual(readdirSync(root).sort(), ["handlers", "new.yaml"]);
    });
  });
});
