import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { isRunning } from "../../cli/common/isRunning";
import { eventually } from "../support/eventually";
import { writeFolder } from "./operatorFolder";

const ROOT = path.resolve(__dirname, "../..");

describe("cli: what a process leaves when it exits", () => {
  let folder: string;
  beforeEach(() => {
    folder = writeFolder({});
  });

  /** Runs a program that has the command line's sources, to its end. */
  function run(program: string): void {
    const { status, stderr } = spawnSync(process.execPath, ["-e", `require("tsx/cjs");${program}`], {
      cwd: ROOT,
      env: { ...process.env, TMPDIR: folder, NODE_OPTIONS: "--conditions=@argosy-dev/source" },
      encoding: "utf8",
    });
    assert.equal(status, 7, stderr);
  }

  it("is no handler, even if that hangs", async () => {
    const pid = path.join(folder, "pid");
    const handler = {
      image: "a:1",
      command: ["sh", "-c", `echo $$ > ${pid}.next; mv ${pid}.next ${pid}; exec sleep 300`],
    };
    run(`
      const { localHandler } = require("./cli/handler/localHandler.ts");
      const operator = ${JSON.stringify({ handler, folder, include: [] })};
      localHandler(operator, {}).start({ output() {}, log() {}, exited() {} });
      setInterval(() => require("node:fs").existsSync(${JSON.stringify(pid)}) && process.exit(7), 10);`);
    assert.ok(existsSync(pid));
    await eventually(() => assert.ok(!isRunning(Number(readFileSync(pid, "utf8")))));
  });

  it("is no folder of temporary files", () => {
    run(`
      const { scratchFolder } = require("./cli/common/scratchFolder.ts");
      require("node:fs").writeFileSync(scratchFolder("argosy-test").path + "/a", "a");
      process.exit(7);`);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith("argosy-test")),
      [],
    );
  });
});
