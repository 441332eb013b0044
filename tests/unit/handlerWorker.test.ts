import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { ReconcileFailure } from "../../runtime/failure";
import { ChildProcessTransport } from "../../runtime/handler/childProcessTransport";
import type { HandlerTransport } from "../../runtime/handler/handlerTransport";
import { HandlerWorker } from "../../runtime/handler/handlerWorker";
import { eventually } from "./support/eventually";
import { failureOf } from "./support/failures";
import { ECHO, isAlive, shellHandler } from "./support/handlers";

const SECOND = 1_000;

describe("HandlerWorker", () => {
  let worker: HandlerWorker | undefined;
  let given: (ReconcileFailure | undefined)[];
  beforeEach(() => {
    given = [];
  });
  afterEach(() => worker?.end(0));

  function start(transport: HandlerTransport): HandlerWorker {
    worker = new HandlerWorker(transport, (failure) => given.push(failure));
    return worker;
  }

  /** How a question to a handler fails; the process must have been given up for the same reason, once. */
  async function failing(script: string, timeoutMs = 10 * SECOND): Promise<ReconcileFailure> {
    const asked = start(shellHandler(script));
    const failure = await failureOf(() => asked.ask("question", timeoutMs));
    assert.deepStrictEqual(given, [failure]);
    return failure;
  }

  it("asks one living process again and again", async () => {
    const echo = start(shellHandler(ECHO));
    for (let turn = 0; turn < 20; turn++) {
      assert.equal((await echo.ask(`line ${turn}`, SECOND)).line, `line ${turn}`);
    }
    assert.deepStrictEqual(given, []);
  });

  it("need not be quiet after an answer that tells which question it answers", async () => {
    const echo = start(shellHandler(ECHO));
    await echo.ask("line", SECOND);
    echo.conversation.identified = true;
    assert.equal(echo.isQuiet, true);
  });

  it("carries a question and an answer of a megabyte", async () => {
    const echo = start(new ChildProcessTransport({ command: ["cat"], folder: tmpdir(), env: {} }));
    const long = "ß🚢".repeat(170_000);
    assert.equal((await echo.ask(long, 10 * SECOND)).line, long);
  });

  it("gives what the handler wrote to standard error meanwhile, and not what it wrote before", async () => {
    const asked = start(
      shellHandler('while read -r line; do echo "log of $line" >&2; sleep 0.02; echo ok; done'),
    );
    assert.deepStrictEqual(await asked.ask("a", SECOND), { line: "ok", log: "log of a\n" });
    assert.deepStrictEqual(await asked.ask("b", SECOND), { line: "ok", log: "log of b\n" });
  });

  it("keeps the end of a long standard error", async () => {
    const failure = await failing(
      "i=0; while [ $i -lt 3000 ]; do echo line $i >&2; i=$((i+1)); done; exit 1",
    );
    assert.equal(Buffer.byteLength(failure.log), 8 * 1024);
    assert.match(failure.log, /line 2999\n$/);
  });

  it("reports a crash with the exit code and the end of standard error", async () => {
    const failure = await failing('read -r line; echo "Traceback: size is missing" >&2; exit 3');
    assert.equal(failure.reason, "HandlerCrashed");
    assert.equal(failure.message, "the handler ended with exit code 3");
    assert.equal(failure.log, "Traceback: size is missing\n");
  });

  it("reports the signal that ended the handler", async () => {
    const failure = await failing("read -r line; kill -SEGV $$");
    assert.equal(failure.reason, "HandlerCrashed");
    assert.match(failure.message, /signal SIGSEGV/);
  });

  it("reports a command that cannot be started", async () => {
    const missing = new ChildProcessTransport({
      command: ["argosy-no-such-command"],
      folder: tmpdir(),
      env: {},
    });
    const asked = start(missing);
    const failure = await failureOf(() => asked.ask("question", SECOND));
    assert.equal(failure.reason, "HandlerNotStarted");
    assert.match(failure.message, /argosy-no-such-command/);
  });

  it("kills a handler that gives no answer in time, and what it has started", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "argosy-handler-"));
    try {
      const file = path.join(folder, "pids");
      const failure = await failing(
        `sleep 60 & echo $$ $! > '${file}'; read -r line; echo busy >&2; wait`,
        400,
      );
      assert.equal(failure.reason, "HandlerTimedOut");
      assert.equal(failure.message, "the handler gave no answer within 0.4 s and was killed");
      assert.equal(failure.log, "busy\n");
      assert.ok(existsSync(file), "the handler had not begun");
      const pids = readFileSync(file, "utf8").trim().split(" ").map(Number);
      assert.equal(pids.length, 2);
      for (const pid of pids) await eventually(`process ${pid} is dead`, () => !isAlive(pid));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  const broken: [string, string, RegExp][] = [
    ["two lines in one write", "read -r line; printf 'one\\ntwo\\n'; sleep 60", /more than one line/],
    [
      "a line and the beginning of another",
      "read -r line; printf 'one\\ntwo'; sleep 60",
      /more than one line/,
    ],
    [
      "an answer of 10 MB, before it has ended",
      "read -r line; head -c 10000000 /dev/zero | tr '\\0' x; sleep 60",
      /longer than 4 MiB/,
    ],
  ];
  for (const [what, script, message] of broken) {
    it(`refuses ${what}, and ends the process`, async () => {
      const failure = await failing(script);
      assert.equal(failure.reason, "InvalidAnswer");
      assert.match(failure.message, message);
    });
  }

  it("gives a process up that writes a second line a moment after its answer", async () => {
    const asked = start(shellHandler("read -r line; echo answer; sleep 0.05; echo more; sleep 60"));
    assert.equal((await asked.ask("question", SECOND)).line, "answer");
    await eventually("the process is given up", () => given.length > 0);
    assert.equal(given[0]?.reason, "InvalidAnswer");
  });

  it("gives a process up that speaks before it is asked", async () => {
    start(shellHandler("echo ready; sleep 60"));
    await eventually("the process is given up", () => given.length > 0);
    assert.match(given[0]?.message ?? "", /more than one line for one request/);
  });

  it("tells that an idle process has crashed", async () => {
    const asked = start(shellHandler("read -r line; echo answer; sleep 0.05; exit 5"));
    assert.equal((await asked.ask("question", SECOND)).line, "answer");
    await eventually("the process is given up", () => given.length > 0);
    assert.equal(given[0]?.message, "the handler ended with exit code 5");
  });

  it("lets a process end by itself, and tells nobody", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "argosy-handler-"));
    try {
      const file = path.join(folder, "ended");
      const asked = start(shellHandler(`${ECHO}; echo cleanly > '${file}'`));
      await asked.ask("question", SECOND);
      asked.end();
      await eventually("the process has ended by itself", () => existsSync(file));
      assert.deepStrictEqual(given, []);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("kills a process that does not end when it should", async () => {
    const asked = start(shellHandler("read -r line; echo $$; exec sleep 60"));
    const pid = Number((await asked.ask("question", SECOND)).line);
    asked.end(20);
    await eventually("the process is dead", () => !isAlive(pid));
    assert.deepStrictEqual(given, []);
  });
});
