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
import path from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { ReconcileFailure } from "../../../runtime/base/failure";
import { PipeTransport } from "../../../runtime/handler/container/pipeTransport";
import { HandlerPool } from "../../../runtime/handler/handlerPool";
import type {
  HandlerExit,
  HandlerProcessListener,
  HandlerTransport,
} from "../../../runtime/handler/handlerTransport";
import { type HandlerReply, HandlerWorker } from "../../../runtime/handler/handlerWorker";
import { temporaryFolder } from "../../support/temporaryFolder";
import { fuzz } from "../support/fuzz";
import { HandlerContainer, shells } from "../support/handlerContainer";
import { question } from "../support/handlers";
import { hostileText } from "../support/hostile";

const byte = fc.oneof(fc.constantFrom(10, 10, 0, 0xff, 0x7b), fc.nat({ max: 255 }));
const bytes = fc.array(byte, { maxLength: 6 });

describe("fuzz: a conversation with a handler", () => {
  type Step =
    | { output: number[] }
    | { log: number[] }
    /** Answers the last request, or one before it; in two pieces, with a turn of the event loop between them. */
    | { answer: number; cut: number }
    | { ask: true }
    | { turn: true }
    | { exit: number | null };
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 1, arbitrary: bytes.map((output) => ({ output })) },
    { weight: 2, arbitrary: bytes.map((log) => ({ log })) },
    { weight: 8, arbitrary: fc.record({ answer: fc.constantFrom(0, 0, 0, 1, 2, -1), cut: fc.nat(60) }) },
    { weight: 6, arbitrary: fc.constant({ ask: true as const }) },
    { weight: 4, arbitrary: fc.constant({ turn: true as const }) },
    { weight: 1, arbitrary: fc.constantFrom(0, 1, null).map((exit) => ({ exit })) },
  );

  fuzz(
    "has one end for each question, whatever comes in whatever pieces, and never another's answer",
    fc.array(step, { maxLength: 40 }),
    async (steps) => {
      let listener: HandlerProcessListener | undefined;
      let [kills, overs, asked, late] = [0, 0, 0, 0];
      let earlier = 0;
      const ids: string[] = [];
      const answered = new Set<string>();
      const transport: HandlerTransport = {
        start: (given) => {
          listener = given;
          const write = (text: string) => void ids.push((JSON.parse(text) as { id: string }).id);
          return { write, end: () => {}, kill: () => void kills++ };
        },
      };
      const worker = new HandlerWorker(transport, {
        over: () => void overs++,
        lateAnswer: () => void late++,
      });
      let waiting: Promise<unknown> | undefined;
      let gone = false;
      let pieces = false;
      const output = (part: Buffer) => {
        if (!gone) listener?.output(part);
      };
      const exit = (code: number | null) => {
        if (gone) return;
        gone = true;
        listener?.exited({ code, signal: code === null ? "SIGKILL" : null } satisfies HandlerExit);
      };
      const settle = async (number: number, asking: Promise<HandlerReply>) => {
        try {
          const { answer } = await asking;
          assert.equal(answer["id"], ids[number]);
          assert.equal(answer["number"], number, "another request's answer");
        } catch (error) {
          assert.ok(error instanceof ReconcileFailure, String(error));
        } finally {
          waiting = undefined;
          asked--;
        }
      };
      for (const each of steps) {
        if ("output" in each) {
          pieces = true;
          output(Buffer.from(each.output));
        }
        if ("log" in each && !gone) listener?.log(Buffer.from(each.log));
        if ("answer" in each) {
          const number = ids.length - 1 - each.answer;
          const id = ids[number] ?? "unknown";
          const line = Buffer.from(`${JSON.stringify({ id, number })}\n`);
          if (!gone && !worker.isOver && !pieces && ids[number] !== undefined) {
            if (answered.has(id)) earlier++;
            answered.add(id);
          }
          output(line.subarray(0, each.cut));
          if (each.cut % 2 === 0) await turn();
          output(line.subarray(each.cut));
        }
        if ("ask" in each && !waiting && !worker.isOver) {
          asked++;
          waiting = settle(ids.length, worker.ask(question(), 60_000));
        }
        if ("turn" in each) await turn();
        if ("exit" in each) exit(each.exit);
      }
      exit(1);
      await waiting;
      await turn();
      assert.deepEqual([asked, overs], [0, 1], "a question without an end, or an end told twice");
      assert.ok(kills <= 1);
      if (!pieces) assert.equal(late, earlier, "late answers that were not counted");
      await worker.end(0);
    },
  );
});

/** Answers each question with what it is told to, in the pieces that it is told; "ID" becomes the request's. */
const PUPPET = `
const { createInterface } = require("node:readline");
let former;
createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, object } = JSON.parse(line);
  const { lines, cuts, log, exit } = JSON.parse(object.metadata.name);
  if (log) process.stderr.write(Buffer.from(log, "base64"));
  const text = lines.map((each) => each.replace("FORMER", former).replace("ID", id)).join("");
  former = id;
  const inside = cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b);
  const places = [0, ...inside, text.length];
  for (const [at, to] of places.slice(1).entries()) {
    await new Promise((resolve) => process.stdout.write(text.slice(places[at], to), resolve));
    await new Promise(setImmediate);
  }
  if (exit !== undefined) process.exit(exit);
});`;

/** A line that a handler may write, and what becomes of its request. */
const LINES = {
  own: (number: number) => `${JSON.stringify({ id: "ID", number })}\n`,
  former: () => `${JSON.stringify({ id: "FORMER", number: -1 })}\n`,
  unknown: () => `${JSON.stringify({ id: "somebody's", number: -1 })}\n`,
  none: () => '{"number":-1}\n',
  unfinished: () => '{"id":',
};
type Line = keyof typeof LINES;

/** What a handler does when it is asked. */
const deed = fc.record({
  lines: fc.array(fc.constantFrom<Line>("own", "own", "own", "former", "unknown", "none", "unfinished"), {
    minLength: 1,
    maxLength: 3,
  }),
  cuts: fc.array(fc.nat({ max: 80 }), { maxLength: 3 }),
  log: bytes,
  dies: fc.boolean(),
});
type Deed = { lines: Line[]; cuts: number[]; log: number[]; dies: boolean };

/**
 * Asks, and if the process had answered its last question just before it ended, again, as the queue would: its end may
 * be noticed only after the next question.
 */
async function asked(pool: HandlerPool, text: string, again: boolean): Promise<unknown> {
  for (;;) {
    try {
      return (await pool.ask(question(text))).answer["number"];
    } catch (error) {
      const gone =
        error instanceof ReconcileFailure && ["HandlerCrashed", "InvalidAnswer"].includes(error.reason);
      if (!again || !gone) throw error;
    }
  }
}

/** Each question is answered with its own line, or it fails, whatever its neighbours' processes do. */
async function converse(pool: HandlerPool, deeds: readonly Deed[]): Promise<void> {
  await Promise.all(
    deeds.map(async ({ lines, cuts, log, dies }, index) => {
      const sound = lines.length === 1 && lines[0] === "own" && !dies;
      // One that says nothing of use would be waited for until its time is over.
      const dead = dies || !lines.includes("own");
      const order = {
        lines: lines.map((line) => LINES[line](index)),
        cuts,
        log: Buffer.from(log).toString("base64"),
        ...(dead && { exit: 3 }),
      };
      try {
        assert.equal(await asked(pool, JSON.stringify(order), sound), index, "another request's answer");
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
    folder = temporaryFolder();
    writeFileSync(path.join(folder, "puppet.js"), PUPPET);
  });
  const command = () => ["node", path.join(folder, "puppet.js")];

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
    "that reports whatever it likes affects only its own container",
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
      writeFileSync(path.join(session, "hidden"), "");
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
