import { print } from "../cli/terminal";
import { runTool } from "./runTool";

/** Test files that one mocha runs. */
export interface TestRun {
  /** For people: "unit tests". */
  readonly title: string;
  readonly files: readonly string[];
  /** How many files run at a time, each in a process of its own. With 1, or a single file, all run in one process. */
  readonly jobs: number;
  /** Options for mocha. */
  readonly options: readonly string[];
}

/** What tests/reporter.ts sends at the end of a run: the numbers of tests, and which failed. */
export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** For each failed test its file, its titles and the first line of its error. */
  readonly failures: readonly string[];
}

/** What one or more runs came to. */
export interface TestResult extends TestCounts {
  /** 0, or that of the last run which failed. */
  readonly exitCode: number;
}

/** Runs tests with mocha. */
export async function runTests({ title, files, jobs, options }: TestRun): Promise<TestResult> {
  const parallel =
    jobs > 1 && files.length > 1 ? ["--parallel", `--jobs=${Math.min(jobs, files.length)}`] : [];
  const { exitCode, told } = await runTool<TestCounts>({
    title,
    entry: "mocha/bin/mocha.js",
    args: [...options, ...parallel, ...files],
  });
  if (told) return { ...told, exitCode };
  // Without counts mocha has not come to the reporter's end: a test file cannot be loaded, or mocha was ended.
  return { passed: 0, failed: exitCode === 0 ? 0 : 1, skipped: 0, failures: [], exitCode };
}

/** Sums up several runs. */
export function sumOf(results: readonly TestResult[]): TestResult {
  return results.reduce(
    (sum, { passed, failed, skipped, failures, exitCode }) => ({
      passed: sum.passed + passed,
      failed: sum.failed + failed,
      skipped: sum.skipped + skipped,
      failures: [...sum.failures, ...failures],
      exitCode: exitCode || sum.exitCode,
    }),
    { passed: 0, failed: 0, skipped: 0, failures: [], exitCode: 0 },
  );
}

/**
 * Writes which tests failed, since what they printed may be minutes of output ago, and then the last line of a command that
 * runs tests. Gives its exit code.
 */
export function endTests({ passed, failed, skipped, failures, exitCode }: TestResult): number {
  for (const failure of failures) print(`failed: ${failure}`);
  print(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  return exitCode;
}
