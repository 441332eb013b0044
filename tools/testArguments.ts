import { existsSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { asCommandError, CommandError } from "../cli/commandError";
import { PROJECT_FOLDER } from "../cli/projectFolder";

const USAGE_EXIT_CODE = 2;

/** What the arguments of `npm test`, `npm run coverage` and `npm run e2e` ask for. */
export interface TestArguments {
  /** Test files by their paths from the project's folder; none where the arguments name none. */
  readonly files: readonly string[];
  /** Options for mocha. */
  readonly options: readonly string[];
  /** How many test files run at a time, where the arguments say so. */
  readonly jobs?: number;
}

interface Options {
  readonly grep?: string;
  readonly invert?: true;
  readonly bail?: true;
  readonly timeout?: string;
  readonly jobs?: number;
}

/**
 * Understands the arguments of a command that runs tests. What it does not understand is refused, so that a mistake
 * never runs the whole suite.
 *
 * @param script the npm script, for the usage: "test"
 * @param folders the folders in which the script's test files are
 * @param environment in which npm leaves the options that it took for its own, and `CI` says that this is CI: a test
 *   that `npm test` skips there is a failed one, since what is not tried there is tried nowhere. @default this process's
 * @throws CommandError for wrong arguments, with exit code 2
 */
export function readTestArguments(
  script: string,
  folders: readonly string[],
  args: readonly string[],
  environment: NodeJS.ProcessEnv = process.env,
): TestArguments {
  refuseOptionsOfNpm(script, environment);
  const command = new Command(script === "test" ? "npm test --" : `npm run ${script} --`)
    .argument("[files...]", "test files, or folders of them (default: all)")
    .option("-g, --grep <pattern>", "only tests whose names match")
    .option("--invert", "only tests whose names do not match")
    .option("--bail", "stop after the first failure")
    .option("--timeout <ms>", "time limit of a test that sets none")
    .option("--jobs <number>", "test files that run at a time", wholeNumber)
    .exitOverride();
  try {
    command.parse(args, { from: "user" });
  } catch (error) {
    throw asCommandError(error);
  }
  const { jobs, ...others } = command.opts<Options>();
  const files = command.args.flatMap((argument) => testFilesAt(argument, script, folders));
  const options = Object.entries(others).flatMap(([name, value]) =>
    value === true ? [`--${name}`] : [`--${name}=${value}`],
  );
  if (script === "test" && environment["CI"]) options.push("--forbid-pending");
  return { files: [...new Set(files)], options, ...(jobs !== undefined && { jobs }) };
}

/**
 * The test files below a folder, the largest first: when files run side by side, a long one that begins last would be
 * waited for.
 */
export function testFilesIn(folder: string): string[] {
  return readdirSync(path.join(PROJECT_FOLDER, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.ts"))
    .map((file) => path.join(folder, file))
    .sort((a, b) => sizeOf(b) - sizeOf(a));
}

function sizeOf(file: string): number {
  return statSync(path.join(PROJECT_FOLDER, file)).size;
}

function testFilesAt(argument: string, script: string, folders: readonly string[]): string[] {
  const place = path.relative(PROJECT_FOLDER, path.resolve(PROJECT_FOLDER, argument));
  const absolute = path.join(PROJECT_FOLDER, place);
  const files = !existsSync(absolute)
    ? []
    : statSync(absolute).isDirectory()
      ? testFilesIn(place)
      : [place].filter((file) => file.endsWith(".test.ts"));
  const found = files.filter((file) => folders.some((folder) => file.startsWith(folder + path.sep)));
  if (found.length === 0) {
    const remedy = `--grep ${argument} runs the tests whose names match`;
    throw usageError(`${argument} is no test file below ${folders.join(" or ")}; ${remedy}`, script);
  }
  return found;
}

/** Options that npm takes for its own, without a word to us, where the "--" before them was forgotten. */
const TAKEN_BY_NPM = {
  grep: "--grep",
  invert: "--invert",
  bail: "--bail",
  timeout: "--timeout",
  global: "-g",
};

function refuseOptionsOfNpm(script: string, environment: NodeJS.ProcessEnv): void {
  const taken = Object.entries(TAKEN_BY_NPM).find(([name]) => environment[`npm_config_${name}`]);
  if (taken) throw usageError(`npm took ${taken[1]} for an option of its own: write "--" before it`, script);
}

function usageError(complaint: string, script: string): CommandError {
  const example = `npm ${script === "test" ? "test" : `run ${script}`} -- --grep queue`;
  return new CommandError(`${complaint}. For example: ${example}`, USAGE_EXIT_CODE);
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d?$/.test(text)) throw new InvalidArgumentError("It must be a number from 1 to 99.");
  return Number(text);
}
