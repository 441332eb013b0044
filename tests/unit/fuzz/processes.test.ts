import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { ReconcileFailure } from "../../../runtime/failure";
import { ChildProcessTransport } from "../../../runtime/handler/childProcessTransport";
import { HandlerPool } from "../../../runtime/handler/handlerPool";
import type {
  HandlerExit,
  HandlerProcessListener,
  HandlerTransport,
} from "../../../runtime/handler/handlerTransport";
import { HandlerWorker } from "../../../runtime/handler/handlerWorker";
import { PipeTransport } from "../../../runtime/pod/pipeTransport";
import { fuzz } from "../support/fuzz";
import { HandlerContainer, shells } from "../support/handlerContainer";
import { hostileText } from "../support/hostile";

const byte = fc.oneof(fc.constantFrom(10, 10, 0, 0xff, 0x7b), fc.nat({ max: 255 }));
const bytes = fc.array(byte, { maxLength: 6 });

describe("fuzz: a conversation with a handler", () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: bytes.map((output) => ({ output })) },
    { weight: 2, arbitrary: bytes.map((log) => ({ log })) },
    { weight: 3, arbitrary: fc.constant({ ask: true }) },
    { weight: 3, arbitrary: fc.constant({ turn: true }) },
    { weight: 1, arbitrary: fc.constantFrom(0, 1, null).map((exit) => ({ exit })) },
  );
  type Step = { output?: number[]; log?: number[]; ask?: true; turn?: true; exit?: number | null };

  fuzz(
    "has one end for each question, whatever comes in whatever pieces, and no answer from before it",
    fc.array(step as fc.Arbitrary<Step>, { maxLength: 25 }),
    async (steps) => {
      let listener: HandlerProcessListener | undefined;
      let [kills, overs, asked] = [0, 0, 0];
      const transport: HandlerTransport = {
        start: (given) => {
          listener = given;
          return { write: () => {}, end: () => {}, kill: () => void kills++ };
        },
      };
      const worker = new HandlerWorker(transport, () => void overs++);
      let waiting: Promise<unknown> | undefined;
      let sinceAsked: number[] = [];
      let gone = false;
      const exit = (code: number | null) => {
        if (gone) return;
        gone = true;
        listener?.exited({ code, signal: code === null ? "SIGKILL" : null } satisfies HandlerExit);
      };
      const settle = async (question: Promise<{ line: string }>) => {
        try {
          const { line } = await question;
          const whole = Buffer.from(sinceAsked);
          assert.ok(whole.includes(10), "an answer without its end");
          assert.equal(line, whole.subarray(0, whole.indexOf(10)).toString("utf8"));
        } catch (error) {
          assert.ok(error instanceof ReconcileFailure, String(error));
        } finally {
          waiting = undefined;
          asked--;
        }
      };
      for (const { output, log, ask, turn: wait, exit: code } of steps) {
        if (output && !gone) {
          sinceAsked.push(...output);
          listener?.output(Buffer.from(output));
        }
        if (log && !gone) listener?.log(Buffer.from(log));
        if (ask && !waiting && !worker.isOver) {
          sinceAsked = [];
          asked++;
          waiting = settle(worker.ask("question", 60_000));
        }
        if (wait) await turn();
        if (code !== undefined) exit(code);
      }
      exit(1);
      await waiting;
      await turn();
      assert.deepEqual([asked, overs], [0, 1], "a question without an end, or an end told twice");
      assert.ok(kills <= 1);
      await worker.end(0);
    },
  );
});

/** Answers each question with what it is told to, in the pieces that it is told. */
const PUPPET = `
const { createInterface } = require("node:readline");
createInterface({ input: process.stdin }).on("line", async (line) => {
  const { pieces, log, exit } = JSON.parse(line);
  if (log) process.stderr.write(Buffer.from(log, "base64"));
  for (const piece of pieces) {
    await new Promise((resolve) => process.stdout.write(Buffer.from(piece, "base64"), resolve));
    await new Promise(setImmediate);
  }
  if (exit !== undefined) process.exit(exit);
});`;

/** What a handler does when it is asked. What has no end of a line is followed by the end of the process. */
const deed = fc.record({
  body: bytes,
  cuts: fc.array(fc.nat({ max: 12 }), { maxLength: 3 }),
  log: bytes,
  ends: fc.boolean(),
  dies: fc.boolean(),
});
type Deed = { body: number[]; cuts: number[]; log: number[]; ends: boolean; dies: boolean };

/**
 * Asks, and where the process had answered its last question just before it ended, again, as the queue would: its end
 * may be noticed only after the next question.
 */
async function asked(pool: HandlerPool, question: string, again: boolean): Promise<string> {
  for (;;) {
    try {
      return (await pool.ask(question, (line) => line)).answer;
    } catch (error) {
      if (!again || !(error instanceof ReconcileFailure) || error.reason !== "HandlerCrashed") throw error;
    }
  }
}

/** Each question is answered with its own line, or it fails, whatever its neighbours' processes do. */
async function converse(pool: HandlerPool, deeds: readonly Deed[]): Promise<void> {
  await Promise.all(
    deeds.map(async ({ body, cuts, log, ends, dies }, index) => {
      const own = Buffer.concat([Buffer.from(`${index}:`), Buffer.from(body), Buffer.from(ends ? "\n" : "")]);
      // A second line that came later than the first would be taken for the answer to the next question, as the
      // contract says: here it comes with it.
      const whole = own.indexOf(10) === own.length - 1 ? cuts : [];
      const inside = whole.map((cut) => Math.min(cut, own.length)).sort((a, b) => a - b);
      const places = [0, ...inside, own.length];
      const pieces = places.slice(1).map((to, at) => own.subarray(places[at], to).toString("base64"));
      const dead = dies || !own.includes(10);
      const sound = own.indexOf(10) === own.length - 1 && !dead;
      const question = { pieces, log: Buffer.from(log).toString("base64"), ...(dead && { exit: 3 }) };
      try {
        const answer = await asked(pool, JSON.stringify(question), sound);
        assert.equal(answer, own.subarray(0, own.indexOf(10)).toString("utf8"));
      } catch (error) {
        assert.ok(error instanceof ReconcileFailure, String(error));
        assert.ok(!sound, `a sound answer failed: ${error.message}`);
        assert.ok(["InvalidAnswer", "HandlerCrashed"].includes(error.reason), error.message);
      }
    }),
  );
}

describe("fuzz: a handler's process", function () {
  this.timeout(60_000);
  const deeds = fc.array(deed, { minLength: 1, maxLength: 6 });
  let folder: string;
  before(() => {
    folder = mkdtempSync(path.join(tmpdir(), "argosy-fuzz-"));
    writeFileSync(path.join(folder, "puppet.js"), PUPPET);
  });
  after(() => rmSync(folder, { recursive: true }));
  const command = () => ["node", path.join(folder, "puppet.js")];

  describe("over its own streams", () => {
    let pool: HandlerPool;
    before(() => {
      const transport = new ChildProcessTransport({ command: command(), folder, env: {} });
      pool = new HandlerPool({ transport, timeoutMs: 60_000 });
    });
    after(() => pool.close());
    fuzz("answers each question, or fails it alone: own streams", deeds, (all) => converse(pool, all), {
      cost: 50,
    });
  });

  describe("over named pipes", () => {
    let container: HandlerContainer;
    let transport: PipeTransport;
    let pool: HandlerPool;
    before(() => {
      const [shell] = shells();
      assert.ok(shell);
      container = new HandlerContainer(shell, command()).start();
      transport = new PipeTransport({ folder: container.pipes, startTimeoutMs: 60_000 });
      pool = new HandlerPool({ transport, timeoutMs: 60_000 });
    });
    after(async () => {
      await pool.close();
      await transport.close();
      await container.remove();
    });
    fuzz("answers each question, or fails it alone: named pipes", deeds, (all) => converse(pool, all), {
      cost: 50,
    });
  });

  const word = fc.oneof(
    fc.constantFrom("made", "running", "exit", "failed", "1", "2", "-1", "999999"),
    hostileText,
  );
  const reports = fc.array(
    fc.array(word, { maxLength: 4 }).map((words) => words.join(" ")),
    { maxLength: 8 },
  );
  fuzz(
    "that reports whatever it likes moves no more than its own container",
    reports,
    async (lines) => {
      const pipes = mkdtempSync(path.join(folder, "pipes-"));
      const session = path.join(pipes, "session.abc");
      mkdirSync(session);
      for (const name of ["control", "reports"]) spawnSync("mkfifo", [path.join(session, name)]);
      const both = constants.O_RDWR | constants.O_NONBLOCK;
      const [control, told] = [
        openSync(path.join(session, "control"), both),
        openSync(path.join(session, "reports"), both),
      ];
      writeFileSync(path.join(pipes, "session"), "session.abc\n");
      const transport = new PipeTransport({ folder: pipes, startTimeoutMs: 60_000 });
      const exits: HandlerExit[] = [];
      transport.start({ output: () => {}, log: () => {}, exited: (exit) => exits.push(exit) });
      writeSync(told, `${lines.join("\n")}\n`.slice(0, 4_000));
      for (let turns = 0; turns < 5; turns++) await turn();
      const buffer = Buffer.alloc(64 * 1024);
      const commands = buffer.toString("utf8", 0, readSync(control, buffer)).split("\n").slice(0, -1);
      assert.deepEqual(commands.slice(0, 2), ["hello resident", "start 1"]);
      for (const each of commands.slice(2)) assert.match(each, /^(kill|forget) ?[^ ]*$/s);
      closeSync(told);
      closeSync(control);
      await transport.close();
      assert.ok(exits.length === 1, "the process has no end, or two");
      rmSync(pipes, { recursive: true });
    },
    { cost: 20 },
  );
});
