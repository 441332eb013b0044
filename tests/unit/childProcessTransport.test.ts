import assert from "node:assert/strict";
import { devNull } from "node:os";
import path from "node:path";
import { ChildProcessTransport } from "../../cli/handler/childProcessTransport";
import type { HandlerExit, HandlerProcess, HandlerTransport } from "../../runtime/handler/handlerTransport";
import { eventually } from "../support/eventually";
import { temporaryFolder } from "../support/temporaryFolder";
import { ECHO, isAlive, shellHandler } from "./support/handlers";
import { assertNone } from "./support/lists";

/** A process that was started, and all that it has told. */
class Listened {
  output = "";
  log = "";
  readonly exits: HandlerExit[] = [];
  readonly process: HandlerProcess;

  constructor(transport: HandlerTransport) {
    this.process = transport.start({
      output: (chunk) => {
        this.output += chunk;
      },
      log: (chunk) => {
        this.log += chunk;
      },
      exited: (exit) => this.exits.push(exit),
    });
  }

  async exit(): Promise<HandlerExit | undefined> {
    await eventually(() => assert.ok(this.exits.length > 0, "the process has ended"));
    return this.exits[0];
  }
}

describe("ChildProcessTransport", () => {
  let folder: string;
  beforeEach(() => {
    folder = temporaryFolder();
  });

  it("carries lines in and out, and ends the process by the end of its input", async () => {
    const handler = new Listened(shellHandler(ECHO));
    handler.process.write("one\n");
    handler.process.write("größer 🚢\n");
    handler.process.end();
    assert.deepStrictEqual(await handler.exit(), { code: 0, signal: null });
    assert.equal(handler.output, "one\ngrößer 🚢\n");
  });

  it("tells that there is no such folder, and not that there is no such command", async () => {
    const gone = path.join(folder, "gone");
    const transport = new ChildProcessTransport({ command: [process.execPath], folder: gone, env: {} });
    const exit = await new Listened(transport).exit();
    assert.equal(exit?.startError?.message, `its folder ${gone} does not exist`);
  });

  it("tells that the system takes no command with so much environment", async () => {
    const transport = new ChildProcessTransport({
      command: ["true"],
      folder,
      env: { LARGE: "x".repeat(200_000) },
    });
    const handler = new Listened(transport);
    handler.process.write("more\n");
    handler.process.end();
    assert.match((await handler.exit())?.startError?.message ?? "", /E2BIG/);
  });

  it("tells the exit once, although a grandchild holds the pipes open, and kills that grandchild", async () => {
    const handler = new Listened(shellHandler("sleep 60 & echo $!; exit 3"));
    assert.deepStrictEqual(await handler.exit(), { code: 3, signal: null });
    const grandchild = Number(handler.output);
    assert.ok(grandchild > 0);
    await eventually(() => assert.ok(!isAlive(grandchild), "the grandchild is dead"));
    assert.equal(handler.exits.length, 1);
  });

  it("lets go of the pipes that a process in a session of its own still holds, so that they keep no program alive", async () => {
    const endless = "while sleep 0.02; do echo more; echo more >&2; done";
    const handler = new Listened(shellHandler(`setsid sh -c '${endless}' & echo $!; sleep 0.1; exit 3`));
    assert.deepStrictEqual(await handler.exit(), { code: 3, signal: null });
    const { output } = handler;
    const daemon = Number.parseInt(output, 10);
    assert.ok(daemon > 0);
    try {
      await eventually(() => assert.ok(!isAlive(daemon), "its next word finds no reader"));
      assert.equal(handler.output, output, "nothing is told after the exit");
    } finally {
      if (isAlive(daemon)) process.kill(daemon, "SIGKILL");
    }
  });

  it("takes no harm from a write to a process that reads nothing any more", async () => {
    const handler = new Listened(shellHandler("exec <&-; sleep 0.05; exit 4"));
    const long = `${"x".repeat(1024 * 1024)}\n`;
    handler.process.write(long);
    assert.deepStrictEqual(await handler.exit(), { code: 4, signal: null });
    handler.process.write(long);
    handler.process.end();
    handler.process.kill();
  });

  it("gives the handler the operator's variables, and of ours only what finds an interpreter", async () => {
    const before = { ...process.env };
    Object.assign(process.env, { KUBECONFIG: "/secret", AWS_SECRET_ACCESS_KEY: "secret", HOME: "/home/me" });
    try {
      const handler = new Listened(
        new ChildProcessTransport({ command: ["env"], folder, env: { LEVEL: "debug", HOME: "/tmp" } }),
      );
      await handler.exit();
      const seen = Object.fromEntries(handler.output.split("\n").map((line) => line.split("=", 2)));
      assert.equal(seen.PATH, process.env.PATH);
      assert.deepStrictEqual([seen.LEVEL, seen.HOME], ["debug", "/tmp"]);
      // Not set, Kubernetes' clients would take the author's own in HOME.
      assert.equal(seen.KUBECONFIG, devNull);
      const allowed = [
        "PATH",
        "KUBECONFIG",
        "HOME",
        "LANG",
        "LC_ALL",
        "TMPDIR",
        "TZ",
        "PYENV_ROOT",
        "PYENV_VERSION",
        "LEVEL",
        "",
      ];
      assertNone(Object.keys(seen), (name) => !allowed.includes(name));
    } finally {
      for (const name of ["KUBECONFIG", "AWS_SECRET_ACCESS_KEY", "HOME"]) delete process.env[name];
      Object.assign(process.env, before);
    }
  });
});
