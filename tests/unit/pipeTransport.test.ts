import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { PipeProcess } from "../../runtime/handler/container/pipeProcess";
import type { PipeTransport } from "../../runtime/handler/container/pipeTransport";
import type { ShellSession } from "../../runtime/handler/container/shellSession";
import { HandlerPool } from "../../runtime/handler/handlerPool";
import { DEAF, type HandlerExit } from "../../runtime/handler/handlerTransport";
import { soon } from "../support/eventually";
import { temporaryFolder } from "../support/temporaryFolder";
import { type Shell, shells } from "./support/handlerContainer";
import { ECHO, isAlive, LEAVING, question } from "./support/handlers";
import { KILLED, Listened, usePipes } from "./support/pipeBench";

for (const shell of shells()) describe(`PipeTransport, the shell being ${shell.name}`, () => behaves(shell));

function behaves(shell: Shell): void {
  const bench = usePipes(shell);

  describe("as a child process", () => {
    it("carries lines in and out, and ends the process by the end of its input", async () => {
      const handler = new Listened(bench.runsScript(ECHO));
      handler.process.write("one\n");
      handler.process.write("größer 🚢\n");
      handler.process.end();
      assert.deepStrictEqual(await handler.exit(), { code: 0, signal: null });
      assert.equal(handler.output, "one\ngrößer 🚢\n");
    });

    it("tells the exit code, after all that was written", async () => {
      const script = "echo out; echo err >&2; exit 7";
      bench.runsScript(script);
      for (let turn = 0; turn < 20; turn++) {
        const handler = new Listened(bench.transport as PipeTransport);
        assert.deepStrictEqual(await handler.exit(), { code: 7, signal: null });
        assert.deepStrictEqual([handler.output, handler.log], ["out\n", "err\n"]);
      }
    });

    it("tells the signal", async () => {
      const handler = new Listened(bench.runsScript("kill -TERM $$"));
      assert.deepStrictEqual(await handler.exit(), { code: null, signal: "SIGTERM" });
    });

    it("tells that there is no such command", async () => {
      const exit = await new Listened(bench.runs(["argosy-no-such-command"])).exit();
      assert.match(exit?.startError?.message ?? "", /execute '?argosy-no-such-command'?: No such file/);
    });

    it("tells that the command may not be executed", async () => {
      const handler = bench.runs(["./main"]);
      writeFileSync(path.join(bench.container.folder, "main"), "");
      assert.match(
        (await new Listened(handler).exit())?.startError?.message ?? "",
        /main'?: Permission denied/,
      );
    });

    it("takes a handler's own exit code 127 for what it is", async () => {
      const handler = new Listened(bench.runsScript("echo 'setsid: not ours'; argosy-no-such-command"));
      assert.deepStrictEqual(await handler.exit(), { code: 127, signal: null });
      assert.match(handler.log, /not found/);
    });

    it("tells the exit once, although a grandchild holds the pipes open, and kills that grandchild", async () => {
      const handler = new Listened(bench.runsScript("sleep 60 & echo $!; exit 3"));
      assert.deepStrictEqual(await handler.exit(), { code: 3, signal: null });
      const grandchild = Number(handler.output);
      assert.ok(grandchild > 0);
      await soon(() => assert.ok(!isAlive(grandchild), "the grandchild is dead"));
      assert.equal(handler.exits.length, 1);
    });

    it("kills the whole process group, also of a handler that ignores SIGTERM", async () => {
      const handler = new Listened(
        bench.runsScript("trap '' TERM; (sleep 20; echo late > late) & echo $!; sleep 60"),
      );
      const [grandchild] = await bench.lines(handler, 1);
      handler.process.kill();
      handler.process.kill();
      assert.deepStrictEqual(await handler.exit(), KILLED);
      await soon(() => assert.ok(!isAlive(Number(grandchild)), "the grandchild is dead"));
      assert.ok(!existsSync(path.join(bench.container.folder, "late")));
    });

    it("kills a process that has not begun yet", async () => {
      const handler = new Listened(bench.runsScript("sleep 60"));
      handler.process.kill();
      assert.deepStrictEqual(await handler.exit(), KILLED);
      await soon(() => assert.ok(bench.container.processes().length <= 1, "only the shell is left"));
    });

    it("takes no harm from a write to a process that reads nothing any more", async () => {
      const handler = new Listened(bench.runsScript("exec <&-; sleep 0.05; exit 4"));
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
      const handler = new Listened(bench.runs([process.execPath, "-e", print, "--", ...args], env));
      assert.deepStrictEqual(await handler.exit(), { code: 0, signal: null });
      const seen = JSON.parse(handler.output);
      assert.deepStrictEqual(seen.argv, args);
      assert.equal(seen.cwd, bench.container.folder);
      const { IFS, ...others } = env;
      for (const [name, value] of Object.entries(others)) assert.equal(seen.env[name], value, name);
      assert.deepStrictEqual(
        Object.keys(seen.env).filter((name) => name.startsWith("argosy")),
        [],
      );
    });

    it("gives the handler its three streams, and nothing else of ours", async () => {
      const handler = new Listened(
        bench.runsScript("ls -l /proc/self/fd; grep SigIgn /proc/self/status; sleep 0.05"),
      );
      await handler.exit();
      assert.equal([...handler.output.matchAll(/session\./g)].length, 3, handler.output);
      // SIGINT and SIGQUIT, as in whatever a shell runs in the background; not SIGTERM, SIGPIPE or SIGUSR1.
      const ignored = BigInt(`0x${/SigIgn:\s*(\w+)/.exec(handler.output)?.[1]}`);
      assert.equal(ignored & ~0b110n, 0n);
    });

    it("runs the image's program and not an applet of the same name", async () => {
      const program = spawnSync("sh", ["-c", "command -v cat"], { encoding: "utf8" }).stdout.trim();
      const handler = new Listened(bench.runs(["cat"]));
      handler.process.write("x\n");
      await bench.lines(handler, 1);
      const images = bench.container
        .processes()
        .map((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")[0]);
      assert.ok(images.includes(program), images.join());
    });
  });

  describe("beneath a HandlerPool", () => {
    for (const [what, script] of Object.entries(LEAVING)) {
      it(`asks another process if one ${what}`, async () => {
        const pool = new HandlerPool({ transport: bench.runsScript(script), timeoutMs: 10_000 });
        for (const word of ["a", "b", "c"])
          assert.equal((await pool.ask(question(word))).answer["word"], word);
        await pool.close();
      });
    }
  });

  it("asks no process that closed its input before we knew that it runs", async () => {
    bench.runsScript("true");
    const folder = temporaryFolder();
    spawnSync("mkfifo", ["1.in", "1.out", "1.err"], { cwd: folder });
    const script = 'exec 5>1.out 6>1.err <1.in; read -r line; exec <&-; echo "$line" >&5; sleep 60';
    const shell = spawn("sh", ["-c", script], { cwd: folder, detached: true, stdio: "ignore" });
    const outputs: string[] = [];
    const exits: HandlerExit[] = [];
    const listener = {
      output: (chunk: Buffer) => void outputs.push(String(chunk)),
      log: () => {},
      exited: (exit: HandlerExit) => void exits.push(exit),
    };
    const process = new PipeProcess(1, listener, 60_000, () => {});
    process.begin({ folder, tell: () => {} } as unknown as ShellSession);
    process.write("one\n");
    process.made("7");
    await soon(() => assert.deepEqual(outputs, ["one\n"]));
    process.write("two\n");
    process.running("8");
    await soon(() => assert.deepEqual(exits, [DEAF]));
    globalThis.process.kill(-(shell.pid as number), "SIGKILL");
  });

  it("keeps every process's words apart, in every order of events", async () => {
    bench.runsScript(
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
          if (what === "start")
            all.push({ handler: new Listened(bench.transport as PipeTransport), said: [] });
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
        await soon(() => assert.ok(bench.container.processes().length === 1, "only the shell is left"));
      }),
      { numRuns: 30 },
    );
  });
}
