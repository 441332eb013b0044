import { existsSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { Command } from "commander";
import { UsageError } from "../cli/commandError";
import { positiveInteger } from "../cli/options";
import { PACKAGE_FOLDER } from "../cli/project";

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
  readonly timeout?: number;
  readonly jobs?: number;
}

const TEST = "npm test --";

/** What a command that runs tests understands. @param script the npm script: "test" */
export function testCommand(script: string): Command {
  return new Command(script === "test" ? TEST : `npm run ${script} --`)
    .argument("[files...]", "test files, or folders of them (default: all)")
    .option("-g, --grep <pattern>", "only tests whose names match")
    .option("--invert", "only tests whose names do not match")
    .option("--bail", "stop after the first failure")
    .option("--timeout <ms>", "time limit of a test that sets none", positiveInteger)
    .option("--jobs <number>", "test files that run at a time", positiveInteger);
}

/**
 * What the arguments that a {@link testCommand} has parsed ask for.
 *
 * @param folders the folders in which the command's test files are
 * @param environment says by `CI` that this is CI. A test that `npm test` skips there fails: what is not tried there is
 *   tried nowhere. @default this process's
 * @throws UsageError where a file is none of these, so that a mistake never runs the whole suite
 */
export function readTestArguments(
  command: Command,
  folders: readonly string[],
  environment: NodeJS.ProcessEnv = process.env,
): TestArguments {
  const { jobs, ...others } = command.opts<Options>();
  const files = command.args.flatMap((argument) => testFilesAt(argument, command.name(), folders));
  const options = Object.entries(others).flatMap(([name, value]) =>
    value === true ? [`--${name}`] : [`--${name}=${value}`],
  );
  if (command.name() === TEST && environment["CI"]) options.push("--forbid-pending");
  return { files: [...new Set(files)], options, ...(jobs !== undefined && { jobs }) };
}

/**
 * Files that take far longer than their size tells, longest first: they pack, copy or run the whole project, have a control plane
 * of their own, or wait for leases and handlers. Those that wait and those that need a core take turns. Of the integration tests
 * those with a control plane of their own come first: meanwhile the shared one starts, for which all others wait.
 */
export const LONG_FILES: readonly string[] = [
  "unit/pipeTransport",
  "unit/pipeTransportLife",
  "unit/pipeTransportHostile",
  "unit/renderCommand",
  "unit/docsTypes",
  "unit/plugin",
  "unit/components",
  "unit/security/endpoints",
  "unit/handlerPool",
  "package/library",
  "package/handlersFolder",
  "package/command",
  "integration/chaos",
  "integration/cliStart",
  "integration/hostile/unlistedKinds",
  "integration/engineOutage",
  "integration/engineSchedules",
  "integration/engineProperties",
  "integration/hostile/outages",
  "integration/cliDevKeep",
  "integration/resident",
  "integration/cliDev",
  "integration/crdVerdict",
  "integration/intake",
  "integration/hostile/orphanDeletion",
  "integration/hostile/watching",
  "integration/hostile/slowLists",
  "integration/controlPlane",
  "integration/hostile/restoredEtcd",
  "integration/hostile/unseenNamespaces",
  "integration/engineLeadership",
  "integration/apiCalls",
  "integration/cliDevInImage",
  "integration/engineTriggers",
  "integration/cliDebug",
  "integration/hostile/namespaces",
  "integration/guards",
  "integration/podRun",
  "integration/podRunChanges",
  "integration/hostile/usesOfOthers",
  "integration/engineFinalize",
  "integration/leadership",
  "integration/engineFailures",
  "integration/hostile/rollout",
  "integration/hostile/autoscaler",
  "integration/hostile/constantTouching",
  "integration/podWatch",
  "integration/programCluster",
  "integration/hostile/busyServer",
].map((name) => `tests/${name}.test.ts`);

/**
 * The test files below a folder, first those of {@link LONG_FILES}, then the largest: when files run side by side, a long one that
 * begins last would be waited for.
 */
export function testFilesIn(folder: string): string[] {
  return readdirSync(path.join(PACKAGE_FOLDER, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.ts"))
    .map((file) => path.join(folder, file))
    .sort((a, b) => placeOf(a) - placeOf(b) || sizeOf(b) - sizeOf(a));
}

function placeOf(file: string): number {
  const index = LONG_FILES.indexOf(file);
  return index < 0 ? LONG_FILES.length : index;
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
      `${argument} is no test file below ${folders.join(" or ")}. ` +
        `To run the tests whose names match: ${command} --grep ${argument}`,
    );
  }
  return found;
}
