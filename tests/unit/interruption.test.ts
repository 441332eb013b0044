import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { interruptible } from "../../cli/common/interruption";
import { writeFolder } from "./operatorFolder";
import { assertNone } from "./support/lists";

const ROOT = path.resolve(__dirname, "../..");

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

// cliTest.test.ts shows that Ctrl-C ends a command at once that has nothing to clean up, with its handlers.
describe("the end of a command's process", () => {
  it("waits on Ctrl-C for what the command cleans up", async () => {
    const program = `
      require("tsx/cjs");
      const { Command } = require("commander");
      const { runCommand } = require("./cli/common/command.ts");
      const runUntil = (signal) => new Promise((_, reject) => {
        const timer = setInterval(() => {}, 1000);
        signal.addEventListener("abort", () => setTimeout(() => { clearInterval(timer); reject(signal.reason); }, 50));
        console.log("asked");
      });
      runCommand({ command: new Command("sail"), runUntil }, []).then((code) => { process.exitCode = code; });`;
    const child = spawn(process.execPath, ["-e", program], { cwd: ROOT });
    try {
      await once(child.stdout, "data");
      child.kill("SIGINT");
      assert.deepEqual(await once(child, "exit", { signal: AbortSignal.timeout(20_000) }), [130, null]);
    } finally {
      child.kill("SIGKILL");
    }
  });

  it("leaves no folder of temporary files", () => {
    const folder = writeFolder({});
    const program = `
      require("tsx/cjs");
      const { scratchFolder } = require("./cli/common/scratchFolder.ts");
      require("node:fs").writeFileSync(scratchFolder("argosy-test").path + "/a", "a");
      process.exit(7);`;
    const { status, stderr } = spawnSync(process.execPath, ["-e", program], {
      cwd: ROOT,
      env: { ...process.env, TMPDIR: folder, NODE_OPTIONS: "--conditions=@argosy-dev/source" },
      encoding: "utf8",
    });
    assert.equal(status, 7, stderr);
    assertNone(readdirSync(folder), (name) => name.startsWith("argosy-test"));
  });
});
