import { availableParallelism } from "node:os";
import { runCheck } from "./runTool";
import { readTestArguments, testFilesIn } from "./testArguments";
import { endTests, runTests, sumOf, type TestResult } from "./testRun";

const TYPE_CHECK = { title: "type check", entry: "typescript/bin/tsc", args: ["--noEmit"] };
const LINT = { title: "lint", entry: "@biomejs/biome/bin/biome", args: ["check"] };

/**
 * The two kinds of tests, one after the other. More files than there are cores run at a time, since most of them wait
 * most of the time: for timers, processes and the control plane that integration tests share.
 */
const KINDS = [
  { title: "unit tests", folder: "tests/unit", jobsPerCore: 2 },
  { title: "integration tests", folder: "tests/integration", jobsPerCore: 3 },
];

/**
 * `npm test`: type check, lint, and all tests. With arguments it is tests alone: `npm test -- --grep queue`,
 * `npm test -- tests/unit/queue.test.ts`. The last line of the output is "N passed, N failed, N skipped".
 *
 * @throws CommandError where anything has failed, and with exit code 2 for wrong arguments
 */
export async function main(args: readonly string[]): Promise<void> {
  const folders = KINDS.map(({ folder }) => folder);
  const { files, options, jobs } = readTestArguments("test", folders, args);
  for (const check of args.length > 0 ? [] : [TYPE_CHECK, LINT]) {
    const exitCode = await runCheck(check);
    if (exitCode !== 0) return endTests({ passed: 0, failed: 1, skipped: 0, exitCode });
  }
  const results: TestResult[] = [];
  for (const { title, folder, jobsPerCore } of KINDS) {
    const all = files.length > 0 ? files : testFilesIn(folder);
    const chosen = all.filter((file) => file.startsWith(`${folder}/`));
    if (chosen.length === 0) continue;
    const result = await runTests({
      title,
      files: chosen,
      options,
      jobs: jobs ?? jobsPerCore * availableParallelism(),
    });
    results.push(result);
    if (result.exitCode !== 0 && options.includes("--bail")) break;
  }
  const sum = sumOf(results);
  const isNone = sum.passed + sum.failed + sum.skipped === 0;
  if (isNone) process.stderr.write("no test has such a name\n");
  endTests(isNone ? { ...sum, exitCode: 1 } : sum);
}
