import { existsSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { Command } from "commander";
import { UsageError } from "../cli/commandError";
import { positiveInteger } from "../cli/options";
import { PACKAGE_FOLDER } from "./packageFolder";

/** The arguments of `npm test`, `npm run coverage` and `npm run e2e`. */
export interface TestArguments {
  /** Test files, by their paths from the project's folder. Empty if the arguments name none. */
  readonly files: readonly string[];
  /** Options for mocha. */
  readonly options: readonly string[];
  /** How many test files run at the same time, if the arguments say so. */
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

/** The parser for a command that runs tests. @param script the npm script: "test" */
export function testCommand(script: string): Command {
  return new Command(script === "test" ? TEST : `npm run ${script} --`)
    .argument("[files...]", "test files, or folders of them (default: all)")
    .option("-g, --grep <pattern>", "only tests whose names match")
    .option("--invert", "only tests whose names do not match")
    .option("--bail", "stop after the first failure")
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
  const { jobs, ...others } = command.opts<Options>();
  const files = command.args.flatMap((argument) => testFilesAt(argument, command.name(), folders));
  const options = Object.entries(others).flatMap(([name, value]) =>
    value === true ? [`--${name}`] : [`--${name}=${value}`],
  );
  if (command.name() === TEST && environment["CI"]) options.push("--forbid-pending");
  return { files: [...new Set(files)], options, ...(jobs !== undefined && { jobs }) };
}

/**
 * Files that take far longer than their size suggests, longest first: they pack, copy or run the whole project, have their own
 * control plane, or wait for leases and handlers. Files that wait and files that need a core alternate. Among the integration
 * tests, those with their own control plane come first, because the shared control plane starts meanwhile and all others wait for
 * it.
 */
export const LONG_FILES: readonly string[] = [
  "unit/pipeTransportLife",
  "unit/renderCommand",
  "unit/security/endpoints",
  "unit/plugin",
  "unit/followedKind",
  "unit/docsTypes",
  "unit/usedObjects",
  "unit/pipeTransportHostile",
  "unit/testReporter",
  "unit/handlerPool",
  "unit/components",
  "unit/cliDevWorkshop",
  "unit/renderProgram",
  "unit/reflectorRefusals",
  "unit/workloads",
  "unit/watches",
  "unit/replay",
  "unit/leading",
  "unit/manifestsAt",
  "unit/debugHandler",
  "unit/programChanges",
  "unit/transform",
  "unit/pipeTransport",
  "unit/leadership",
  "unit/servedKinds",
  "unit/awaitKind",
  "unit/controllerHints",
  "unit/leadershipConnection",
  "unit/checkInCluster",
  "unit/runOnce",
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
  "package/library",
  "package/handlersFolder",
  "integration/crdVerdict",
  "integration/intake",
  "integration/hostile/orphanDeletion",
  "integration/hostile/watching",
  "integration/hostile/slowLists",
  "integration/controlPlane",
  "integration/hostile/restoredEtcd",
  "package/command",
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
 * The test files below folders: first those of {@link LONG_FILES}, then the others, the largest first. Otherwise a long file that
 * starts last would hold up the end.
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
      `${argument} is not a test file below ${folders.join(" or ")}. To run the tests whose names match: ${command} --grep ` +
        `${argument}`,
    );
  }
  return found;
}
