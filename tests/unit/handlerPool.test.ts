import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { ReconcileFailure } from "../../runtime/failure";
import { ChildProcessTransport } from "../../runtime/handler/childProcessTransport";
import { HandlerPool, type HandlerPoolOptions } from "../../runtime/handler/handlerPool";
import { parseAnswer } from "../../runtime/handler/parseAnswer";
import { eventually } from "./support/eventually";
import { failureOf } from "./support/failures";
import { isAlive, shellHandler } from "./support/handlers";

/** Answers every line with the process's id and the line. */
const WHO = 'while read -r line; do echo "$$ $line"; done';

describe("HandlerPool", () => {
  let pool: HandlerPool;
  let failures: ReconcileFailure[];
  beforeEach(() => {
    failures = [];
  });
  afterEach(() => pool.close());

  function start(script: string, options: Partial<HandlerPoolOptions> = {}): void {
    pool = new HandlerPool({
      transport: shellHandler(script),
      timeoutMs: 10_000,
      onFailure: (failure) => failures.push(failure),
      ...options,
    });
  }

  /** Asks, and gives the process's id and the rest of its answer. */
  async function ask(line = "question"): Promise<{ pid: number; rest: string }> {
    const { answer } = await pool.ask(line, (reply) => reply.split(" "));
    return { pid: Number(answer[0]), rest: answer.slice(1).join(" ") };
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

  it("starts one process before it is asked where it is told to, and tells what that one said", async () => {
    start(`echo hello >&2; ${WHO}`);
    pool.warm();
    pool.warm();
    assert.equal(pool.size, 1);
    const { answer, log } = await pool.ask("a", (reply) => reply.split(" "));
    assert.deepStrictEqual([answer[1], log, pool.size], ["a", "hello\n", 1]);
    await pool.close();
    pool.warm();
    assert.equal(pool.size, 0);
  });

  it("starts another where the one that was to be asked has ended before", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "argosy-warm-"));
    start(`mkdir ${folder}/begun || exit 3; ${WHO}`);
    mkdirSync(path.join(folder, "begun"));
    pool.warm();
    await eventually("it has ended", () => pool.size === 0);
    assert.equal(failures.length, 1);
    rmdirSync(path.join(folder, "begun"));
    assert.equal((await ask("a")).rest, "a");
    rmSync(folder, { recursive: true });
  });

  it("needs few processes for many questions that are answered quickly", async () => {
    start(WHO);
    const questions = Array.from({ length: 40 }, (_, number) => String(number));
    const answers = await Promise.all(questions.map(ask));
    assert.deepStrictEqual(
      answers.map(({ rest }) => rest),
      questions,
    );
    assert.ok(pool.size < 10, `${pool.size} processes`);
  });

  it("starts as many processes as there are questions that take long, and gives each its own answer", async () => {
    start('while read -r line; do sleep 1; echo "$$ $line"; done');
    const answers = await Promise.all(["a", "b", "c", "d"].map(ask));
    assert.deepStrictEqual(
      answers.map(({ rest }) => rest),
      ["a", "b", "c", "d"],
    );
    assert.equal(new Set(answers.map(({ pid }) => pid)).size, 4);
    assert.equal(pool.size, 4);
  });

  it("ends a process that nobody asked for a while, and starts another when it is asked", async () => {
    start(WHO, { idleMs: 30 });
    const { pid } = await ask();
    await eventually("the process has ended", () => pool.size === 0 && !isAlive(pid));
    assert.notEqual((await ask()).pid, pid);
    assert.deepStrictEqual(failures, []);
  });

  it("uses the process again that was used last, so that the others may end", async () => {
    start('while read -r line; do sleep "$line"; echo "$$ $line"; done', { idleMs: 1_000 });
    await Promise.all([ask("0.4"), ask("0.4")]);
    await pause(50);
    const { pid } = await ask("0");
    for (let turn = 0; turn < 3; turn++) {
      await pause(50);
      assert.equal((await ask("0")).pid, pid);
    }
    assert.equal(pool.size, 2);
  });

  it("starts a new process after a crash, and tells of the crash once", async () => {
    start('read -r line; [ "$line" = crash ] && exit 9; echo "$$ $line"; cat > /dev/null');
    const failure = await failureOf(() => ask("crash"));
    assert.equal(failure.message, "the handler ended with exit code 9");
    assert.deepStrictEqual(failures, [failure]);
    assert.equal(pool.size, 0);
    assert.equal((await ask("fine")).rest, "fine");
  });

  it("does not hold up other questions while one hangs, and kills that one", async () => {
    start('while read -r line; do [ "$line" = hang ] && sleep 60; echo "$$ $line"; done', {
      timeoutMs: 800,
    });
    let over = false;
    const hanging = failureOf(() => ask("hang")).finally(() => {
      over = true;
    });
    assert.equal((await ask("fine")).rest, "fine");
    assert.equal(over, false, "the answer waited for the one that hangs");
    assert.equal((await hanging).reason, "HandlerTimedOut");
  });

  it("refuses a line that is not JSON, with the log, and does not use that process again", async () => {
    start('while read -r line; do echo "in trouble" >&2; sleep 0.02; echo "$$ not JSON"; done');
    const failure = await failureOf(() => pool.ask("question", (line) => parseAnswer(line, "reconcile")));
    assert.equal(failure.reason, "InvalidAnswer");
    assert.equal(failure.log, "in trouble\n");
    assert.equal(pool.size, 0);
    assert.deepEqual(failures, [failure], "the end of the process is told");
    const pid = Number(/"(\d+) not JSON"/.exec(failure.message)?.[1]);
    assert.ok(pid > 0);
    await eventually("the process is dead", () => !isAlive(pid));
  });

  it("never takes a second line for the answer to the next question", async () => {
    start('while read -r line; do echo "$$ $line"; sleep 0.05; echo "$$ late"; done');
    const first = await ask("a");
    await eventually("the process is given up", () => failures.length === 1 && pool.size === 0);
    const second = await ask("b");
    assert.equal(second.rest, "b");
    assert.notEqual(second.pid, first.pid);
  });

  it("refuses every question of a handler that answers twice, and mixes no answers up", async () => {
    start('while read -r line; do echo "$$ $line"; echo "$$ $line"; done');
    for (let turn = 0; turn < 20; turn++) {
      const line = `question ${turn}`;
      const rest = await ask(line).then(
        (answer) => answer.rest,
        (failure: ReconcileFailure) => failure.reason,
      );
      assert.ok(rest === line || rest === "InvalidAnswer", `"${rest}" in answer to "${line}"`);
    }
    assert.ok(failures.length > 0);
    assert.ok(failures.every(({ reason }) => reason === "InvalidAnswer"));
  });

  it("takes the answer of a handler that ends after it, whether its end is noticed at once or not", async () => {
    start('read -r line; echo "$$ $line"');
    for (let turn = 0; turn < 20; turn++) {
      assert.equal((await ask(`${turn}`)).rest, `${turn}`);
      await eventually("no process is left", () => pool.size === 0);
    }
  });

  it("lets a running question end with the old handler, and asks the next one of a new process", async () => {
    start('while read -r line; do sleep 0.1; echo "$$ $line"; done');
    const running = ask("a");
    await pause(10);
    pool.renew();
    const meanwhile = await ask("b");
    const first = await running;
    assert.deepStrictEqual([first.rest, meanwhile.rest], ["a", "b"]);
    assert.notEqual(meanwhile.pid, first.pid);
    await eventually("the old process has ended", () => !isAlive(first.pid));
    assert.equal((await ask()).pid, meanwhile.pid);
    assert.deepStrictEqual(failures, []);
  });

  it("ends idle processes of the old handler at once", async () => {
    start(WHO);
    const { pid } = await ask();
    pool.renew();
    assert.equal(pool.size, 0);
    await eventually("the old process has ended", () => !isAlive(pid));
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
    const asking = failureOf(() => pool.ask("question", String));
    await eventually("the process is asked", () => pool.size === 1);
    await pool.close();
    assert.equal((await asking).reason, "HandlerCrashed");
    const late = await failureOf(() => pool.ask("question", String));
    assert.equal(late.reason, "HandlerNotStarted");
  });

  it("passes on what is wrong with the reader itself", async () => {
    start(WHO);
    const fault = new TypeError("a fault of ours");
    const asking = pool.ask("question", () => {
      throw fault;
    });
    await assert.rejects(asking, (error) => error === fault);
    assert.equal(pool.size, 0);
  });

  it("runs a Python handler as the contract shows it", async () => {
    const source = [
      "import json, sys",
      "for line in sys.stdin:",
      "    print(json.dumps({'children': [], 'status': {'seen': json.loads(line)['n']}}), flush=True)",
    ];
    const command = ["python3", "-c", source.join("\n")];
    start("", { transport: new ChildProcessTransport({ command, folder: tmpdir(), env: {} }) });
    for (const n of [1, 2, 3]) {
      const { answer } = await pool.ask(JSON.stringify({ n }), (line) => parseAnswer(line, "reconcile"));
      assert.deepStrictEqual(answer, { children: [], status: { seen: n } });
    }
    assert.ok(!failures.some((failure) => failure instanceof ReconcileFailure));
  });
});
