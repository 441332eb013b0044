import assert from "node:assert/strict";
import { existsSync, mkdirSync, rmdirSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { ReconcileFailure } from "../../runtime/base/failure";
import { HandlerPool, type HandlerPoolOptions } from "../../runtime/handler/handlerPool";
import { eventually } from "../support/eventually";
import { temporaryFolder } from "../support/temporaryFolder";
import { failureOf } from "./support/failures";
import { isAlive, LEAVING, question, SHELL, shellHandler } from "./support/handlers";
import { assertEach } from "./support/lists";

/** Answers every question with its word. */
const WHO = `${SHELL} while next; do say "$word"; done`;

describe("HandlerPool", () => {
  let pool: HandlerPool;
  let failures: ReconcileFailure[];
  beforeEach(() => {
    failures = [];
  });
  afterEach(() => pool.close());

  function start(script: string, options: Partial<HandlerPoolOptions> = {}): void {
    const onFailure = (failure: ReconcileFailure) => failures.push(failure);
    pool = new HandlerPool({ transport: shellHandler(script), timeoutMs: 10_000, onFailure, ...options });
  }

  /** Asks, and gives the process's id and the rest of its answer. */
  async function ask(word?: string): Promise<{ pid: number; rest: unknown }> {
    const { answer } = await pool.ask(question(word));
    return { pid: Number(answer["pid"]), rest: answer["word"] };
  }

  it("starts no process before it is asked, and asks one process again", async () => {
    start(WHO);
    assert.equal(pool.size, 0);
    const first = await ask("a");
    const second = await ask("b");
    assert.deepStrictEqual([first.rest, second.rest], ["a", "b"]);
    assert.equal(first.pid, second.pid);
    assert.equal(pool.size, 1);
  });

  it("kills what is at work when it is to be abandoned, refuses what waits, and answers what comes then", async () => {
    start(
      `${SHELL} while next; do [ "$word" = hang ] && { echo "$$" >&2; sleep 60 & wait; }; say "$word"; done`,
      { most: 1 },
    );
    const { pid } = await ask("a");
    const reason = new Error("the answer is not needed");
    const questions = [pool.ask(question("hang")), pool.ask(question("waits"))];
    await pause(50);
    assert.equal(isAlive(pid), true);
    pool.abandon(reason);
    for (const asked of questions) await assert.rejects(asked, reason);
    await eventually(() => assert.equal(isAlive(pid), false));
    const next = await ask("b");
    assert.notEqual(next.pid, pid);
    assert.deepStrictEqual([next.rest, pool.size, failures], ["b", 1, []]);
  });

  it("fails a question with the reason that was given to a process a moment ago", async () => {
    start(WHO);
    await ask("a");
    const reason = new Error("the answer is not needed");
    const asked = pool.ask(question("b"));
    pool.abandon(reason);
    await assert.rejects(asked, reason);
    await pool.close();
  });

  it("does not ask if the answer is no longer wanted once a process is free", async () => {
    start(`${SHELL} while next; do echo "$word" >&2; [ "$word" = slow ] && sleep 0.3; say "$word"; done`, {
      most: 1,
    });
    let isWanted = true;
    const slow = ask("slow");
    const late = pool.ask(question("late"), () => {
      if (!isWanted) throw new Error("the answer is not wanted");
    });
    isWanted = false;
    await assert.rejects(late, { message: "the answer is not wanted" });
    const { answer, log } = await pool.ask(question("next"), () => {});
    assert.deepStrictEqual(
      [answer["word"], Number(answer["pid"]), log],
      ["next", (await slow).pid, "next\n"],
    );
  });

  it("starts one process before it is asked where it is told to, and tells what that one said", async () => {
    start(`echo hello >&2; ${WHO}`);
    pool.warm();
    pool.warm();
    assert.equal(pool.size, 1);
    const { answer, log } = await pool.ask(question("a"));
    assert.deepStrictEqual([answer["word"], log, pool.size], ["a", "hello\n", 1]);
    await pool.close();
    pool.warm();
    assert.equal(pool.size, 0);
  });

  it("starts another where the one that was to be asked has ended before", async () => {
    const folder = temporaryFolder();
    start(`mkdir ${folder}/begun || exit 3; ${WHO}`);
    mkdirSync(path.join(folder, "begun"));
    pool.warm();
    await eventually(() => assert.ok(pool.size === 0, "it has ended"));
    assert.equal(failures.length, 1);
    rmdirSync(path.join(folder, "begun"));
    assert.equal((await ask("a")).rest, "a");
  });

  it("never has more processes than it may, and asks the next one as soon as one is free", async () => {
    start(`${SHELL} while next; do sleep 0.3; say "$word"; done`, { most: 1 });
    const sizes: number[] = [];
    const look = setInterval(() => sizes.push(pool.size), 10);
    const answers = await Promise.all(["a", "b", "c"].map(ask));
    clearInterval(look);
    assert.equal(Math.max(...sizes), 1);
    assert.equal(new Set(answers.map(({ pid }) => pid)).size, 1);
  });

  it("has room again after a process that it may have has crashed", async () => {
    start(`${SHELL} while next; do test "$word" = bad && exit 3; say "$word"; done`, { most: 1 });
    const bad = failureOf(() => pool.ask(question("bad")));
    const good = ask("good");
    assert.equal((await bad).reason, "HandlerCrashed");
    assert.equal((await good).rest, "good");
  });

  it("needs few processes for many questions that are answered quickly", async () => {
    start(WHO);
    await ask("it has begun");
    const questions = Array.from({ length: 40 }, (_, number) => String(number));
    const answers = await Promise.all(questions.map(ask));
    assertEach(answers, ({ rest }) => rest, questions);
    assert.ok(pool.size <= questions.length / 2, `${pool.size} processes`);
  });

  it("ends a process that was not asked for a while, and starts another for the next question", async () => {
    start(WHO, { idleMs: 30 });
    const { pid } = await ask();
    await eventually(() => assert.ok(pool.size === 0 && !isAlive(pid), "the process has ended"));
    assert.notEqual((await ask()).pid, pid);
    assert.deepStrictEqual(failures, []);
  });

  it("uses the process again that was used last, so that the others may end", async () => {
    start(`${SHELL} while next; do sleep "$word"; say "$word"; done`, { idleMs: 60_000 });
    await Promise.all([ask("0.4"), ask("0.4")]);
    await pause(50);
    const { pid } = await ask("0");
    for (let turn = 0; turn < 3; turn++) {
      await pause(50);
      assert.equal((await ask("0")).pid, pid);
    }
    assert.equal(pool.size, 2);
  });

  it("starts a new process after a crash, and reports the crash once", async () => {
    start(`${SHELL} next; [ "$word" = crash ] && exit 9; say "$word"; cat > /dev/null`);
    const failure = await failureOf(() => ask("crash"));
    assert.equal(failure.message, "the handler ended with exit code 9");
    assert.deepStrictEqual(failures, [failure]);
    assert.equal(pool.size, 0);
    assert.equal((await ask("fine")).rest, "fine");
  });

  it("refuses a line that answers no request, with the log, and does not use that process again", async () => {
    start(`${SHELL} while next; do echo "in trouble" >&2; sleep 0.02; echo "$$ not JSON"; done`);
    const failure = await failureOf(() => ask());
    assert.equal(failure.reason, "InvalidAnswer");
    assert.equal(failure.log, "in trouble\n");
    assert.equal(pool.size, 0);
    assert.deepEqual(failures, [failure], "the end of the process is told");
    const pid = Number(/"(\d+) not JSON"/.exec(failure.message)?.[1]);
    assert.ok(pid > 0);
    await eventually(() => assert.ok(!isAlive(pid), "the process is dead"));
    assert.equal((await failureOf(() => ask())).reason, "InvalidAnswer", "by another process");
  });

  it("never takes a late answer for another request's, and counts it", async () => {
    let late = 0;
    start(`${SHELL} while next; do say "$word"; sleep 0.02; say late; done`, { onLateAnswer: () => late++ });
    const { pid } = await ask("a");
    for (const word of ["b", "c"]) assert.deepStrictEqual(await ask(word), { pid, rest: word });
    await eventually(() => assert.ok(late === 3, "each of them is counted"));
    assert.deepStrictEqual(failures, []);
  });

  it("takes the answer of a handler that ends after it, whether its end is noticed at once or not", async () => {
    start(`${SHELL} next; say "$word"`);
    for (let turn = 0; turn < 20; turn++) {
      assert.equal((await ask(`${turn}`)).rest, `${turn}`);
      await eventually(() => assert.ok(pool.size === 0, "no process is left"));
    }
  });

  for (const [what, script] of Object.entries(LEAVING)) {
    it(`asks another process if one ${what}: no former process hears the next question`, async () => {
      start(script);
      for (const word of ["a", "b", "c"]) assert.equal((await ask(word)).rest, word);
      assert.deepStrictEqual(failures, []);
    });
  }

  it("says of a program that gives no answer what most of them forget, and not of a function", async () => {
    const said = async (isFunction: boolean) => {
      start("sleep 60", { isFunction, timeoutMs: 100 });
      return (await failureOf(() => ask())).message;
    };
    const late = "the handler gave no answer within 0.1 s (timeoutSeconds) and was killed";
    assert.equal(await said(true), late);
    await pool.close();
    assert.equal(await said(false), `${late}. A program must flush standard output after each answer`);
  });

  it("lets a running question end with the old handler, and asks the next one of a new process", async () => {
    start(`${SHELL} while next; do sleep 0.1; say "$word"; done`);
    const running = ask("a");
    await pause(10);
    pool.renew();
    const second = await ask("b");
    const first = await running;
    assert.deepStrictEqual([first.rest, second.rest], ["a", "b"]);
    assert.notEqual(second.pid, first.pid);
    await eventually(() => assert.ok(!isAlive(first.pid), "the old process has ended"));
    assert.equal((await ask()).pid, second.pid);
    assert.deepStrictEqual(failures, []);
  });

  it("ends idle processes of the old handler at once", async () => {
    start(WHO);
    const { pid } = await ask();
    pool.renew();
    assert.equal(pool.size, 0);
    await eventually(() => assert.ok(!isAlive(pid), "the old process has ended"));
    assert.deepStrictEqual(failures, []);
  });

  it("ends every process when it is closed", async () => {
    start(WHO);
    const { pid } = await ask();
    await pool.close();
    assert.ok(!isAlive(pid));
    assert.equal(pool.size, 0);
  });

  it("fails what is being asked when it is closed", async () => {
    start("exec sleep 60");
    const asking = failureOf(() => pool.ask(question()));
    await eventually(() => assert.ok(pool.size === 1, "the process is asked"));
    await pool.close();
    assert.equal((await asking).reason, "HandlerCrashed");
    const late = await failureOf(() => pool.ask(question()));
    assert.equal(late.reason, "HandlerNotStarted");
  });

  it("leaves a process the time to end that the contract says when it is closed", async () => {
    const folder = temporaryFolder();
    start(`trap 'sleep 3; rmdir "${folder}"' EXIT; ${WHO}`);
    await ask();
    await pool.close();
    assert.equal(existsSync(folder), false);
  });
});
