import { availableParallelism } from "node:os";
import type { Command } from "commander";
import { runCommand } from "../cli/common/command";
import { EXIT_CODES } from "../cli/common/commandError";
import { progress } from "../cli/common/terminal";
import { readTestArguments, testCommand, testFilesIn } from "./testArguments";
import { endTests, runTests } from "./testRun";

const FOLDERS = ["tests/unit", "tests/integration", "tests/package"];

/**
 * How many files run at the same time for each core. They wait for timers and processes. With fewer files, a core is idle for a
 * third of the time. tests/reporter.ts limits the integration tests further.
 */
const FILES_PER_CORE = 3.5;

/**
 * `npm test`: all tests, or those that the changed files can reach. The type check and the linter are two of them. With files or
 * names it runs only those tests: `npm test -- --grep queue`, `npm test -- tests/unit/workQueue.test.ts`. The last line of the output
 * is "N passed, N failed, N skipped".
 *
 * @returns the exit code: 1 if anything has failed, 2 for wrong arguments
 */
export function main(args: readonly string[]): Promise<number> {
  const command = testCommand("test");
  return runCommand({ command, runUntil: () => test(command) }, args);
}

async function test(command: Command): Promise<number> {
  const { files, options, isChoice, isAll, jobs } = readTestArguments(command, FOLDERS);
  const all = testFilesIn(...FOLDERS);
  const chosen = all.filter((file) => files.length === 0 || files.includes(file));
  const result = await runTests({
    title: "tests",
    files: isChoice || isAll ? chosen : reachable(all),
    options,
    jobs: jobs ?? Math.ceil(FILES_PER_CORE * availableParallelism()),
  });
  const isNone = result.passed + result.failed + result.skipped === 0;
  if (isNone) progress("no test matches this name");
  return endTests(isNone ? { ...result, exitCode: EXIT_CODES.failed } : result);
}

/** The test files that the changed files can reach. Says how many, and why. */
function reachable(all: readonly string[]): readonly string[] {
  // Only here, because it loads TypeScript's compiler, which takes a third of a second.
  const { affectedTests, changedFiles } = require("./affectedTests") as typeof import("./affectedTests");
  const changed = changedFiles() ?? [];
  if (changed.length === 0) return all;
  const { tests, reachesAll } = affectedTests(changed, all);
  const [first, ...others] = changed;
  const what =
    others.length > 0 ? `${first} and ${others.length} more changed files` : `the changed ${first}`;
  progress(
    reachesAll === undefined
      ? `${tests.length} of ${all.length} test files, which ${what} can reach; --all runs all`
      : `all ${all.length} test files, because ${reachesAll} has changed`,
  );
  return tests;
}
