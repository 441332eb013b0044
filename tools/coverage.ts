import { runCommand } from "../cli/common/command";
import { runTool } from "./runTool";
import { testCommand } from "./testArguments";

/** All our sources, so that files that no test loads count as well. */
const SOURCES = ["index.ts", "cli/**", "components/**", "definition/**", "runtime/**"];
const ALL_TESTS = ["tests/unit", "tests/package", "tests/integration"];

/**
 * `npm run coverage`: runs the tests and reports how much of the code they run, as a table and as HTML in coverage/. It takes the
 * arguments of `npm test`.
 *
 * @returns the exit code: 1 if a test has failed, 2 for wrong arguments
 */
export function main(args: readonly string[]): Promise<number> {
  return runCommand({ command: testCommand("coverage"), runUntil: () => coverage(args) }, args);
}

async function coverage(args: readonly string[]): Promise<number> {
  const reporters = ["text-summary", "html"].flatMap((name) => ["--reporter", name]);
  const sources = ["--all", ...SOURCES.flatMap((pattern) => ["--include", pattern])];
  const node = [process.execPath, ...process.execArgv];
  const test = [...node, "tools/bootstrap.mjs", "test", ...(args.length > 0 ? args : ALL_TESTS)];
  const { exitCode } = await runTool({
    title: "tests with coverage",
    entry: "c8/bin/c8.js",
    args: [...reporters, ...sources, ...test],
  });
  return exitCode;
}
