import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import path from "node:path";
import { text } from "node:stream/consumers";
import { addFiles, writeFolder } from "./operatorFolder";
import { assertEach } from "./support/lists";

const PROJECT = path.join(__dirname, "..", "..");
const LOCK = JSON.stringify({ packages: { "": {}, "node_modules/tsx": { version: "1.0.0" } } });

/** Stands in for npm: notes that it was called, and installs a tsx that does nothing. */
const NPM = `#!/bin/sh
echo "$@" >> npm-calls
[ -e npm-fails ] && exit 7
[ -e npm-is-slow ] && sleep 1
mkdir -p node_modules/tsx
echo > node_modules/tsx/cjs.js
`;

describe("cli: bootstrap", () => {
  let root: string;

  beforeEach(() => {
    root = writeFolder({
      "package-lock.json": LOCK,
      "bin/npm": NPM,
      // JavaScript, since tsx does nothing here.
      "cli/argosy.ts": 'exports.main = async (args) => { console.log("argosy", ...args); return 3; };',
      "tools/test.ts": 'exports.main = async () => { throw new Error("a fault"); };',
    });
    chmodSync(path.join(root, "bin/npm"), 0o755);
    for (const file of ["tools/bootstrap.mjs", "cli/typescript.cjs"])
      copyFileSync(path.join(PROJECT, file), path.join(root, file));
  });

  const options = () => ({
    cwd: root,
    env: { ...process.env, PATH: `${path.join(root, "bin")}${path.delimiter}${process.env.PATH}` },
  });
  function run(...args: string[]) {
    return spawnSync(process.execPath, ["tools/bootstrap.mjs", ...args], { ...options(), encoding: "utf8" });
  }
  /** Does not wait, unlike {@link run}. */
  async function start(...args: string[]) {
    const child = spawn(process.execPath, ["tools/bootstrap.mjs", ...args], options());
    const [stdout, stderr, [status]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "exit"),
    ]);
    return { stdout, stderr, status };
  }
  const npmCalls = () => {
    const file = path.join(root, "npm-calls");
    return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n").length : 0;
  };

  it("installs what is missing, says so, and runs the command with its arguments", () => {
    const { stdout, stderr, status } = run("argosy", "start", "--context", "x");
    assert.deepEqual([status, stdout], [3, "argosy start --context x\n"]);
    assert.match(stderr, /^installing the dependencies with npm ci \(0 s\)$/m);
    assert.match(stderr, /^dependencies installed \(\d+ s\)$/m);
    // The tests' packages too, whatever npm is configured for.
    assert.match(readFileSync(path.join(root, "npm-calls"), "utf8"), /^ci --include=dev /);
  });

  describe("has a program load the package that it has installed", () => {
    const conditions = { "@argosy-dev/source": "./components/index.js", default: "./dist/index.js" };
    const manifest = { name: "@argosy-dev/argosy", exports: { ".": conditions } };
    const installed = "shop/node_modules/@argosy-dev/argosy";
    beforeEach(() =>
      addFiles(root, {
        "cli/argosy.ts": `exports.main = async () => {
  const shop = require("node:path").join(__dirname, "../shop");
  console.log(require(require.resolve("@argosy-dev/argosy", { paths: [shop] })));
  return 3;
};`,
        [`${installed}/package.json`]: JSON.stringify(manifest),
        [`${installed}/dist/index.js`]: 'module.exports = "packed";',
        "shop/infra/Pulumi.yaml": "",
      }),
    );
    const load = (cwd: string, ...args: string[]) => {
      const script = path.join(root, "tools/bootstrap.mjs");
      const command = ["--conditions=@argosy-dev/source", script, "argosy", "render", ...args];
      const { status, stdout } = spawnSync(process.execPath, command, {
        ...options(),
        cwd: path.join(root, cwd),
        encoding: "utf8",
      });
      return [status, stdout];
    };

    for (const [cwd, ...args] of [
      [".", "--project", "shop/infra"],
      [".", "--project=shop"],
      ["shop/infra", "--stack", "dev"],
    ] as const) {
      it(`packed, in ${cwd} with ${args.join(" ")}`, () => {
        assert.deepEqual(load(cwd, ...args), [3, "packed\n"]);
      });
    }

    it("as sources, which is a link to a clone", () => {
      addFiles(root, { [`${installed}/components/index.js`]: 'module.exports = "sources";' });
      assert.deepEqual(load(".", "--project", "shop/infra"), [3, "sources\n"]);
    });
  });

  it("installs once, and again when the lock file has changed", () => {
    run("argosy");
    run("argosy");
    assert.equal(npmCalls(), 1);
    addFiles(root, { "package-lock.json": `${LOCK}\n` });
    run("argosy");
    assert.equal(npmCalls(), 2);
  });

  it("installs once for two commands at the same time: the other waits", async () => {
    addFiles(root, { "npm-is-slow": "" });
    const ended = await Promise.all([start("argosy"), start("argosy")]);
    assertEach(ended, ({ status, stdout }) => [status, stdout], [
      [3, "argosy\n"],
      [3, "argosy\n"],
    ]);
    assert.equal(npmCalls(), 1);
    assert.match(
      ended.map(({ stderr }) => stderr).join(""),
      /^waiting for process \d+, which installs the dependencies/m,
    );
    assert.equal(existsSync(path.join(root, ".installing")), false);
  });

  it("installs where a command was killed while it installed", () => {
    symlinkSync(String(spawnSync("true").pid), path.join(root, ".installing"));
    assert.equal(run("argosy").status, 3);
    assert.equal(npmCalls(), 1);
  });

  it("takes what npm itself has installed, where it is what the lock file says, without a record, which may be read-only", () => {
    mkdirSync(path.join(root, "node_modules/tsx"), { recursive: true });
    addFiles(root, { "node_modules/tsx/cjs.js": "", "node_modules/.package-lock.json": LOCK });
    symlinkSync("missing/folder", path.join(root, "node_modules/.argosy-lock"));
    const { stdout, stderr } = run("argosy");
    assert.deepEqual([stdout, stderr], ["argosy\n", ""]);
  });

  it("leaves packages alone that the user has linked, whatever the lock file says", () => {
    mkdirSync(path.join(root, "elsewhere/tsx"), { recursive: true });
    addFiles(root, { "elsewhere/tsx/cjs.js": "" });
    symlinkSync(path.join(root, "elsewhere"), path.join(root, "node_modules"));
    assert.equal(run("argosy").stdout, "argosy\n");
    assert.equal(npmCalls(), 0);
  });

  it("installs where npm has installed something else", () => {
    addFiles(root, { "node_modules/.package-lock.json": LOCK.replace("1.0.0", "0.9.0") });
    run("argosy");
    assert.equal(npmCalls(), 1);
  });

  it("does not take a failed installation for one", () => {
    addFiles(root, { "npm-fails": "" });
    const { stderr, status } = run("argosy");
    assert.equal(status, 1);
    assert.match(stderr, /^npm ci .* ended with exit code 7$/m);
    run("argosy");
    assert.equal(npmCalls(), 2);
  });

  it("prints a fault of a command with its stack", () => {
    const { status, stderr } = run("test");
    assert.equal(status, 1);
    assert.match(stderr, /Error: a fault\n +at /);
  });

  it("knows its commands", () => {
    const { status, stderr } = run("strat");
    assert.equal(status, 2);
    assert.match(stderr, /usage: .*<argosy\|test\|bench\|chaos\|coverage\|e2e>/);
  });
});
