import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { PipeTransport } from "../../runtime/handler/container/pipeTransport";
import { ShellSession } from "../../runtime/handler/container/shellSession";
import { soon } from "../support/eventually";
import { HandlerContainer, type Shell, shells } from "./support/handlerContainer";
import { ECHO, isAlive } from "./support/handlers";
import { KILLED, Listened, openDescriptors, usePipes } from "./support/pipeBench";

/** A runner of its own, which can crash. It starts one handler, asks it, and tells its answer. */
async function runnerProcess(
  folder: string,
  life: "resident" | "run",
): Promise<{ crash(): void; answer: string }> {
  const source = path.join(__dirname, "../../runtime/handler/container/pipeTransport");
  const script = `
    const { PipeTransport } = require(${JSON.stringify(source)});
    const transport = new PipeTransport(${JSON.stringify({ folder, life })});
    const nothing = () => {};
    const handler = transport.start({ output: (chunk) => process.stdout.write(chunk), log: nothing, exited: nothing });
    handler.write("question\\n");`;
  const runner = spawn(process.execPath, ["--require", "tsx/cjs", "--eval", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [answer] = await once(runner.stdout, "data");
  return { crash: () => void runner.kill("SIGKILL"), answer: String(answer) };
}

for (const shell of shells()) describe(`PipeTransport, the shell being ${shell.name}`, () => behaves(shell));

function behaves(shell: Shell): void {
  const bench = usePipes(shell);

  describe("over time", () => {
    it("leaves no file, no process and no descriptor of a process that has gone", async () => {
      bench.runsScript('echo up; read -r line; echo "$line"; exit 1');
      const first = new Listened(bench.transport as PipeTransport);
      await bench.lines(first, 1);
      const before = openDescriptors();
      for (let turn = 0; turn < 30; turn++) {
        const handler = new Listened(bench.transport as PipeTransport);
        if (turn % 3 === 0) handler.process.kill();
        else handler.process.write("line\n");
        await handler.exit();
      }
      await soon(() => assert.ok(bench.container.processes().length === 3, "only the first is left"));
      await soon(() =>
        assert.ok(!bench.container.files().some((name) => /\d\.(in|out|err)$/.test(name)), "no pipe is left"),
      );
      await soon(() => assert.ok(openDescriptors() <= before, "no descriptor is left"));
      first.process.kill();
      await first.exit();
    });

    it("starts what was asked for before the shell ran", async () => {
      bench.container = new HandlerContainer(shell, ["cat"]);
      bench.transport = new PipeTransport({ folder: bench.container.pipes });
      const handler = new Listened(bench.transport);
      handler.process.write("early\n");
      handler.process.end();
      assert.match(bench.transport.whyNotReady ?? "", /"handler" is not there/);
      bench.container.start();
      await bench.transport.ready(10_000);
      assert.equal(bench.transport.whyNotReady, undefined);
      assert.deepStrictEqual(await handler.exit(), { code: 0, signal: null });
      assert.equal(handler.output, "early\n");
    });

    it("knows what of a shell's environment must not be reported, before its first process", async () => {
      const values = {
        LINES: "one\ntwo 'and' $three",
        NONE: "",
        LONG: "größer".repeat(10_000),
        NOT: "shown",
      };
      const names = Object.keys(values).filter((name) => name !== "NOT");
      const words = names.map((name) => `--hidden=${name}`);
      bench.transport = bench.runs([...words, "sh", "-c", 'echo "$LINES"'], values);
      await new Listened(bench.transport).exit();
      const told = () => bench.transport?.hidden().map((each) => Buffer.from(each, "base64").toString());
      assert.deepEqual(told(), [`${values.LINES}\n`, "\n", `${values.LONG}\n`]);
    });

    it("says that the handler's container does not run, after a while", async () => {
      bench.container = new HandlerContainer(shell, ["cat"]);
      bench.transport = new PipeTransport({ folder: bench.container.pipes, startTimeoutMs: 50 });
      const exit = await new Listened(bench.transport).exit();
      assert.match(exit?.startError?.message ?? "", /container "handler" .*within 0.05 s/);
      await assert.rejects(bench.transport.ready(20), /container "handler" was not there within 0.02 s/);
    });

    it("is not confused by what an earlier pod's containers have left", async () => {
      bench.container = new HandlerContainer(shell, ["cat"]).start();
      await soon(() => assert.ok(bench.container.files().includes("session"), "it waits for a runner"));
      await bench.container.kill();
      assert.ok(bench.container.files().includes("session"));
      bench.transport = new PipeTransport({ folder: bench.container.pipes });
      const handler = new Listened(bench.transport);
      handler.process.end();
      assert.match(bench.transport.whyNotReady ?? "", /not there/);
      bench.container.start();
      assert.deepStrictEqual(await handler.exit(), { code: 0, signal: null });
      assert.equal(bench.container.files().filter((name) => /^session\.\w+$/.test(name)).length, 1);
    });

    it("reports every process when the handler's container ends, and goes on with the next", async () => {
      bench.runsScript(`echo started; ${ECHO}`);
      const handlers = Array.from({ length: 5 }, () => new Listened(bench.transport as PipeTransport));
      for (const handler of handlers) await bench.lines(handler, 1);
      await bench.container.kill();
      for (const handler of handlers) {
        assert.deepStrictEqual(await handler.exit(), KILLED);
        assert.match(handler.log, /container has ended/);
      }
      const next = new Listened(bench.transport as PipeTransport);
      bench.container.start();
      assert.deepStrictEqual(await bench.lines(next, 1), ["started"]);
    });

    it("asks the next shell for what had not begun when the first one ended", async () => {
      bench.runs(["cat"]);
      await bench.transport?.ready(10_000);
      bench.container.shell?.kill("SIGSTOP");
      const handler = new Listened(bench.transport as PipeTransport);
      handler.process.write("patient\n");
      await bench.container.kill();
      bench.container.start();
      assert.deepStrictEqual(await bench.lines(handler, 1), ["patient"]);
    });

    it("kills the handlers of a runner that crashed, and serves the next runner", async () => {
      bench.container = new HandlerContainer(shell, ["sh", "-c", `trap '' TERM; ${ECHO}; sleep 60`]).start();
      const runner = await runnerProcess(bench.container.pipes, "resident");
      assert.equal(runner.answer, "question\n");
      const before = bench.container.processes();
      runner.crash();
      await soon(() => assert.ok(bench.container.processes().length <= 3, "its handlers are dead"));
      bench.transport = new PipeTransport({ folder: bench.container.pipes });
      const handler = new Listened(bench.transport);
      handler.process.write("next\n");
      assert.deepStrictEqual(await bench.lines(handler, 1), ["next"]);
      const survivors = before.filter(isAlive);
      assert.deepStrictEqual(survivors, [bench.container.shell?.pid]);
      assert.equal(bench.container.files().filter((name) => /^session\.\w+$/.test(name)).length, 1);
    });

    it("sees that a shell has gone that had closed one of its pipes when it was greeted", async () => {
      bench.container = new HandlerContainer(shell, ["cat"]);
      const session = path.join(bench.container.pipes, "session.dying");
      mkdirSync(session);
      for (const name of ["control", "reports"]) execFileSync("mkfifo", [path.join(session, name)]);
      writeFileSync(path.join(session, "hidden"), "");
      const control = openSync(path.join(session, "control"), constants.O_RDWR);
      writeFileSync(path.join(bench.container.pipes, "session"), path.basename(session));
      let over = false;
      const greeted = ShellSession.greet(bench.container.pipes, "resident", {
        reported: () => {},
        over: () => {
          over = true;
        },
      });
      assert.ok(greeted);
      closeSync(control);
      await soon(() => assert.ok(over, "the session is over"));
    });

    it("gives a runner that finds another's session one of its own, and kills that one's handlers", async () => {
      bench.container = new HandlerContainer(shell, ["sleep", "60"]).start();
      await soon(() => assert.ok(bench.container.files().includes("session"), "it waits for a runner"));
      const announced = readFileSync(path.join(bench.container.pipes, "session"), "utf8");
      let [isMade, over] = [false, false];
      const first = ShellSession.greet(bench.container.pipes, "resident", {
        reported: ([word]) => {
          isMade ||= word === "made";
        },
        over: () => {
          over = true;
        },
      });
      first?.tell("start", 1);
      await soon(() =>
        // What it has not read by then, the second would read.
        assert.ok(isMade && bench.container.processes().length >= 2 && !published(), "the first is greeted"),
      );
      writeFileSync(path.join(bench.container.pipes, "session"), announced);
      bench.transport = new PipeTransport({ folder: bench.container.pipes });
      const handler = new Listened(bench.transport);
      await soon(() => assert.ok(over, "the first session is over"));
      handler.process.kill();
      assert.deepStrictEqual(await handler.exit(), KILLED);
      await soon(() => assert.ok(bench.container.processes().length === 1, "only the shell is left"));

      function published(): boolean {
        return bench.container.files().includes("session");
      }
    });
  });

  describe("at the end of a pod", () => {
    it("ends the shell with exit code 0, and every process that there still is", async () => {
      const handler = new Listened(bench.runsScript("trap '' TERM; echo started; sleep 60"));
      await bench.lines(handler, 1);
      assert.equal(await bench.transport?.close(), true);
      await handler.exit();
      await soon(() => assert.ok(bench.container.exitCode === 0, "the shell has ended"));
      assert.deepStrictEqual(bench.container.processes(), []);
      assert.deepStrictEqual(bench.container.files(), []);
      const late = await new Listened(bench.transport as PipeTransport).exit();
      assert.match(late?.startError?.message ?? "", /any more/);
    });

    it("says that the handler's container no longer runs, or never ran", async () => {
      const handler = new Listened(bench.runsScript("echo started; sleep 60"));
      await bench.lines(handler, 1);
      await bench.container.kill();
      await handler.exit();
      assert.equal(await bench.transport?.close(), false);
      assert.equal(await new PipeTransport({ folder: bench.container.pipes }).close(), false);
    });

    it("ends a shell that comes after the runner has closed, and only one", async () => {
      bench.container = new HandlerContainer(shell, ["cat"]);
      await new PipeTransport({ folder: bench.container.pipes }).close();
      bench.container.start();
      await soon(() => assert.ok(bench.container.exitCode === 0, "the shell has ended"));
      assert.deepStrictEqual(bench.container.files(), []);
      bench.container.start();
      await soon(() => assert.ok(bench.container.files().includes("session"), "it waits for a runner"));
    });

    it("forgets the word of the runner before it", async () => {
      bench.container = new HandlerContainer(shell, ["cat"]);
      await new PipeTransport({ folder: bench.container.pipes }).close();
      bench.transport = new PipeTransport({ folder: bench.container.pipes });
      bench.container.start();
      await bench.transport.ready(10_000);
    });

    it("keeps the shell through SIGTERM as long as the runner needs it", async () => {
      bench.runsScript(ECHO);
      await bench.transport?.ready(10_000);
      await soon(() => assert.ok(!bench.container.files().includes("session"), "it is greeted"));
      bench.container.shell?.kill("SIGTERM");
      const handler = new Listened(bench.transport as PipeTransport);
      handler.process.write("last\n");
      assert.deepStrictEqual(await bench.lines(handler, 1), ["last"]);
      bench.container.shell?.kill("SIGTERM");
      await bench.transport?.close();
      await soon(() => assert.ok(bench.container.exitCode === 0, "the shell has ended"));
    });

    it("ends the shell by SIGTERM where no runner exists", async () => {
      bench.container = new HandlerContainer(shell, ["cat"]).start();
      await soon(() => assert.ok(bench.container.files().includes("session"), "it waits for a runner"));
      bench.container.shell?.kill("SIGTERM");
      await soon(() => assert.ok(bench.container.exitCode === 0, "the shell has ended"));
      await soon(() => assert.ok(bench.container.processes().length === 0, "nothing is left"));
    });

    it("ends the shell where no runner comes within its patience, and takes that for no part of the command", async () => {
      bench.container = new HandlerContainer(shell, ["--patience=1", "cat"]).start();
      await soon(() => assert.ok(bench.container.exitCode === 0, "the shell has ended"));
      await soon(() => assert.ok(bench.container.processes().length === 0, "nothing is left"));
      await bench.container.remove();
      bench.container = new HandlerContainer(shell, ["--patience=600", "cat"]).start();
      bench.transport = new PipeTransport({ folder: bench.container.pipes });
      const handler = new Listened(bench.transport);
      handler.process.write("here\n");
      assert.deepStrictEqual(await bench.lines(handler, 1), ["here"]);
    });

    it("ends the shell by SIGTERM at any moment of its wait, and leaves nothing", async () => {
      bench.container = new HandlerContainer(shell, ["cat"]);
      for (let round = 0; round < 40; round++) {
        bench.container.start();
        await bench.container.waiting();
        const until = performance.now() + round / 20;
        while (performance.now() < until) await new Promise(setImmediate);
        await soon(() => {
          // A shell that is about to read sees a signal only after it has read, or at the next one.
          bench.container.shell?.kill("SIGTERM");
          assert.equal(bench.container.exitCode, 0);
        });
        await soon(() => assert.ok(bench.container.processes().length === 0, "nothing is left"));
      }
    });

    it("ends the shell of a run with its runner, even one that crashed", async () => {
      bench.container = new HandlerContainer(shell, ["sh", "-c", `${ECHO}; sleep 60`]).start();
      const runner = await runnerProcess(bench.container.pipes, "run");
      runner.crash();
      await soon(() => assert.ok(bench.container.exitCode === 0, "the shell has ended"));
      assert.deepStrictEqual(bench.container.processes(), []);
    });

    it("tells Argo how the runner of a run ended, where the runner's container could not", async () => {
      const tell = async (container: HandlerContainer, before?: string) => {
        const folder = path.join(container.root, "var/run/argo/ctr/main");
        mkdirSync(folder, { recursive: true });
        const file = path.join(folder, "exitcode");
        container.start();
        const runner = await runnerProcess(container.pipes, "run");
        if (before !== undefined) writeFileSync(file, before);
        runner.crash();
        await soon(() => assert.ok(container.exitCode === 0, "the shell has ended"));
        return readFileSync(file, "utf8").trim();
      };
      bench.container = new HandlerContainer(shell, ["cat"]);
      const other = new HandlerContainer(shell, ["cat"]);
      // The shell gives the runner's container some seconds for its word.
      const words = await Promise.all([tell(bench.container), tell(other, "1")]).finally(() =>
        other.remove(),
      );
      assert.deepEqual(words, ["137", "1"]);
    });
  });
}
