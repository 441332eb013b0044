import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { openNamedPipe } from "../../runtime/handler/container/namedPipe";
import { PipeTransport } from "../../runtime/handler/container/pipeTransport";
import { soon } from "../support/eventually";
import { HandlerContainer, type Shell, shells } from "./support/handlerContainer";
import { ECHO, isAlive } from "./support/handlers";
import { KILLED, Listened, usePipes } from "./support/pipeBench";

for (const shell of shells()) describe(`PipeTransport, the shell being ${shell.name}`, () => behaves(shell));

function behaves(shell: Shell): void {
  const bench = usePipes(shell);

  describe("with hostile handlers", () => {
    it("carries lines of 1.5 MB both ways", async () => {
      const handler = new Listened(bench.runs(["cat"]));
      const long = `${"ß🚢".repeat(260_000)}\n`;
      for (let turn = 1; turn <= 3; turn++) {
        handler.process.write(long);
        await soon(() => {
          assert.equal(Buffer.concat(handler.outputs).length, turn * Buffer.byteLength(long));
        });
      }
      assert.equal(handler.output, long.repeat(3));
    });

    it("delivers 10 MB of standard error without a newline before the exit", async () => {
      const handler = new Listened(
        bench.runsScript("head -c 10000000 /dev/zero >&2; printf end >&2; exit 1"),
      );
      assert.deepStrictEqual(await handler.exit(), { code: 1, signal: null });
      assert.equal(handler.log.length, 10_000_003);
      assert.match(handler.log, /end$/);
    });

    it("notices the exit of one that has closed its streams, no sooner than it comes", async () => {
      const handler = new Listened(bench.runsScript("exec <&- >&- 2>&-; sleep 0.3; exit 5"));
      assert.deepStrictEqual(await handler.exit(), { code: 5, signal: null });
    });

    it("kills one that has closed its streams", async () => {
      const handler = new Listened(bench.runsScript("echo $$; exec <&- >&- 2>&-; while :; do sleep 1; done"));
      const [pid] = await bench.lines(handler, 1);
      handler.process.kill();
      assert.deepStrictEqual(await handler.exit(), KILLED);
      await soon(() => assert.ok(!isAlive(Number(pid)), "it is dead"));
    });

    it("is not held up by a daemon that leaves the group with the pipes open", async () => {
      const handler = new Listened(bench.runsScript("setsid sleep 60 & sleep 0.1; echo done; exit 6"));
      assert.deepStrictEqual(await handler.exit(), { code: 6, signal: null });
      assert.equal(handler.output, "done\n");
      const next = new Listened(bench.transport as PipeTransport);
      assert.deepStrictEqual(await next.exit(), { code: 6, signal: null });
    });

    it("runs 64 processes at once, each with its own words", async () => {
      bench.runsScript(ECHO);
      const handlers = Array.from({ length: 64 }, () => new Listened(bench.transport as PipeTransport));
      for (const [number, { process }] of handlers.entries()) process.write(`number ${number}\n`);
      for (const [number, handler] of handlers.entries()) {
        await soon(() => assert.ok(handler.output === `number ${number}\n`, "it has answered"));
      }
      for (const { process } of handlers) process.end();
      for (const handler of handlers) assert.deepStrictEqual(await handler.exit(), { code: 0, signal: null });
      await soon(() => assert.ok(bench.container.processes().length === 1, "only the shell is left"));
    });

    it("never gives a process what another left unread", async () => {
      bench.runsScript('read -r line; echo "$line"; exit 1');
      for (let turn = 0; turn < 10; turn++) {
        const handler = new Listened(bench.transport as PipeTransport);
        handler.process.write(`first ${turn}\n${"left over\n".repeat(10_000)}`);
        assert.deepStrictEqual(await handler.exit(), { code: 1, signal: null });
        assert.equal(handler.output, `first ${turn}\n`);
      }
    });

    it("gives a process up whose supervisor was killed, once it is to be killed", async () => {
      // Not before it has told that the process runs: then the names of its pipes are gone.
      const isKnown = "while [ -e ../pipes/session.*/*.in ]; do sleep 0.1; done";
      const handler = new Listened(bench.runsScript(`${isKnown}; kill -KILL $PPID; echo $$; sleep 60`));
      const [pid] = await bench.lines(handler, 1);
      handler.process.kill();
      assert.deepStrictEqual(await handler.exit(), KILLED);
      await soon(() => assert.ok(!isAlive(Number(pid)), "it is dead"));
    });

    it("loses the session and goes on, where a handler writes nonsense into the shell's reports", async () => {
      bench.runsScript(
        "read -r line; head -c 100000 /dev/zero | tee ../pipes/session.*/reports > /dev/null; cat",
      );
      const hostile = new Listened(bench.transport as PipeTransport);
      hostile.process.write("now\n");
      assert.deepStrictEqual(await hostile.exit(), KILLED);
      const next = new Listened(bench.transport as PipeTransport);
      next.process.end();
      await next.exit();
    });

    it("ignores reports of processes that it never asked for", async () => {
      bench.runsScript(
        `for word in made running exit failed x ""; do echo "$word 99 4194303" | tee ../pipes/session.*/reports; done; exit 2`,
      );
      assert.deepStrictEqual(await new Listened(bench.transport as PipeTransport).exit(), {
        code: 2,
        signal: null,
      });
    });

    it("goes on where a handler has put a folder in the place of a pipe", async () => {
      const handler = new Listened(
        bench.runsScript(
          'read -r pipes; for each in "$pipes"/session.*; do mkdir "$each/1.in"; done; exit 3',
        ),
      );
      handler.process.write(`${bench.container.pipes}\n`);
      assert.deepStrictEqual(await handler.exit(), { code: 3, signal: null });
    });

    it("leaves no word, and ends, where a handler has put something else in its place", async () => {
      bench.container = new HandlerContainer(shell, ["true"]);
      const { pipes } = bench.container;
      const word = path.join(pipes, "closed");
      const transport = new PipeTransport({ folder: pipes });
      execFileSync("mkfifo", [word]);
      // Ends the test although nothing else of this process goes on.
      const reader = spawn("sh", ["-c", 'sleep 2; exec cat "$0"', word], { stdio: "ignore" });
      const begin = performance.now();
      assert.equal(await transport.close(), false);
      assert.ok(performance.now() - begin < 1_500, "it waited for a reader");
      reader.kill();
      rmSync(word);
      mkdirSync(word);
      assert.equal(await new PipeTransport({ folder: pipes }).close(), false);
    });

    it("opens nothing but named pipes", async () => {
      bench.runs(["cat"]);
      const file = path.join(bench.container.root, "file");
      const link = path.join(bench.container.root, "link");
      const pipe = path.join(bench.container.root, "pipe");
      writeFileSync(file, "secret");
      spawnSync("mkfifo", [pipe]);
      symlinkSync(pipe, link);
      assert.throws(() => openNamedPipe(file, "read"), /is not a named pipe/);
      assert.throws(() => openNamedPipe(link, "read"), /ELOOP/);
      openNamedPipe(pipe, "read").destroy();
    });
  });
}
