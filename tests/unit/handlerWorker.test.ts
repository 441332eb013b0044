import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { ChildProcessTransport } from "../../cli/handler/childProcessTransport";
import type { ReconcileFailure } from "../../runtime/base/failure";
import type { HandlerTransport } from "../../runtime/handler/handlerTransport";
import { HandlerWorker, lastWords } from "../../runtime/handler/handlerWorker";
import { withinCpuTime } from "../support/cpuTime";
import { eventually } from "../support/eventually";
import { temporaryFolder } from "../support/temporaryFolder";
import { failureOf } from "./support/failures";
import { ECHO, isAlive, question, SHELL, shellHandler } from "./support/handlers";
import { titleOf } from "./support/titles";

/** For an answer that comes. A busy machine takes seconds to start a process. */
const ANSWER_MS = 30_000;

describe("HandlerWorker", () => {
  let worker: HandlerWorker | undefined;
  let given: (ReconcileFailure | undefined)[];
  let late: number;
  let folder: string;
  beforeEach(() => {
    folder = temporaryFolder();
    given = [];
    late = 0;
  });
  afterEach(() => worker?.end(0));

  /** A command that waits for the file `go` in the folder. */
  const untilGo = () => `until [ -e '${folder}/go' ]; do sleep 0.01; done`;

  function start(transport: HandlerTransport): HandlerWorker {
    worker = new HandlerWorker(transport, {
      over: (failure) => given.push(failure),
      lateAnswer: () => late++,
    });
    return worker;
  }

  /** The word that a question is answered with. */
  async function word(asked: HandlerWorker, about: string): Promise<unknown> {
    return (await asked.ask(question(about), ANSWER_MS)).answer["word"];
  }

  /** How a question to a handler fails; the process must have been given up for the same reason, once. */
  async function failing(script: string, timeoutMs = ANSWER_MS): Promise<ReconcileFailure> {
    const asked = start(shellHandler(script));
    const failure = await failureOf(() => asked.ask(question(), timeoutMs));
    assert.deepStrictEqual(given, [failure]);
    return failure;
  }

  it("asks one living process again and again, with another id each time", async () => {
    const echo = start(shellHandler(ECHO));
    const ids = new Set<unknown>();
    for (let turn = 0; turn < 20; turn++) {
      const { answer } = await echo.ask(question(`line ${turn}`), ANSWER_MS);
      const { id, ...more } = answer;
      ids.add(id);
      assert.deepStrictEqual(more, question(`line ${turn}`));
    }
    assert.equal(ids.size, 20);
    assert.deepStrictEqual(given, []);
  });

  it("fails a question if the process could not be started before it was asked", async () => {
    const asked = start({
      start: (listener) => {
        const startError = new Error("spawn nobody ENOENT");
        process.nextTick(() => listener.exited({ code: null, signal: null, startError }));
        return { write: () => {}, end: () => {}, kill: () => {} };
      },
    });
    await new Promise(setImmediate);
    const failure = await failureOf(() => asked.ask(question(), 1_000));
    assert.equal(failure.reason, "HandlerNotStarted");
    assert.match(failure.message, /spawn nobody ENOENT/);
  });

  it("says of an answer whose id is nested too deeply that it is", async () => {
    const failure = await failing(
      `read -r line; printf '{"id":'; head -c 50000 /dev/zero | tr '\\0' '['; head -c 50000 /dev/zero | tr '\\0' ']'; echo '}'`,
    );
    assert.equal(failure.reason, "InvalidAnswer");
    assert.match(failure.message, /nested too deeply/);
  });

  it("carries a question and an answer of a megabyte", async () => {
    const echo = start(new ChildProcessTransport({ command: ["cat"], folder: tmpdir(), env: {} }));
    const long = question("ß🚢".repeat(170_000));
    assert.deepStrictEqual((await echo.ask(long, ANSWER_MS)).answer["object"], long.object);
  });

  it("refuses to ask about an object that is nested too deeply, and goes on with the process", async () => {
    const echo = start(shellHandler(`${SHELL} while next; do say "$word"; done`));
    let spec: object = {};
    for (let level = 0; level < 50_000; level++) spec = { spec };
    const deep = question();
    const failure = await failureOf(() => echo.ask({ ...deep, object: { ...deep.object, spec } }, ANSWER_MS));
    assert.deepStrictEqual([failure.reason, failure.permanent], ["HandlerNotStarted", true]);
    assert.equal(await word(echo, "a"), "a");
    assert.deepStrictEqual(given, []);
  });

  it("refuses an answer that is not UTF-8: other characters would be applied than were meant", async () => {
    const latin1 = `${SHELL} next; printf '{"id":"%s","word":"caf\\351"}\\n' "$id"; cat`;
    const { reason, message } = await failing(latin1);
    assert.equal(reason, "InvalidAnswer");
    assert.match(message, /a line that is not UTF-8: .*caf/);
  });

  it("takes an answer with a byte order mark and line ends of Windows", async () => {
    const crlf = `${SHELL} next; printf '\\357\\273\\277{"id":"%s","word":"x"}\\r\\n' "$id"; cat`;
    assert.equal(await word(start(shellHandler(crlf)), "a"), "x");
  });

  it("gives what the handler wrote to standard error during the question, and not what it wrote before", async () => {
    const asked = start(
      shellHandler(`${SHELL} while next; do echo "log of $word" >&2; sleep 0.02; say ok; done`),
    );
    assert.equal((await asked.ask(question("a"), ANSWER_MS)).log, "log of a\n");
    assert.equal((await asked.ask(question("b"), ANSWER_MS)).log, "log of b\n");
  });

  it("keeps the end of a long standard error", async () => {
    const failure = await failing(
      "i=0; while [ $i -lt 3000 ]; do echo line $i >&2; i=$((i+1)); done; exit 1",
    );
    const length = Buffer.byteLength(failure.log);
    assert.ok(length > 8 * 1024 - 10 && length <= 8 * 1024 + 4, `${length} bytes`);
    assert.match(failure.log, /^…\nline \d+\n/);
    assert.match(failure.log, /line 2999\n$/);
  });

  it("reports a crash with the exit code and the end of standard error", async () => {
    const failure = await failing('read -r line; echo "Traceback: size is missing" >&2; exit 3');
    assert.equal(failure.reason, "HandlerCrashed");
    assert.equal(failure.message, "the handler ended with exit code 3: Traceback: size is missing");
    assert.equal(failure.log, "Traceback: size is missing\n");
  });

  it("reports a handler that never reads its first question", async () => {
    const asked = start(shellHandler("exec <&-; sleep 60"));
    await pause(100);
    const failure = await failureOf(() => asked.ask(question(), ANSWER_MS));
    assert.equal(failure.reason, "HandlerCrashed");
    assert.equal(
      failure.message,
      "the handler closed its standard input before its first answer, and was killed",
    );
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
    const failure = await failureOf(() => asked.ask(question(), ANSWER_MS));
    assert.equal(failure.reason, "HandlerNotStarted");
    assert.match(failure.message, /argosy-no-such-command/);
  });

  it("kills a handler that gives no answer in time, and what it has started", async () => {
    const folder = temporaryFolder();
    const file = path.join(folder, "pids");
    const failure = await failing(
      `sleep 60 & echo $$ $! > '${file}'; read -r line; echo busy >&2; wait`,
      3_000,
    );
    assert.equal(failure.reason, "HandlerTimedOut");
    assert.equal(failure.message, "the handler gave no answer within 3 s (timeoutSeconds) and was killed");
    assert.equal(failure.log, "busy\n");
    assert.ok(existsSync(file), "the handler had not begun");
    const pids = readFileSync(file, "utf8").trim().split(" ").map(Number);
    assert.equal(pids.length, 2);
    for (const pid of pids) await eventually(() => assert.ok(!isAlive(pid), `process ${pid} is dead`));
  });

  for (const [what, end, reason] of [
    ["goes on", "sleep 60", "HandlerTimedOut"],
    ["ends", "exit 0", "HandlerCrashed"],
  ] as const)
    it(`says of a handler that writes an answer without a line feed and ${what} what is missing`, async () => {
      const failure = await failing(`read -r line; printf '{"id": "x"}'; ${end}`, 3_000);
      assert.equal(failure.reason, reason);
      assert.match(failure.message, /wrote 11 bytes of an answer, but no line feed: end each answer with/);
    });

  const broken: [string, RegExp][] = [
    ["next; echo hello; sleep 60", /not JSON: "hello".*standard error/],
    [
      `next; echo '{"children":[]}'; sleep 60`,
      /no "id" in "\{"children":\[\]\}"\. Echo the request's id in each answer: \{"id": request\.id/,
    ],
    [`next; echo '{"id":"uid/1","children":[]}'; sleep 60`, /"id" is "uid\/1", which no request had/],
    [
      "next; id=\"$(echo $id | sed 's,/.*,/2,')\"; say future; sleep 60",
      /"id" is "[-0-9a-f]{36}\/2", which no request had/,
    ],
    [`next; echo '{"error":{"message":"x"}}'; sleep 60`, /no "id" in .*message/],
    ["next; head -c 10000000 /dev/zero | tr '\\0' x; sleep 60", /longer than 4 MiB/],
  ];
  for (const [script, message] of broken) {
    it(`refuses an answer, and ends the process: ${titleOf(message)}`, async () => {
      const failure = await failing(`${SHELL} ${script}`);
      assert.equal(failure.reason, "InvalidAnswer");
      assert.match(failure.message, message);
    });
  }

  it("discards a second answer to one request, counts it, and goes on with the process", async () => {
    const asked = start(
      shellHandler(`${SHELL} while next; do say "$word"; say again; sleep 0.05; say late; done`),
    );
    for (const about of ["a", "b", "c"]) assert.equal(await word(asked, about), about);
    await eventually(() => assert.ok(late === 6, "all of it has come"));
    assert.deepStrictEqual(given, []);
  });

  it("never takes a late answer for another request's, not even of the same object's", async () => {
    const late = "first=$id; say one; next; second=$id; id=$first; say late; id=$second; sleep 0.05; say two";
    const asked = start(shellHandler(`${SHELL} next; ${late}; next`));
    assert.equal(await word(asked, "same"), "one");
    assert.equal(await word(asked, "same"), "two");
    assert.deepStrictEqual(given, []);
  });

  it("gives a process up that speaks before it is asked", async () => {
    start(shellHandler("echo ready; sleep 60"));
    await eventually(() => assert.ok(given.length > 0, "the process is given up"));
    assert.match(given[0]?.message ?? "", /not JSON: "ready"/);
  });

  it("gives a process up that writes a line of its own a moment after its answer", async () => {
    const asked = start(shellHandler(`${SHELL} next; say answer; ${untilGo()}; echo '{}'; sleep 60`));
    assert.equal(await word(asked, "a"), "answer");
    writeFileSync(path.join(folder, "go"), "");
    await eventually(() => assert.ok(given.length > 0, "the process is given up"));
    assert.equal(given[0]?.reason, "InvalidAnswer");
  });

  it("tells that an idle process has crashed", async () => {
    const asked = start(shellHandler(`${SHELL} next; say answer; ${untilGo()}; exit 5`));
    assert.equal(await word(asked, "a"), "answer");
    writeFileSync(path.join(folder, "go"), "");
    await eventually(() => assert.ok(given.length > 0, "the process is given up"));
    assert.equal(given[0]?.message, "the handler ended with exit code 5");
  });

  it("lets a process end by itself, and reports no failure", async () => {
    const file = path.join(folder, "ended");
    const asked = start(shellHandler(`${ECHO}; echo cleanly > '${file}'`));
    await asked.ask(question(), ANSWER_MS);
    asked.end();
    await eventually(() => assert.ok(existsSync(file), "the process has ended by itself"));
    assert.deepStrictEqual(given, []);
  });

  it("kills a process that does not end when it should", async () => {
    const asked = start(shellHandler(`${SHELL} next; say x; exec sleep 60`));
    const pid = Number((await asked.ask(question(), ANSWER_MS)).answer["pid"]);
    asked.end(20);
    await eventually(() => assert.ok(!isAlive(pid), "the process is dead"));
    assert.deepStrictEqual(given, []);
  });
});

/** What each of them writes to standard error when it ends by an error. */
const WRITTEN: Readonly<Record<string, readonly [log: string, words: string]>> = {
  Python: [
    'starting\nTraceback (most recent call last):\n  File "/argosy/handler/main.py", line 3, in <module>\n    size["a"]\nKeyError: \'a\'\n',
    "KeyError: 'a'",
  ],
  Node: [
    '/argosy/handler/main.js:3\nthrow new TypeError("no size");\n^\n\nTypeError: no size\n    at Object.<anonymous> (/argosy/handler/main.js:3:7)\n    at node:internal/main/run_main_module:36:49\n\nNode.js v22.20.0\n',
    "TypeError: no size",
  ],
  Ruby: [
    "main.rb:3:in 'Hash#fetch': key not found: \"a\" (KeyError)\n\tfrom main.rb:3:in 'Object#size'\n\tfrom main.rb:7:in '<main>'\n",
    "main.rb:3:in 'Hash#fetch': key not found: \"a\" (KeyError)",
  ],
  Go: [
    "panic: assignment to entry in nil map\n\ngoroutine 1 [running]:\nmain.reconcile(...)\n\t/src/main.go:12\nmain.main()\n\t/src/main.go:7 +0x1d\n",
    "panic: assignment to entry in nil map",
  ],
  "Go, by a signal": [
    "panic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x4]\n\ngoroutine 1 [running]:\nmain.(*Server).run(0x0)\n\t/src/main.go:12 +0x1d\ncreated by main.main in goroutine 1\n\t/src/main.go:7 +0x1d\nexit status 2\n",
    "panic: runtime error: invalid memory address or nil pointer dereference",
  ],
  Rust: [
    "thread 'main' panicked at src/main.rs:2:5:\nno size\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
    "no size",
  ],
  Java: [
    'Exception in thread "main" java.lang.IllegalStateException: no size\n\tat Main.main(Main.java:3)\nCaused by: java.io.IOException: closed\n\t... 1 more\n',
    "Caused by: java.io.IOException: closed",
  ],
  PHP: [
    "PHP Fatal error:  Uncaught Exception: no size in /argosy/handler/main.php:3\nStack trace:\n#0 {main}\n  thrown in /argosy/handler/main.php on line 3\n",
    "PHP Fatal error:  Uncaught Exception: no size in /argosy/handler/main.php:3",
  ],
  Perl: ["no size at main.pl line 3.\n", "no size at main.pl line 3."],
  Bash: ["asking\nmain.sh: line 3: jqq: command not found\n", "main.sh: line 3: jqq: command not found"],
  "a program that says nothing": ["", ""],
  "a program that writes only what looks like a stack": ["  at a\n  at b\n", "at b"],
  "a program with a long line": [`${"x".repeat(400)}\n`, `${"x".repeat(300)}…`],
};

describe("the last words of a process", () => {
  for (const [writer, [log, words]] of Object.entries(WRITTEN))
    it(`of ${writer}`, () => assert.equal(lastWords(log), words));

  it("are found in no more time than the log is long, whatever an object makes a handler write", () => {
    const log = `${"(".repeat(8_191)}x`;
    withinCpuTime(500, () => {
      for (let times = 0; times < 20; times++) assert.equal(lastWords(log).length, 301);
    });
  });
});
