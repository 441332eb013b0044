import { availableParallelism } from "node:os";
import type { Command } from "commander";
import { runCommand } from "../cli/command";
import { EXIT_CODES } from "../cli/commandError";
import { progress } from "../cli/terminal";
import { runCheck } from "./runTool";
import { readTestArguments, testCommand, testFilesIn } from "./testArguments";
import { endTests, runTests, sumOf, type TestResult } from "./testRun";

const TYPE_CHECK = { title: "type check", entry: "typescript/bin/tsc", args: ["--noEmit"] };
const LINT = {
  title: "lint",
  entry: "@biomejs/biome/bin/biome",
  args: ["check", ...(process.stdout.isTTY ? ["--colors=force"] : [])],
  isBeside: true,
};

interface Kind {
  readonly title: string;
  readonly folder: string;
  readonly jobsPerCore: number;
}

/**
 * The kinds of tests, one group after the other. The package tests only compute. They run beside the integration tests, at a lower
 * priority, in the time that these leave idle.
 *
 * More files than cores run at the same time, because most files spend most of their time waiting: for timers, for processes, and
 * for the control plane that integration tests share. With two files for each core, a core is idle now and then. Three files for
 * each core would be too many: each process of unit tests loads Pulumi and the compiler, and integration tests also start
 * processes. If all of these need a core at the same time, a renewal of a lease or an answer of the API server is late by seconds,
 * and a test fails without a reason.
 */
const GROUPS: readonly (readonly Kind[])[] = [
  [{ title: "unit tests", folder: "tests/unit", jobsPerCore: 2.5 }],
  [
    { title: "integration tests", folder: "tests/integration", jobsPerCore: 2.5 },
    { title: "package tests", folder: "tests/package", jobsPerCore: 2 },
  ],
];

/**
 * `npm test`: type check, lint, and all tests. With arguments it runs only tests: `npm test -- --grep queue`, `npm test --
 * tests/unit/queue.test.ts`. The last line of the output is "N passed, N failed, N skipped".
 *
 * @returns the exit code: 1 if anything has failed, 2 for wrong arguments
 */
export function main(args: readonly string[]): Promise<number> {
  const command = testCommand("test");
  return runCommand({ command, run: () => test(command, args.length === 0) }, args);
}

/** @param isWhole whether to check types and style as well */
async function test(command: Command, isWhole: boolean): Promise<number> {
  const { files, options, jobs } = readTestArguments(
    command,
    GROUPS.flat().map(({ folder }) => folder),
  );
  const exitCodes = await Promise.all((isWhole ? [TYPE_CHECK, LINT] : []).map(runCheck));
  const failed = exitCodes.filter((exitCode) => exitCode !== 0);
  if (failed[0] !== undefined)
    return endTests({ passed: 0, failed: failed.length, skipped: 0, failures: [], exitCode: failed[0] });
  const results: TestResult[] = [];
  // Who says how many files run at the same time means all of them.
  for (const group of jobs === undefined ? GROUPS : GROUPS.flat().map((kind) => [kind])) {
    const runs = group.flatMap(({ title, folder, jobsPerCore }) => {
      const all = files.length > 0 ? files : testFilesIn(folder);
      const chosen = all.filter((file) => file.startsWith(`${folder}/`));
      const most = jobs ?? Math.ceil(jobsPerCore * availableParallelism());
      return chosen.length > 0 ? [{ title, files: chosen, options, jobs: most }] : [];
    });
    const ended = await Promise.all(runs.map((run, at) => runTests({ ...run, isBeside: at > 0 })));
    results.push(...ended);
    if (ended.some(({ exitCode }) => exitCode !== 0) && options.includes("--bail")) break;
  }
  const sum = sumOf(results);
  const isNone = sum.passed + sum.failed + sum.skipped === 0;
  if (isNone) progress("no test matches this name");
  return endTests(isNone ? { ...sum, exitCode: EXIT_CODES.failed } : sum);
}
