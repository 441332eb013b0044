import { availableParallelism } from "node:os";
import path from "node:path";
import Mocha from "mocha";
import { formatDuration } from "../cli/common/terminal";
import { isIntegration } from "../tools/testArguments";
import type { TestCounts } from "../tools/testRun";
import { filePool } from "./support/filePool";

/** What mocha's types leave out. It has no public way to decide when a file begins. */
type Runner = Mocha.Runner & {
  isParallelMode(): boolean;
  workerReporter(path: string): Runner;
  _createFileRunner(...args: unknown[]): (file: string) => Promise<void>;
  /** After a failure with --bail, or Ctrl-C, no longer "RUNNING". */
  readonly _state: string;
};
type Options = Mocha.MochaOptions & { spec?: string[]; jobs?: number };

/**
 * How many integration files may run at the same time for each core. They also start processes. With more files, a renewal of a
 * lease or an answer of the API server is late by seconds, and a test fails without a reason.
 */
const INTEGRATION_FILES_PER_CORE = 2.5;

/** How often something is said, at least, while files run. A terminal's last line is renewed. */
const PROGRESS_MS = process.stderr.isTTY ? 1_000 : 5_000;

/**
 * Reports each test as mocha's own specification reporter does, or, where files run side by side, each file as it
 * ends, and in between how far the run is. Failures come at the end, whole and with their files. The result goes to
 * the process that started the run, which sums up; where there is none, it is the last line.
 */
class Reporter extends Mocha.reporters.Base {
  private readonly failed: string[] = [];

  constructor(runner: Runner, options: Options = {}) {
    super(runner, options);
    const nowRunning = runner.isParallelMode() ? reportFiles(runner, this.stats, options) : undefined;
    if (!nowRunning) new Mocha.reporters.Spec(runner, options).epilogue = () => undefined;
    runner.on("fail", (test, error) => {
      const inFile = nowRunning?.();
      const file = test.file ? path.relative("", test.file) : (inFile?.name ?? "in no file");
      const titles = [file, ...test.titlePath()];
      test.titlePath = () => titles;
      const [firstLine] = String(error?.message ?? error).split("\n");
      this.failed.push(`${titles.join(" > ")}: ${firstLine}`);
    });
    // Where files run side by side, those that could not be run to their end are told last, each with an "end" before it.
    runner.once("end", () => process.nextTick(() => this.finish()));
  }

  private finish(): void {
    this.epilogue();
    const { passes: passed, failures: failed, pending: skipped } = this.stats;
    const counts: TestCounts = { passed, failed, skipped, failures: this.failed };
    if (process.send) process.send(counts);
    else process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`);
    // Nothing is left running when this fires. Without it Node 20 now and then never comes to the end of its own
    // clean-up, with one core busy: seen after the tests that break many connections.
    process.once("beforeExit", () => process.exit());
  }
}

/** What is known of a file whose events come in. */
interface FileResult {
  name?: string;
  passed: number;
  skipped: number;
  readonly failed: string[];
  milliseconds: number;
}

/** Reports each file when it has ended. Gives a look at the one whose events come in. */
function reportFiles(runner: Runner, stats: Mocha.Stats, { spec = [], jobs = 1 }: Options): () => FileResult {
  runner.workerReporter(require.resolve("./support/workerReporter"));
  const running = runInPool(runner, jobs);
  const { color, symbols } = Mocha.reporters.Base;
  let ended = 0;
  const startedAt = performance.now();
  let file = emptyFile();
  const take = (runnable: Mocha.Runnable) => {
    if (runnable.file !== undefined) file.name ??= path.relative("", runnable.file);
    file.milliseconds += runnable.duration ?? 0;
  };
  runner.on("test end", take).on("hook end", take);
  runner.on("pass", () => {
    file.passed += 1;
  });
  runner.on("pending", () => {
    file.skipped += 1;
  });
  runner.on("fail", (test) => {
    // A hook that fails does not end.
    if (test.file !== undefined) file.name ??= path.relative("", test.file);
    file.failed.push(test.fullTitle());
  });
  // A file's events come all at once, when it has ended.
  runner.on("suite end", ({ root }) => {
    if (!root || file.name === undefined) return;
    ended += 1;
    const isFine = file.failed.length === 0;
    const mark = isFine ? color("checkmark", symbols.ok) : color("fail", symbols.err);
    const skipped = file.skipped > 0 ? `, ${file.skipped} skipped` : "";
    const numbers = `${file.passed} passed${isFine ? "" : `, ${file.failed.length} failed`}${skipped}`;
    say(`${mark} ${file.name}  ${numbers}  ${color("light", formatDuration(file.milliseconds))}`);
    for (const title of file.failed) say(color("fail", `    ${title}`));
    file = emptyFile();
  });
  let saidAt = performance.now();
  const say = (line: string) => {
    saidAt = performance.now();
    if (process.stderr.isTTY) process.stderr.write("\r\u001b[2K");
    process.stdout.write(`${line}\n`);
  };
  const timer = setInterval(() => {
    if (!process.stderr.isTTY && performance.now() - saidAt < PROGRESS_MS) return;
    const names = [...running].map((name) => path.basename(name, ".test.ts"));
    const { passes, failures } = stats;
    const done = `${ended} of ${spec.length} files, ${passes} passed, ${failures} failed`;
    const line = `${done} (${formatDuration(performance.now() - startedAt)}). Running: ${names.join(", ")}`;
    saidAt = performance.now();
    if (process.stderr.isTTY) process.stderr.write(`\r\u001b[2K${line.slice(0, process.stderr.columns - 1)}`);
    else process.stderr.write(`${line}\n`);
  }, PROGRESS_MS);
  runner.once("end", () => {
    clearInterval(timer);
    if (process.stderr.isTTY) process.stderr.write("\r\u001b[2K");
  });
  return () => file;
}

/** Runs the files in one pool. Returns the files that run at the time. */
function runInPool(runner: Runner, jobs: number): ReadonlySet<string> {
  const running = new Set<string>();
  const limits = {
    all: jobs,
    limited: Math.ceil(INTEGRATION_FILES_PER_CORE * availableParallelism()),
    isLimited: (file: string) => isIntegration(path.relative("", file)),
  };
  const createFileRunner = runner._createFileRunner;
  runner._createFileRunner = (...args) => {
    const run = createFileRunner.apply(runner, args);
    // Mocha has ended its processes when the run is stopped, and would start new ones for the files that wait.
    return filePool(limits, async (file) => (runner._state === "RUNNING" ? run(file) : undefined), running);
  };
  return running;
}

function emptyFile(): FileResult {
  return { passed: 0, skipped: 0, failed: [], milliseconds: 0 };
}

export default Reporter;
