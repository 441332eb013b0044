import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isRunning } from "../../cli/common/isRunning";
import { Watchdog } from "../../cli/controlPlane/watchdog";
import { eventually } from "../support/eventually";

const forever = ["-e", "setInterval(() => {}, 1000)"];
const project = join(__dirname, "..", "..");

function idOf(child: ChildProcess): number {
  assert.ok(child.pid);
  return child.pid;
}

describe("the control plane's watchdog", function () {
  this.timeout(20_000);
  let directory: string;
  let program: string;
  const started: ChildProcess[] = [];

  beforeEach(async () => {
    directory = await realpath(await mkdtemp(join(tmpdir(), "watch.dog-")));
    program = join(directory, "bin", "etcd");
    await mkdir(join(directory, "bin"));
    await symlink(process.execPath, program);
  });
  afterEach(async () => {
    for (const child of started.splice(0)) child.kill("SIGKILL");
    await rm(directory, { recursive: true, force: true });
  });

  async function start(command: string, commandArguments: string[]): Promise<ChildProcess> {
    const child = spawn(command, commandArguments, { stdio: ["ignore", "pipe", "inherit"], cwd: project });
    started.push(child);
    await once(child, "spawn");
    return child;
  }

  /** A process that watches over the directory, prepares, says so, and then does what the script says. */
  async function startOwner(script: string, prepare = ""): Promise<ChildProcess> {
    const path = JSON.stringify(join(project, "cli", "controlPlane", "watchdog"));
    const watch = `new (require(${path}).Watchdog)(${JSON.stringify(directory)}); ${prepare}; console.log("ready"); ${script}`;
    const owner = await start(process.execPath, ["--require", "tsx/cjs", "--eval", watch]);
    assert.ok(owner.stdout);
    await once(owner.stdout, "data");
    return owner;
  }

  it("ends the programs and removes the directory on stop(), which may be called again", async () => {
    const component = await start(program, forever);
    const watchdog = new Watchdog(directory);
    await Promise.all([watchdog.stop(), watchdog.stop()]);
    assert.ok(!isRunning(idOf(component)));
    assert.ok(!existsSync(directory));
    await watchdog.stop();
  });

  it("lets those live that only use a file of the directory", async () => {
    const reader = await start(process.execPath, [...forever, join(directory, "kubeconfig")]);
    await new Watchdog(directory).stop();
    assert.ok(isRunning(idOf(reader)));
  });

  it("lets those live whose directory merely begins with the same letters", async () => {
    const sibling = `${directory}-2`;
    await mkdir(sibling);
    await symlink(process.execPath, join(sibling, "etcd"));
    try {
      const other = await start(join(sibling, "etcd"), forever);
      await new Watchdog(directory).stop();
      assert.ok(isRunning(idOf(other)));
    } finally {
      await rm(sibling, { recursive: true });
    }
  });

  for (const signal of ["SIGKILL", "SIGINT"] as const) {
    it(`ends the programs of a process that was ended by ${signal}`, async () => {
      const component = await start(program, forever);
      const owner = await startOwner("setInterval(() => {}, 1000)");
      owner.kill(signal);
      await eventually(() => assert.ok(!isRunning(idOf(component)) && !existsSync(directory)));
    });
  }

  for (const [what, script] of [
    ["calls process.exit", "process.exit(7)"],
    ["has nothing left to do", ""],
    // It has no standard error, on which Node would show the exception.
    ["dies of an uncaught exception", "fs.closeSync(2); throw new Error()"],
  ] as const) {
    it(`has ended the programs by the time a process is gone that ${what}`, async () => {
      const component = await start(program, forever);
      const owner = await startOwner(script);
      if (owner.exitCode === null) await once(owner, "exit");
      assert.ok(!isRunning(idOf(component)));
      assert.ok(!existsSync(directory));
    });
  }

  it("lets the owner's own handler of Ctrl-C finish first", async () => {
    const component = await start(program, forever);
    const mark = join(directory, "still-here");
    await writeFile(mark, "");
    const seen = `console.log(require("fs").existsSync(${JSON.stringify(mark)}))`;
    const handler = `process.on("SIGINT", () => setTimeout(() => { ${seen}; process.exit(); }, 300))`;
    const owner = await startOwner("setInterval(() => {}, 1000)", handler);
    let output = "";
    owner.stdout?.on("data", (part) => {
      output += part;
    });
    owner.kill("SIGINT");
    await once(owner, "close");
    assert.equal(output.trim(), "true");
    assert.ok(!isRunning(idOf(component)));
  });
});
