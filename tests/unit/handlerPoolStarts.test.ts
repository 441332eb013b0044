import assert from "node:assert/strict";
import { mock } from "node:test";
import fc from "fast-check";
import { HandlerPool, StartingCosts } from "../../runtime/handler/handlerPool";
import type { HandlerProcessListener } from "../../runtime/handler/handlerTransport";
import { question } from "./support/handlers";

/** A process of a handler that answers when the test lets it. */
interface FakeProcess {
  readonly listener: HandlerProcessListener;
  /** The id of the request that it has. Undefined if it has none. */
  asked: string | undefined;
  /** When it was started. */
  readonly begun: number;
}

/** How many processes a pool starts, by a clock of the test. */
describe("HandlerPool, by the clock", () => {
  let pool: HandlerPool;
  let now: number;
  let processes: FakeProcess[];

  beforeEach(() => {
    [now, processes] = [0, []];
    mock.timers.enable({ apis: ["setTimeout"] });
    const transport = {
      start: (listener: HandlerProcessListener) => {
        const process: FakeProcess = { listener, asked: undefined, begun: now };
        processes.push(process);
        return {
          write: (line: string) => {
            process.asked = (JSON.parse(line) as { id: string }).id;
          },
          end: () => listener.exited({ code: 0, signal: null }),
          kill: () => listener.exited({ code: null, signal: "SIGKILL" }),
        };
      },
    };
    pool = new HandlerPool({ transport, timeoutMs: Number.POSITIVE_INFINITY, now: () => now });
  });
  afterEach(async () => {
    await pool.close();
    mock.timers.reset();
  });

  /** Asks this many questions at once. @returns how many processes were started for them */
  async function ask(count: number): Promise<number> {
    for (let at = 0; at < count; at++) void pool.ask(question(`${at}`)).catch(() => {});
    await turn();
    return pool.size;
  }

  /** Time passes. The pool looks again as often as it wants to. */
  async function pass(ms: number): Promise<void> {
    now += ms;
    mock.timers.tick(ms);
    await turn();
  }

  /** Time passes, and then these processes answer. */
  async function answer(ms: number, answering = processes): Promise<void> {
    await pass(ms);
    giveAnswers(answering);
    await turn();
  }

  function giveAnswers(answering: readonly FakeProcess[]): void {
    for (const process of answering) {
      const { asked } = process;
      process.asked = undefined;
      if (asked) process.listener.output(Buffer.from(`${JSON.stringify({ id: asked, children: [] })}\n`));
    }
  }

  it("starts one for requests that come at the same time, and lets it answer the others", async () => {
    assert.equal(await ask(2), 1);
    await answer(80);
    await answer(1);
    assert.equal(await ask(2), 1);
  });

  it("starts few for a burst that a handler answers quickly, even if the machine stands still for a second", async () => {
    const few = await ask(64);
    await answer(80);
    for (let round = 0; round < 4; round++) await answer(2);
    await ask(5 * few);
    await pass(1_000);
    assert.ok(pool.size <= few + 2, `${pool.size} processes`);
    await answer(0);
    for (let round = 0; round < 10; round++) await answer(2);
    assert.ok(pool.size <= few + 8, `${pool.size} processes`);
  });

  it("starts many within seconds if the handler waits for a second", async () => {
    await ask(64);
    await answer(1_060);
    await ask(64);
    await answer(1_000);
    const before = pool.size;
    for (let second = 0; second < 4; second++) {
      for (let tenth = 0; tenth < 9; tenth++) await pass(100);
      await answer(100);
    }
    assert.ok(pool.size > 30, `${pool.size} processes`);
    assert.ok(before < 10, `${before} processes, before there was time for more`);
  });

  it("does not start many at once, however long a handler computes", async () => {
    const few = await ask(64);
    await answer(110);
    await ask(64);
    for (let second = 0; second < 1_000; second += 50) await answer(50);
    assert.ok(pool.size <= few + 10, `${pool.size} processes`);
  });

  it("starts few if the machine becomes so busy that all takes twenty times as long", async () => {
    const few = await ask(64);
    await answer(80);
    for (let round = 0; round < 20; round++) await answer(2);
    for (let tenth = 0; tenth < 200; tenth++) {
      await ask(4);
      const proven = processes.filter(({ begun }) => now - begun >= 1_600);
      await answer(100, proven);
    }
    assert.ok(pool.size <= 3 * few + 8, `${pool.size} processes`);
  });

  it("reads the answers that came while the machine stood still before it starts one more", async () => {
    const few = await ask(30);
    await answer(80);
    await answer(2);
    now += 1_000;
    mock.timers.tick(1_000);
    giveAnswers(processes);
    await turn();
    assert.equal(pool.size, few);
  });

  it("starts one more as often as the patience of those who wait ends while no process answers", async () => {
    const few = await ask(64);
    await pass(199);
    assert.equal(pool.size, few);
    await pass(1);
    assert.equal(pool.size, few + 1);
    await pass(200);
    assert.equal(pool.size, few + 2);
  });

  it("counts on no process that hangs: the others' questions are answered by one more", async () => {
    const few = await ask(64);
    await answer(80);
    await answer(2);
    const hanging = [...processes];
    await pass(400);
    const others = () => processes.filter((process) => !hanging.includes(process));
    assert.ok(others().length > 0, "one more was started");
    await answer(80, others());
    for (let round = 0; round < 100; round++) await answer(2, others());
    assert.equal(
      processes.filter(({ asked }) => asked !== undefined).length,
      few,
      "only those wait that hang",
    );
  });
});

/** Resolves when what follows from an answer, at the end of a turn of the event loop, has been done. */
async function turn(): Promise<void> {
  for (let at = 0; at < 3; at++) await new Promise((resolve) => setImmediate(resolve));
}

describe("StartingCosts", () => {
  /** Costs after processes that answered a first question in one time, and later ones in another. */
  function costs(firstMs: number, laterMs?: number): StartingCosts {
    const costs = new StartingCosts();
    costs.answered(firstMs, true);
    if (laterMs !== undefined) costs.answered(laterMs, false);
    return costs;
  }

  it("finds no use in one more process before any has answered, but where none can be counted on", () => {
    const nothingKnown = new StartingCosts();
    assert.equal(nothingKnown.isWorthOneMore(64, 2), false);
    assert.equal(nothingKnown.isWorthOneMore(1, 0), true);
    assert.equal(nothingKnown.isWorthOneMore(0, 0), false);
    assert.equal(nothingKnown.patienceMs, 0);
  });

  it("takes a process that ends after each answer for one that has to start for each", () => {
    assert.equal(costs(60).isWorthOneMore(1, 2), true);
  });

  it("starts none for answers that are slow because the machine is busy, as long as a recent one was fast", () => {
    const busy = costs(80, 1);
    for (let answer = 0; answer < 15; answer++) busy.answered(500, false);
    assert.equal(busy.isWorthOneMore(60, 2), false);
  });

  it("has more patience with a silent process where starts take longer", () => {
    assert.equal(costs(80).patienceMs, 320);
    const busy = costs(80);
    for (let start = 0; start < 3; start++) busy.answered(1_500, true);
    assert.equal(busy.patienceMs, 6_000);
  });

  it("follows what the processes do now", () => {
    const followed = costs(80, 1_000);
    for (let answer = 0; answer < 200; answer++) followed.answered(1, false);
    assert.equal(followed.isWorthOneMore(60, 2), false);
    for (let answer = 0; answer < 200; answer++) followed.answered(1_000, false);
    assert.equal(followed.isWorthOneMore(60, 2), true);
  });

  it("starts no more than answer what waits in the time that a start takes, and no fewer", () => {
    const ms = fc.integer({ min: 1, max: 10_000 });
    fc.assert(
      fc.property(ms, ms, fc.integer({ min: 1, max: 128 }), (startMs, answerMs, waiting) => {
        const known = costs(startMs + answerMs, answerMs);
        let processes = 1;
        while (processes < 200 && known.isWorthOneMore(waiting, processes)) processes++;
        const enough = (waiting * answerMs) / startMs;
        // Both sides are rounded.
        assert.ok(processes <= Math.max(1, Math.ceil(enough + 1e-6)), `${processes} of ${enough}`);
        assert.ok(processes >= Math.min(200, Math.floor(enough - 1e-6)), `${processes} of ${enough}`);
      }),
    );
  });
});
