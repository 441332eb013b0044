import { CommandError } from "./commandError";
import { mochaArguments } from "./mochaArguments";
import { runCheck, runTool } from "./tools";

const TYPE_CHECK = { title: "type check", entry: "typescript/bin/tsc", args: ["--noEmit"] };
const LINT = { title: "lint", entry: "@biomejs/biome/bin/biome", args: ["check"] };

/**
 * `npm test`: type check, lint, and all tests. With arguments it is mocha alone: `npm test -- --grep queue`,
 * `npm test -- tests/unit/queue.test.ts`. The last line of the output is "N passed, N failed, N skipped".
 *
 * @throws CommandError where anything has failed
 */
export async function main(args: readonly string[]): Promise<void> {
  for (const check of args.length > 0 ? [] : [TYPE_CHECK, LINT]) {
    const exitCode = await runCheck(check);
    if (exitCode !== 0) failBeforeTests(exitCode);
  }
  const { exitCode, finished } = await runTool({
    title: "tests",
    entry: "mocha/bin/mocha.js",
    args: mochaArguments(args),
  });
  // Without a result mocha has not come as far as the reporter: a test file cannot be loaded.
  if (!finished && exitCode !== 0) failBeforeTests(exitCode);
  if (exitCode !== 0) throw new CommandError("", exitCode);
}

function failBeforeTests(exitCode: number): never {
  process.stdout.write("0 passed, 1 failed, 0 skipped\n");
  throw new CommandError("", exitCode);
}
