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
}

/**
 * The runs, one after the other. More files than cores run at the same time, because most files spend most of their time waiting:
 * for timers, for processes, and for the control plane that integration tests share. With two files for each core, a core is idle
 * now and then. Three files for each core would be too many: each process of unit tests loads Pulumi and the compiler, and
 * integration tests also start processes. If all of these need a core at the same time, a renewal of a lease or an answer of the
 * API server is late by seconds, and a test fails without a reason.
 */
const RUNS: readonly TestFolders[] = [
  // They reach no other machine. To read the authorities that somebody trusts besides takes each of their processes 40 ms.
  { title: "unit tests", folders: ["tests/unit"], without: ["NODE_EXTRA_CA_CERTS"] },
  // The package tests only compute, in the time that the integration tests leave idle.
  { title: "integration and package tests", folders: ["tests/integration", "tests/package"] },
];

const FILES_PER_CORE = 2.5;

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
  for (const { title, folders, without } of RUNS) {
    const all = testFilesIn(...folders);
    const chosen = files.length > 0 ? files.filter((file) => all.includes(file)) : all;
    if (chosen.length === 0) continue;
    const result = await runTests({
      title,
      files: chosen,
      options,
      without,
      jobs: jobs ?? Math.ceil(FILES_PER_CORE * availableParallelism()),
    });
    results.push(result);
    if (result.exitCode !== 0 && options.includes("--bail")) break;
  }
  const sum = sumOf(results);
  const isNone = sum.passed + sum.failed + sum.skipped === 0;
  if (isNone) progress("no test matches this name");
  return endTests(isNone ? { ...sum, exitCode: EXIT_CODES.failed } : sum);
}
