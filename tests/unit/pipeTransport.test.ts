import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  watch,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { HandlerPool } from "../../runtime/handler/handlerPool";
import type { HandlerExit, HandlerProcess, HandlerTransport } from "../../runtime/handler/handlerTransport";
import { openNamedPipe } from "../../runtime/pod/namedPipe";
import { PipeTransport } from "../../runtime/pod/pipeTransport";
import { ShellSession } from "../../runtime/pod/shellSession";
import { eventually } from "../support/eventually";
import { failureOf } from "./support/failures";
import { HandlerContainer, type Shell, shells } from "./support/handlerContainer";
import { ECHO, isAlive, question, SHELL } from "./support/handlers";

const KILLED: HandlerExit = { code: null, signal: "SIGKILL" };

/** A process that was started, and all that it has told. */
class Listened {
  readonly outputs: Buffer[] = [];
  readonly logs: Buffer[] = [];
  readonly exits: HandlerExit[] = [];
  readonly process: HandlerProcess;

  constructor(transport: HandlerTransport) {
    this.process = transport.start({
      output: (chunk) => this.told(() => this.outputs.push(chunk)),
      log: (chunk) => this.told(() => this.logs.push(chunk)),
      exited: (exit) => this.told(() => this.exits.push(exit)),
    });
  }

  get output(): string {
    return Buffer.concat(this.outputs).toString("utf8");
  }

  get log(): string {
    return Buffer.concat(this.logs).toString("utf8");
  }

  async exit(): Promise<HandlerExit | undefined> {
    await eventually(() => assert.ok(this.exits.length > 0, "the process has ended"));
    return this.exits[0];
  }

  private told(note: () => void): void {
    assert.equal(this.exits.length, 0, "the exit was not the last word");
    note();
  }
}

/** A runner of its own, which can crash. It starts one handler, asks it, and tells its answer. */
async function runnerProcess(
  folder: string,
  life: "resident" | "run",
): Promise<{ crash(): void; answer: string }> {
  const source = path.join(__dirname, "../../runtime/pod/pipeTransport");
  const script = `
    const { PipeTransport } = require(${JSON.stringify(source)});
    const transport = new PipeTransport(${JSON.stringify({ folder, life })});
    const nothing = () => {};
    const handler = transport.start({ output: (chunk) => process.stdout.write(chunk), log: nothing, exited: nothing });
    handler.write("question\\n");`;
  const runner = spawn(process.execPath, ["--require", "ts-node/register/transpile-only", "--eval", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [answer] = await once(runner.stdout, "data");
  return { crash: () => void runner.kill("SIGKILL"), answer: String(answer) };
}

function openDescriptors(): number {
  return readdirSync("/proc/self/fd").length;
}

for (const shell of shells()) describe(`PipeTransport, the shell being ${shell.name}`, () => behaves(shell));

function behaves(shell: Shell): void {
  let container: HandlerContainer;
  let transport: PipeTransport | undefined;
  let descriptors: number;
  // The first watch of a program takes a descriptor that Node keeps.
  before(() => watch(tmpdir()).close());
  beforeEach(() => {
    descriptors = openDescriptors();
  });
  afterEach(async () => {
    await transport?.close();
    transport = undefined;
    await container.remove();
    await eventually(() => assert.ok(openDescriptors() <= descriptors, "all descriptors are closed"));
  });

  /** A container with that command, its shell begun, and our end of it. */
  function runs(command: readonly string[], env: Readonly<Record<string, string>> = {}): PipeTransport {
    container = new HandlerContainer(shell, command, env).start();
    transport = new PipeTransport({ folder: container.pipes });
    return transport;
  }

  function runsScript(script: string, ...args: string[]): PipeTransport {
    return runs(["sh", "-c", script, "sh", ...args]);
  }

  /** The lines of a process, once they are as many. */
  async function lines(handler: Listened, count: number): Promise<string[]> {
    await eventually(() => assert.ok(handler.output.split("\n").length > count, "the handler has answered"));
    return handler.output.split("\n").slice(0, -1);
  }

  describe("as a child process", () => {
    it("carries lines in and out, and ends the process by the end of its input", async () => {
      const handler = new Listened(runsScript(ECHO));
      handler.process.write("one\n");
      handler.process.write("größer 🚢\n");
      handler.process.end();
      assert.deepStrictEqual(await handler.exit(), { code: 0, signal: null });
      assert.equal(handler.output, "one\ngrößer 🚢\n");
    });

    it("tells the exit code, after all that was written", async () => {
      const script = "echo out; echo err >&2; exit 7";
      runsScript(script);
      for (let turn = 0; turn < 20; turn++) {
        const handler = new Listened(transport as PipeTransport);
        assert.deepStrictEqual(await handler.exit(), { code: 7, signal: null });
        assert.deepStrictEqual([handler.output, handler.log], ["out\n", "err\n"]);
      }
    });

    it("tells the signal", async () => {
      const handler = new Listened(runsScript("kill -TERM $$"));
      assert.deepStrictEqual(await handler.exit(), { code: null, signal: "SIGTERM" });
    });

    it("tells that there is no such command", async () => {
      const exit = await new Listened(runs(["argosy-no-such-command"])).exit();
      assert.match(exit?.startError?.message ?? "", /execute '?argosy-no-such-command'?: No such file/);
    });

    it("tells that the command may not be executed", async () => {
      const handler = runs(["./main"]);
      writeFileSync(path.join(container.folder, "main"), "");
      assert.match(
        (await new Listened(handler).exit())?.startError?.message ?? "",
        /main'?: Permission denied/,
      );
    });

    it("takes a handler's own exit code 127 for what it is", async () => {
      const handler = new Listened(runsScript("echo 'setsid: not ours'; argosy-no-such-command"));
      assert.deepStrictEqual(await handler.exit(), { code: 127, signal: null });
      assert.match(handler.log, /not found/);
    });

    it("tells the exit once, although a grandchild holds the pipes open, and kills that grandchild", async () => {
      const handler = new Listened(runsScript("sleep 60 & echo $!; exit 3"));
      assert.deepStrictEqual(await handler.exit(), { code: 3, signal: null });
      const grandchild = Number(handler.output);
      assert.ok(grandchild > 0);
      await eventually(() => assert.ok(!isAlive(grandchild), "the grandchild is dead"));
      assert.equal(handler.exits.length, 1);
    });

    it("kills the whole process group, also of a handler that ignores SIGTERM", async () => {
      const handler = new Listened(
        runsScript("trap '' TERM; (sleep 20; echo late > late) & echo $!; sleep 60"),
      );
      const [grandchild] = await lines(handler, 1);
      handler.process.kill();
      handler.process.kill();
      assert.deepStrictEqual(await handler.exit(), KILLED);
      await eventually(() => assert.ok(!isAlive(Number(grandchild)), "the grandchild is dead"));
      assert.ok(!existsSync(path.join(container.folder, "late")));
    });

    it("kills a process that has not begun yet", async () => {
      const handler = new Listened(runsScript("sleep 60"));
      handler.process.kill();
      assert.deepStrictEqual(await handler.exit(), KILLED);
      await eventually(() => assert.ok(container.processes().length <= 1, "only the shell is left"));
    });

    it("takes no harm from a write to a process that reads nothing any more", async () => {
      const handler = new Listened(runsScript("exec <&-; sleep 0.05; exit 4"));
      const long = `${"x".repeat(1024 * 1024)}\n`;
      handler.process.write(long);
      handler.process.end();
      assert.deepStrictEqual(await handler.exit(), { code: 4, signal: null });
      handler.process.write(long);
      handler.process.end();
      handler.process.kill();
    });

    it("gives the handler its working directory, its arguments and its environment unchanged", async () => {
      const args = ["a b", 'it\'s "quoted"', "new\nline\n", "*", "$HOME `id` \\n", "", "-n", "größer 🚢"];
      const env = {
        ODD: " a  b\n*\"'\\ $HOME `id`\n",
        EMPTY: "",
        IFS: "x",
        id: "mine",
        dir: "mine",
        error: "mine",
        command: "mine",
        session: "mine",
        TMPDIR: "/mine",
      };
      const print =
        "const {argv, env} = process; console.log(JSON.stringify({argv: argv.slice(1), env, cwd: process.cwd()}))";
      const handler = new Listened(runs([process.execPath, "-e", print, "--", ...args], env));
      assert.deepStrictEqual(await handler.exit(), { code: 0, signal: null });
      const seen = JSON.parse(handler.output);
      assert.deepStrictEqual(seen.argv, args);
      assert.equal(seen.cwd, container.folder);
      const { IFS, ...others } = env;
      for (const [name, value] of Object.entries(others)) assert.equal(seen.env[name], value, name);
      assert.deepStrictEqual(
        Object.keys(seen.env).filter((name) => name.startsWith("argosy")),
        [],
      );
    });

    it("gives the handler its three streams, and nothing else of ours", async () => {
      const handler = new Listened(
        runsScript("ls -l /proc/self/fd; grep SigIgn /proc/self/status; sleep 0.05"),
      );
      await handler.exit();
      assert.equal([...handler.output.matchAll(/session\./g)].length, 3, handler.output);
      // SIGINT and SIGQUIT, as in whatever a shell runs in the background; not SIGTERM, SIGPIPE or SIGUSR1.
      const ignored = BigInt(`0x${/SigIgn:\s*(\w+)/.exec(handler.output)?.[1]}`);
      assert.equal(ignored & ~0b110n, 0n);
    });

    it("runs the image's program and not an applet of the same name", async () => {
      const program = spawnSync("sh", ["-c", "command -v cat"], { encoding: "utf8" }).stdout.trim();
      const handler = new Listened(runs(["cat"]));
      handler.process.write("x\n");
      await lines(handler, 1);
      const images = container
        .processes()
        .map((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")[0]);
      assert.ok(images.includes(program), images.join());
    });
  });

  describe("with hostile handlers", () => {
    it("carries lines of 1.5 MB both ways", async () => {
      const handler = new Listened(runs(["cat"]));
      const long = `${"ß🚢".repeat(260_000)}\n`;
      for (let turn = 1; turn <= 3; turn++) {
        handler.process.write(long);
        await eventually(() => {
          assert.equal(Buffer.concat(handler.outputs).length, turn * Buffer.byteLength(long));
        });
      }
      assert.equal(handler.output, long.repeat(3));
    });

    it("delivers 10 MB of standard error without a newline before the exit", async () => {
      const handler = new Listened(runsScript("head -c 10000000 /dev/zero >&2; printf end >&2; exit 1"));
      assert.deepStrictEqual(await handler.exit(), { code: 1, signal: null });
      assert.equal(handler.log.length, 10_000_003);
      assert.match(handler.log, /end$/);
    });

    it("notices the exit of one that has closed its streams, no sooner than it comes", async () => {
      const handler = new Listened(runsScript("exec <&- >&- 2>&-; sleep 0.3; exit 5"));
      assert.deepStrictEqual(await handler.exit(), { code: 5, signal: null });
    });

    it("kills one that has closed its streams", async () => {
      const handler = new Listened(runsScript("echo $$; exec <&- >&- 2>&-; while :; do sleep 1; done"));
      const [pid] = await lines(handler, 1);
      handler.process.kill();
      assert.deepStrictEqual(await handler.exit(), KILLED);
      await eventually(() => assert.ok(!isAlive(Number(pid)), "it is dead"));
    });

    it("is not held up by a daemon that leaves the group with the pipes open", async () => {
      const handler = new Listened(runsScript("setsid sleep 60 & sleep 0.1; echo done; exit 6"));
      assert.deepStrictEqual(await handler.exit(), { code: 6, signal: null });
      assert.equal(handler.output, "done\n");
      const next = new Listened(transport as PipeTransport);
      assert.deepStrictEqual(await next.exit(), { code: 6, signal: null });
    });

    it("runs 64 processes at once, each with its own words", async () => {
      runsScript(ECHO);
      const handlers = Array.from({ length: 64 }, () => new Listened(transport as PipeTransport));
      for (const [number, { process }] of handlers.entries()) process.write(`number ${number}\n`);
      for (const [number, handler] of handlers.entries()) {
        await eventually(() => assert.ok(handler.output === `number ${number}\n`, "it has answered"));
      }
      for (const { process } of handlers) process.end();
      for (const handler of handlers) assert.deepStrictEqual(await handler.exit(), { code: 0, signal: null });
      await eventually(() => assert.ok(container.processes().length === 1, "only the shell is left"));
    });

    it("never gives a process what another left unread", async () => {
      runsScript('read -r line; echo "$line"; exit 1');
      for (let turn = 0; turn < 10; turn++) {
        const handler = new Listened(transport as PipeTransport);
        handler.process.write(`first ${turn}\n${"left over\n".repeat(10_000)}`);
        assert.deepStrictEqual(await handler.exit(), { code: 1, signal: null });
        assert.equal(handler.output, `first ${turn}\n`);
      }
    });

    it("gives a process up whose supervisor was killed, once it is to be killed", async () => {
      // Not before it has told that the process runs: then the names of its pipes are gone.
      const isKnown = "while [ -e ../pipes/session.*/*.in ]; do sleep 0.1; done";
      const handler = new Listened(runsScript(`${isKnown}; kill -KILL $PPID; echo $$; sleep 60`));
      const [pid] = await lines(handler, 1);
      handler.process.kill();
      assert.deepStrictEqual(await handler.exit(), KILLED);
      await eventually(() => assert.ok(!isAlive(Number(pid)), "it is dead"));
    });

    it("loses the session and goes on, where a handler writes nonsense into the shell's reports", async () => {
      runsScript("read -r line; head -c 100000 /dev/zero | tee ../pipes/session.*/reports > /dev/null; cat");
      const hostile = new Listened(transport as PipeTransport);
      hostile.process.write("now\n");
      assert.deepStrictEqual(await hostile.exit(), KILLED);
      const next = new Listened(transport as PipeTransport);
      next.process.end();
      await next.exit();
    });

    it("ignores reports of processes that it never asked for", async () => {
      runsScript(
        `for word in made running exit failed x ""; do echo "$word 99 4194303" | tee ../pipes/session.*/reports; done; exit 2`,
      );
      assert.deepStrictEqual(await new Listened(transport as PipeTransport).exit(), {
        code: 2,
        signal: null,
      });
    });

    it("opens nothing but named pipes", async () => {
      runs(["cat"]);
      const file = path.join(container.root, "file");
      const link = path.join(container.root, "link");
      const pipe = path.join(container.root, "pipe");
      writeFileSync(file, "secret");
      spawnSync("mkfifo", [pipe]);
      symlinkSync(pipe, link);
      assert.throws(() => openNamedPipe(file, "read"), /is not a named pipe/);
      assert.throws(() => openNamedPipe(link, "read"), /ELOOP/);
      openNamedPipe(pipe, "read").destroy();
    });
  });
  describe("over time", () => {
    it("leaves no file, no process and no descriptor of a process that has gone", async () => {
      runsScript('echo up; read -r line; echo "$line"; exit 1');
      const first = new Listened(transport as PipeTransport);
      await lines(first, 1);
      const before = openDescriptors();
      for (let turn = 0; turn < 30; turn++) {
        const handler = new Listened(transport as PipeTransport);
        if (turn % 3 === 0) handler.process.kill();
        else handler.process.write("line\n");
        await handler.exit();
      }
      await eventually(() => assert.ok(container.processes().length === 3, "only the first is left"));
      await eventually(() =>
        assert.ok(!container.files().some((name) => /\d\.(in|out|err)$/.test(name)), "no pipe is left"),
      );
      await eventually(() => assert.ok(openDescriptors() <= before, "no descriptor is left"));
      first.process.kill();
      await first.exit();
    });

    it("starts what was asked for before the shell was there", async () => {
      container = new HandlerContainer(shell, ["cat"]);
      transport = new PipeTransport({ folder: container.pipes });
      const handler = new Listened(transport);
      handler.process.write("early\n");
      handler.process.end();
      assert.match(transport.whyNotReady ?? "", /"handler" is not there/);
      container.start();
      await transport.ready(10_000);
      assert.equal(transport.whyNotReady, undefined);
      assert.deepStrictEqual(await handler.exit(), { code: 0, signal: null });
      assert.equal(handler.output, "early\n");
    });

    it("says that the handler's container is not there, after a while", async () => {
      container = new HandlerContainer(shell, ["cat"]);
      transport = new PipeTransport({ folder: container.pipes, startTimeoutMs: 50 });
      const exit = await new Listened(transport).exit();
      assert.match(exit?.startError?.message ?? "", /container "handler" .*within 0.05 s/);
      await assert.rejects(transport.ready(20), /container "handler" was not there within 0.02 s/);
    });

    it("is not confused by what an earlier pod's containers have left", async () => {
      container = new HandlerContainer(shell, ["cat"]).start();
      await eventually(() => assert.ok(container.files().includes("session"), "it waits for a runner"));
      await container.kill();
      assert.ok(container.files().includes("session"));
      transport = new PipeTransport({ folder: container.pipes });
      const handler = new Listened(transport);
      handler.process.end();
      assert.match(transport.whyNotReady ?? "", /not there/);
      container.start();
      assert.deepStrictEqual(await handler.exit(), { code: 0, signal: null });
      assert.equal(container.files().filter((name) => /^session\.\w+$/.test(name)).length, 1);
    });

    it("reports every process when the handler's container ends, and goes on with the next", async () => {
      runsScript(`echo started; ${ECHO}`);
      const handlers = Array.from({ length: 5 }, () => new Listened(transport as PipeTransport));
      for (const handler of handlers) await lines(handler, 1);
      await container.kill();
      for (const handler of handlers) {
        assert.deepStrictEqual(await handler.exit(), KILLED);
        assert.match(handler.log, /container has ended/);
      }
      const next = new Listened(transport as PipeTransport);
      container.start();
      assert.deepStrictEqual(await lines(next, 1), ["started"]);
    });

    it("asks the next shell for what had not begun when the first one ended", async () => {
      runs(["cat"]);
      await transport?.ready(10_000);
      container.shell?.kill("SIGSTOP");
      const handler = new Listened(transport as PipeTransport);
      handler.process.write("patient\n");
      await container.kill();
      container.start();
      assert.deepStrictEqual(await lines(handler, 1), ["patient"]);
    });

    it("kills the handlers of a runner that crashed, and serves the next runner", async () => {
      container = new HandlerContainer(shell, ["sh", "-c", `trap '' TERM; ${ECHO}; sleep 60`]).start();
      const runner = await runnerProcess(container.pipes, "resident");
      assert.equal(runner.answer, "question\n");
      const before = container.processes();
      runner.crash();
      await eventually(() => assert.ok(container.processes().length <= 3, "its handlers are dead"));
      transport = new PipeTransport({ folder: container.pipes });
      const handler = new Listened(transport);
      handler.process.write("next\n");
      assert.deepStrictEqual(await lines(handler, 1), ["next"]);
      const survivors = before.filter(isAlive);
      assert.deepStrictEqual(survivors, [container.shell?.pid]);
      assert.equal(container.files().filter((name) => /^session\.\w+$/.test(name)).length, 1);
    });

    it("sees that a shell has gone that had closed one of its pipes when it was greeted", async () => {
      container = new HandlerContainer(shell, ["cat"]);
      const session = path.join(container.pipes, "session.dying");
      mkdirSync(session);
      for (const name of ["control", "reports"]) execFileSync("mkfifo", [path.join(session, name)]);
      const control = openSync(path.join(session, "control"), constants.O_RDWR);
      writeFileSync(path.join(container.pipes, "session"), path.basename(session));
      let over = false;
      const greeted = ShellSession.greet(container.pipes, "resident", {
        reported: () => {},
        over: () => {
          over = true;
        },
      });
      assert.ok(greeted);
      closeSync(control);
      await eventually(() => assert.ok(over, "the session is over"));
    });

    it("gives a runner that finds another's session one of its own, and kills that one's handlers", async () => {
      container = new HandlerContainer(shell, ["sleep", "60"]).start();
      await eventually(() => assert.ok(container.files().includes("session"), "it waits for a runner"));
      const announced = readFileSync(path.join(container.pipes, "session"), "utf8");
      let over = false;
      const first = ShellSession.greet(container.pipes, "resident", {
        reported: () => {},
        over: () => {
          over = true;
        },
      });
      first?.tell("start", 1);
      await eventually(() =>
        assert.ok(container.processes().length >= 2 && !published(), "the first is greeted"),
      );
      writeFileSync(path.join(container.pipes, "session"), announced);
      transport = new PipeTransport({ folder: container.pipes });
      const handler = new Listened(transport);
      await eventually(() => assert.ok(over, "the first session is over"));
      handler.process.kill();
      assert.deepStrictEqual(await handler.exit(), KILLED);
      await eventually(() => assert.ok(container.processes().length === 1, "only the shell is left"));

      function published(): boolean {
        return container.files().includes("session");
      }
    });
  });

  describe("at the end of a pod", () => {
    it("ends the shell with exit code 0, and every process that there still is", async () => {
      const handler = new Listened(runsScript("trap '' TERM; echo started; sleep 60"));
      await lines(handler, 1);
      await transport?.close();
      await handler.exit();
      await eventually(() => assert.ok(container.exitCode === 0, "the shell has ended"));
      assert.deepStrictEqual(container.processes(), []);
      assert.deepStrictEqual(container.files(), []);
      const late = await new Listened(transport as PipeTransport).exit();
      assert.match(late?.startError?.message ?? "", /any more/);
    });

    it("ends a shell that comes after the runner has closed, and only one", async () => {
      container = new HandlerContainer(shell, ["cat"]);
      await new PipeTransport({ folder: container.pipes }).close();
      container.start();
      await eventually(() => assert.ok(container.exitCode === 0, "the shell has ended"));
      assert.deepStrictEqual(container.files(), []);
      container.start();
      await eventually(() => assert.ok(container.files().includes("session"), "it waits for a runner"));
    });

    it("forgets the word of the runner before it", async () => {
      container = new HandlerContainer(shell, ["cat"]);
      await new PipeTransport({ folder: container.pipes }).close();
      transport = new PipeTransport({ folder: container.pipes });
      container.start();
      await transport.ready(10_000);
    });

    it("keeps the shell through SIGTERM as long as the runner needs it", async () => {
      runsScript(ECHO);
      await transport?.ready(10_000);
      await eventually(() => assert.ok(!container.files().includes("session"), "it is greeted"));
      container.shell?.kill("SIGTERM");
      const handler = new Listened(transport as PipeTransport);
      handler.process.write("last\n");
      assert.deepStrictEqual(await lines(handler, 1), ["last"]);
      container.shell?.kill("SIGTERM");
      await transport?.close();
      await eventually(() => assert.ok(container.exitCode === 0, "the shell has ended"));
    });

    it("ends the shell by SIGTERM where no runner is there", async () => {
      container = new HandlerContainer(shell, ["cat"]).start();
      await eventually(() => assert.ok(container.files().includes("session"), "it waits for a runner"));
      container.shell?.kill("SIGTERM");
      await eventually(() => assert.ok(container.exitCode === 0, "the shell has ended"));
      await eventually(() => assert.ok(container.processes().length === 0, "nothing is left"));
    });

    it("ends the shell where no runner comes within its patience, and takes that for no part of the command", async () => {
      container = new HandlerContainer(shell, ["--patience=1", "cat"]).start();
      await eventually(() => assert.ok(container.exitCode === 0, "the shell has ended"));
      await eventually(() => assert.ok(container.processes().length === 0, "nothing is left"));
      await container.remove();
      container = new HandlerContainer(shell, ["--patience=600", "cat"]).start();
      transport = new PipeTransport({ folder: container.pipes });
      const handler = new Listened(transport);
      handler.process.write("here\n");
      assert.deepStrictEqual(await lines(handler, 1), ["here"]);
    });

    it("ends the shell by SIGTERM at any moment of its wait, and leaves nothing", async () => {
      container = new HandlerContainer(shell, ["cat"]);
      for (let round = 0; round < 40; round++) {
        container.start();
        while (!container.files().includes("session")) await new Promise(setImmediate);
        const until = performance.now() + round / 20;
        while (performance.now() < until) await new Promise(setImmediate);
        await eventually(() => {
          // A shell that is about to read sees a signal only after it has read, or at the next one.
          container.shell?.kill("SIGTERM");
          assert.equal(container.exitCode, 0);
        });
        await eventually(() => assert.ok(container.processes().length === 0, "nothing is left"));
      }
    });

    it("ends the shell of a run with its runner, even one that crashed", async () => {
      container = new HandlerContainer(shell, ["sh", "-c", `${ECHO}; sleep 60`]).start();
      const runner = await runnerProcess(container.pipes, "run");
      runner.crash();
      await eventually(() => assert.ok(container.exitCode === 0, "the shell has ended"));
      assert.deepStrictEqual(container.processes(), []);
    });
  });

  describe("beneath a HandlerPool", () => {
    /** Answers every question with its number, and does what it says first. */
    const OBEDIENT = `${SHELL} while next; do number=\${word%% *}; case \${word#* } in
      crash) exit 9 ;; hang) sleep 60 ;; twice) say "$number" ;; slow) sleep 0.02 ;; stray) echo '{}' ;;
      log) echo "log $number" >&2 ;; esac; say "$number"; done`;

    it("answers each question with its own answer, whatever happens in between", async () => {
      runsScript(OBEDIENT);
      const verb = fc.constantFrom(
        "answer",
        "answer",
        "answer",
        "crash",
        "hang",
        "twice",
        "stray",
        "slow",
        "log",
      );
      await fc.assert(
        fc.asyncProperty(fc.array(verb, { minLength: 1, maxLength: 30 }), async (verbs) => {
          const pool = new HandlerPool({
            transport: transport as PipeTransport,
            // What hangs may also be killed before it has begun. Nothing else is to be.
            timeoutMs: ({ object }) => (object.metadata.name.endsWith(" hang") ? 300 : 60_000),
          });
          const answers = await Promise.all(
            verbs.map((word, id) => pool.ask(question(`${id} ${word}`)).catch((failure) => failure)),
          );
          await pool.close();
          for (const [id, answer] of answers.entries()) {
            if (answer instanceof Error) assert.match(verbs[id] ?? "", /crash|hang|stray/, answer.message);
            else assert.equal(answer.answer["word"], String(id));
          }
          await eventually(() => assert.ok(container.processes().length === 1, "only the shell is left"));
        }),
        { numRuns: 10 },
      );
    });

    it("reports a crash and starts a new process", async () => {
      const pool = new HandlerPool({ transport: runsScript(OBEDIENT), timeoutMs: 10_000 });
      const failure = await failureOf(() => pool.ask(question("1 crash")));
      assert.equal(failure.message, "the handler ended with exit code 9");
      assert.equal((await pool.ask(question("2 answer"))).answer["word"], "2");
      assert.equal((await pool.ask(question("3 log"))).log, "log 3\n");
      await pool.close();
    });

    it("tells that the program is missing", async () => {
      const pool = new HandlerPool({ transport: runs(["argosy-no-such-command"]), timeoutMs: 10_000 });
      const failure = await failureOf(() => pool.ask(question()));
      assert.equal(failure.reason, "HandlerNotStarted");
      assert.match(failure.message, /argosy-no-such-command/);
      await pool.close();
    });
  });

  it("keeps every process's words apart, in every order of events", async () => {
    runsScript(
      'while read -r verb word; do case $verb in say) echo "$word" ;; exit) exit "$word" ;; esac; done',
    );
    const process = fc.nat(5);
    const event = fc.oneof(
      fc.record({ what: fc.constant("start" as const), process }),
      fc.record({ what: fc.constant("say" as const), process }),
      fc.record({ what: fc.constantFrom("end" as const, "kill" as const, "exit" as const), process }),
      fc.record({ what: fc.constant("pause" as const), process }),
    );
    let words = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 40 }), async (events) => {
        const all: { handler: Listened; said: string[]; last?: "end" | "kill" | "exit" }[] = [];
        for (const { what, process } of events) {
          if (what === "start") all.push({ handler: new Listened(transport as PipeTransport), said: [] });
          if (what === "pause") await new Promise((resolve) => setTimeout(resolve, process));
          const chosen = all.at(-1 - process);
          if (!chosen || chosen.last) continue;
          if (what === "say") {
            chosen.said.push(`word-${++words}`);
            chosen.handler.process.write(`say word-${words}\n`);
          }
          if (what === "exit") chosen.handler.process.write("exit 7\n");
          if (what === "end") chosen.handler.process.end();
          if (what === "kill") chosen.handler.process.kill();
          if (what === "exit" || what === "end" || what === "kill") chosen.last = what;
        }
        for (const { handler, said, last = "end" } of all) {
          handler.process.end();
          const exit = await handler.exit();
          const whole = said.map((word) => `${word}\n`).join("");
          if (last === "kill" && exit?.signal === "SIGKILL") assert.ok(whole.startsWith(handler.output));
          else assert.equal(handler.output, whole);
          if (last === "end") assert.deepStrictEqual(exit, { code: 0, signal: null });
          if (last === "exit") assert.deepStrictEqual(exit, { code: 7, signal: null });
        }
        await eventually(() => assert.ok(container.processes().length === 1, "only the shell is left"));
      }),
      { numRuns: 30 },
    );
  });
}
