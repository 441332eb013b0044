import { existsSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { Command } from "commander";
import { UsageError } from "../cli/common/commandError";
import { positiveInteger } from "../cli/common/options";
import { PACKAGE_FOLDER } from "./packageFolder";

/** The arguments of `npm test`, `npm run coverage` and `npm run e2e`. */
export interface TestArguments {
  /** Test files, by their paths from the project's folder. Empty if the arguments name none. */
  readonly files: readonly string[];
  /** Options for mocha. */
  readonly options: readonly string[];
  /** Whether the arguments choose tests, by file or by name. */
  readonly isChoice: boolean;
  /** Whether they ask for all tests, and not only for those that the changed files can reach. */
  readonly isAll: boolean;
  /** How many test files run at the same time, if the arguments say so. */
  readonly jobs?: number;
}

interface Options {
  readonly all?: true;
  readonly grep?: string;
  readonly invert?: true;
  readonly bail?: true;
  readonly timeout?: number;
  readonly jobs?: number;
}

const TEST = "npm test --";

/** The parser for a command that runs tests. @param script the npm script: "test" */
export function testCommand(script: string): Command {
  const command = new Command(script === "test" ? TEST : `npm run ${script} --`);
  if (script === "test")
    command
      .description(
        "Runs the tests, among them the type check and the linter. If files differ from the last commit, it runs only the tests " +
          "that these can reach. With files or --grep, it runs only those.",
      )
      .option("--all", "all tests, also those that the changed files cannot reach");
  return command
    .argument("[files...]", "test files, or folders of them")
    .option("-g, --grep <pattern>", "only tests whose names match")
    .option("--invert", "only tests whose names do not match")
    .option("--bail", "stop after the first test that fails")
    .option("--timeout <ms>", "time limit of a test that sets none", positiveInteger)
    .option("--jobs <number>", "test files that run at the same time", positiveInteger);
}

/**
 * The arguments that a {@link testCommand} has parsed.
 *
 * @param folders the folders in which the command's test files are
 * @param environment its variable `CI` says that this is CI. There, a test that `npm test` skips fails, because otherwise it
 * would never run.
 * @default that of this process
 * @throws UsageError if a file is not a test file, so that a typing mistake never runs the whole suite
 */
export function readTestArguments(
  command: Command,
  folders: readonly string[],
  environment: NodeJS.ProcessEnv = process.env,
): TestArguments {
  const { jobs, all: isAll = false, ...others } = command.opts<Options>();
  const files = command.args.flatMap((argument) => testFilesAt(argument, command.name(), folders));
  const options = Object.entries(others).flatMap(([name, value]) =>
    value === true ? [`--${name}`] : [`--${name}=${value}`],
  );
  if (command.name() === TEST && environment["CI"]) options.push("--forbid-pending");
  const isChoice = files.length > 0 || others.grep !== undefined;
  return { files: [...new Set(files)], options, isChoice, isAll, ...(jobs !== undefined && { jobs }) };
}

/** The files that take minutes on a busy machine. They start first, because one that starts last would hold up the end. */
export const LONG_FILES: readonly string[] = [
  "integration/engineProperties",
  "integration/netKills",
  "integration/cliStart",
  "package/library",
  "unit/fuzz",
  "unit/types",
  "unit/netKills",
  "unit/netTexts",
].map((name) => `tests/${name}.test.ts`);

/**
 * The test files below folders: first {@link LONG_FILES}, then the integration tests, because fewer of them run at the same time,
 * then the others. Of each the largest first.
 */
export function testFilesIn(...folders: readonly string[]): string[] {
  return folders
    .flatMap((folder) =>
      readdirSync(path.join(PACKAGE_FOLDER, folder), { recursive: true, encoding: "utf8" })
        .filter((file) => file.endsWith(".test.ts"))
        .map((file) => path.join(folder, file)),
    )
    .sort((a, b) => placeOf(a) - placeOf(b) || sizeOf(b) - sizeOf(a));
}

function placeOf(file: string): number {
  if (LONG_FILES.includes(file)) return 0;
  return isIntegration(file) ? 1 : 2;
}

/** Whether a test file needs the shared control plane. */
export function isIntegration(file: string): boolean {
  return file.startsWith(`tests${path.sep}integration${path.sep}`);
}

function sizeOf(file: string): number {
  return statSync(path.join(PACKAGE_FOLDER, file)).size;
}

function testFilesAt(argument: string, command: string, folders: readonly string[]): string[] {
  const place = path.relative(PACKAGE_FOLDER, path.resolve(PACKAGE_FOLDER, argument));
  const absolute = path.join(PACKAGE_FOLDER, place);
  const files = !existsSync(absolute)
    ? []
    : statSync(absolute).isDirectory()
      ? testFilesIn(place)
      : [place].filter((file) => file.endsWith(".test.ts"));
  const found = files.filter((file) => folders.some((folder) => file.startsWith(folder + path.sep)));
  if (found.length === 0) {
    throw new UsageError(
      `${argument} is not a test file below ${folders.join(" or ")}. To run the tests whose names match: ${command} --grep ` +
        `${argument}`,
    );
  }
  return found;
}
