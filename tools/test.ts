import { availableParallelism } from "node:os";
import type { Command } from "commander";
import { runCommand } from "../cli/command";
import { EXIT_CODES } from "../cli/commandError";
import { progress } from "../cli/terminal";
import { runCheck } from "./runTool";
import { readTestArguments, testCommand, testFilesIn } from "./testArguments";
import { endTests, runTests, sumOf, type TestResult, type TestRun } from "./testRun";

const TYPE_CHECK = { title: "type check", entry: "typescript/bin/tsc", args: ["--noEmit"] };
const LINT = { title: "lint", entry: "@biomejs/biome/bin/biome", args: ["check"] };

/** Test files that run together. */
interface TestFolders extends Pick<TestRun, "title" | "without"> {
  readonly folders: readonly string[];
  /** How many files run at the same time for each core, because most files spend most of their time waiting. */
  readonly filesPerCore: number;
}

/** The runs, one after the other. */
const RUNS: readonly TestFolders[] = [
  {
    title: "unit tests",
    folders: ["tests/unit"],
    // They wait for timers and processes. With fewer files, a core is idle for a third of the time.
    filesPerCore: 3.5,
    // They reach no other machine. To read the authorities that somebody trusts besides takes each of their processes 40 ms.
    without: ["NODE_EXTRA_CA_CERTS"],
  },
  {
    title: "integration and package tests",
    // The package tests only compute, in the time that the integration tests leave idle.
    folders: ["tests/integration", "tests/package"],
    // They also start processes. With more files, a renewal of a lease or an answer of the API server is late by seconds, and a
    // test fails without a reason.
    filesPerCore: 2.5,
  },
];

/**
 * `npm test`: type check, lint, and all tests. With arguments it runs only tests: `npm test -- --grep queue`, `npm test --
 * tests/unit/queue.test.ts`. The last line of the output is "N passed, N failed, N skipped".
 *
 * @returns the exit code: 1 if anything has failed, 2 for wrong arguments
 */
export function main(args: readonly string[]): Promise<number> {
  const command = testCommand("test");
  return runCommand({ command, runUntil: () => test(command, args.length === 0) }, args);
}

/** @param isWhole whether to check types and style as well */
async function test(command: Command, isWhole: boolean): Promise<number> {
  const { files, options, jobs } = readTestArguments(
    command,
    RUNS.flatMap(({ folders }) => folders),
  );
  for (const check of isWhole ? [TYPE_CHECK, LINT] : []) {
    const exitCode = await runCheck(check);
    if (exitCode !== 0) return endTests({ passed: 0, failed: 1, skipped: 0, failures: [], exitCode });
  }
  const results: TestResult[] = [];
  for (const { title, folders, filesPerCore, without } of RUNS) {
    const all = testFilesIn(...folders);
    const chosen = files.length > 0 ? files.filter((file) => all.includes(file)) : all;
    if (chosen.length === 0) continue;
    const result = await runTests({
      title,
      files: chosen,
      options,
      without,
      jobs: jobs ?? Math.ceil(filesPerCore * availableParallelism()),
    });
    results.push(result);
    if (result.exitCode !== 0 && options.includes("--bail")) break;
  }
  const sum = sumOf(results);
  const isNone = sum.passed + sum.failed + sum.skipped === 0;
  if (isNone) progress("no test matches this name");
  return endTests(isNone ? { ...sum, exitCode: EXIT_CODES.failed } : sum);
}
