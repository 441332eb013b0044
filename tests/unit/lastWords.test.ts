import assert from "node:assert/strict";
import { lastWords } from "../../runtime/handler/handlerWorker";
import { withinCpuTime } from "../support/cpuTime";

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
