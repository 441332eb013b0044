import { CommandError } from "../cli/commandError";
import { runTool } from "./runTool";

/** Every source of ours, so that a file that no test loads counts as well. */
const SOURCES = ["index.ts", "cli/**", "components/**", "handlers/**", "runtime/**"];
const ALL_TESTS = ["tests/unit", "tests/integration"];

/**
 * `npm run coverage`: the tests, and how much of the code they run, as a table and as HTML in coverage/.
 * It takes the arguments of `npm test`.
 *
 * @throws CommandError where a test has failed
 */
export async function main(args: readonly string[]): Promise<void> {
  const reporters = ["text-summary", "html"].flatMap((name) => ["--reporter", name]);
  const sources = ["--all", ...SOURCES.flatMap((pattern) => ["--include", pattern])];
  const test = [process.execPath, "tools/bootstrap.mjs", "test", ...(args.length > 0 ? args : ALL_TESTS)];
  const { exitCode } = await runTool({
    title: "tests with coverage",
    entry: "c8/bin/c8.js",
    args: [...reporters, ...sources, ...test],
  });
  if (exitCode !== 0) throw new CommandError("", exitCode);
}
