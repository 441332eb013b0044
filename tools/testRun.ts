import { print } from "../cli/common/terminal";
import { runTool } from "./runTool";

/** Test files for one run of mocha. */
export interface TestRun {
  /** The title for people: "unit tests". */
  readonly title: string;
  readonly files: readonly string[];
  /** How many files run at the same time, each in its own process. With 1, or a single file, all run in one process. */
  readonly jobs: number;
  /** Options for mocha. */
  readonly options: readonly string[];
}

/** The message of tests/reporter.ts at the end of a run: the numbers of tests, and the failed tests. */
export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** For each failed test its file, its titles and the first line of its error. */
  readonly failures: readonly string[];
}

/** The result of a run. */
export interface TestResult extends TestCounts {
  /** 0 if nothing has failed. */
  readonly exitCode: number;
}

/**
 * Each process of tests may fill this many megabytes with new objects before Node looks for those that are still used. With Node's
 * own 16, tests that run the program need a tenth more of a core's time: a program makes much, and needs it to its end.
 */
const NEW_OBJECTS_MB = 64;

/** Runs tests with mocha. */
export async function runTests({ title, files, jobs, options }: TestRun): Promise<TestResult> {
  const parallel =
    jobs > 1 && files.length > 1 ? ["--parallel", `--jobs=${Math.min(jobs, files.length)}`] : [];
  const { exitCode, told } = await runTool<TestCounts>({
    title,
    entry: "mocha/bin/mocha.js",
    nodeOptions: [`--max-semi-space-size=${NEW_OBJECTS_MB}`],
    args: [...options, ...parallel, ...files],
  });
  if (told) return { ...told, exitCode };
  // If there are no counts, mocha did not reach the end of the report: a test file cannot be loaded, or mocha was killed.
  return { passed: 0, failed: exitCode === 0 ? 0 : 1, skipped: 0, failures: [], exitCode };
}

/**
 * Lists the failed tests, because their own output may be far above, and then prints the last line of a command that runs tests.
 * Returns the exit code.
 */
export function endTests({ passed, failed, skipped, failures, exitCode }: TestResult): number {
  for (const failure of failures) print(`failed: ${failure}`);
  print(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  return exitCode;
}
