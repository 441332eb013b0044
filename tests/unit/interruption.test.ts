import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { interruptible } from "../../cli/common/interruption";
import { isRunning } from "../../cli/common/isRunning";
import { eventually } from "../support/eventually";
import { writeFolder } from "./operatorFolder";
import { assertNone } from "./support/lists";

describe("the signal of a command", () => {
  it("may have as many listeners as there are operators: Node warns of no leak", async () => {
    const warnings: string[] = [];
    const onWarning = ({ name, message }: Error) => void warnings.push(`${name}: ${message}`);
    process.on("warning", onWarning);
    try {
      await interruptible(async (signal) => {
        for (let operator = 0; operator < 30; operator++) signal.addEventListener("abort", () => {});
        // A warning comes in a later turn.
        await sleep(10);
      });
    } finally {
      process.off("warning", onWarning);
    }
    assert.deepEqual(warnings, []);
  });
});

describe("Ctrl-C", () => {
  /** Runs a command whose action never ends, and interrupts it. Its process tells by "asked" that the action runs. */
  const interrupted = async (action: string) => {
    const program = `
      require("tsx/cjs");
      const { Command } = require("commander");
      const { runCommand } = require("./cli/common/command.ts");
      const forever = () => { setInterval(() => {}, 1000); console.log("asked"); return new Promise(() => {}); };
      runCommand({ command: new Command("sail"), ${action} }, []).then((code) => { process.exitCode = code; });`;
    const child = spawn(process.execPath, ["-e", program], { cwd: path.resolve(__dirname, "../..") });
    try {
      await once(child.stdout, "data");
      child.kill("SIGINT");
      const [code] = await once(child, "exit", { signal: AbortSignal.timeout(20_000) });
      return code;
    } finally {
      child.kill("SIGKILL");
    }
  };

  it("ends a command at once that has nothing to clean up, although its work never ends", async () => {
    assert.equal(await interrupted("run: forever"), 130);
  });

  it("lets a command clean up first that has something to", async () => {
    const cleaning = `(signal) => new Promise((_, reject) => {
      const timer = setInterval(() => {}, 1000);
      signal.addEventListener("abort", () => setTimeout(() => { clearInterval(timer); reject(signal.reason); }, 50));
      console.log("asked");
    })`;
    assert.equal(await interrupted(`runUntil: ${cleaning}`), 130);
  });
});

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
    assertNone(readdirSync(folder), (name) => name.startsWith("argosy-test"));
  });
});
