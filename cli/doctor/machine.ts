import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { checkCommand, commandOnPath } from "../../definition/commandOnPath";
import { loadOperators } from "../../definition/loadOperators";
import { OperatorError } from "../../definition/problems";
import { engines } from "../../package.json";
import { isAtLeast } from "../../preflight/isAtLeast";
import { UsageError } from "../common/commandError";
import type { HandlersOptions } from "../common/options";
import { findHandlers } from "../common/project";
import { cacheDirectory, programPaths, whyNotWritable } from "../controlPlane/cache";
import { type Finding, fine, missing, warning } from "./checkup";

/** Programs that some commands use, each with its purpose and where to get it. */
const PROGRAMS: readonly (readonly [
  name: string,
  args: readonly string[],
  purpose: string,
  remedy: string,
  oldest?: string,
])[] = [
  ["python3", ["--version"], "handlers in Python, and npm start", "Install Python 3.10 or newer.", "3.10"],
  ["git", ["--version"], "argosy verdict and argosy rights --against", "Install git."],
  ["pulumi", ["version"], "deploying", "Install it: https://www.pulumi.com/docs/install/"],
  [
    "kubectl",
    ["version", "--client"],
    "deploying, and clusters in the cloud",
    "Install it: https://kubernetes.io/docs/tasks/tools/",
  ],
  [
    "docker",
    ["--version"],
    "argosy dev --in-image, and building images of your own",
    "Install Docker or Podman.",
  ],
];
const ANSWER_MS = 10_000;

/** The parts that this machine has, and those that are missing. Nothing is changed, except that an empty cache folder is made. */
export async function examineMachine(): Promise<Finding[]> {
  return [checkNode(), ...(await Promise.all(PROGRAMS.map(checkProgram))), checkCache(), checkControlPlane()];
}

/** @param version @default that of this process */
export function checkNode(version = process.versions.node): Finding {
  const oldest = engines.node.replace(/^>=/, "");
  return isAtLeast(version, oldest)
    ? fine("node", version)
    : missing("node", `${version}, and ${oldest} is needed`, "Install Node 22 or 24: https://nodejs.org");
}

async function checkProgram([
  name,
  args,
  purpose,
  remedy,
  oldest,
]: (typeof PROGRAMS)[number]): Promise<Finding> {
  // Podman can replace Docker.
  const names = name === "docker" ? ["docker", "podman"] : [name];
  const found = names.find((each) => commandOnPath(each) !== undefined);
  if (found === undefined) return warning(name, `not on the PATH; it is needed for ${purpose}`, remedy);
  try {
    const { stdout, stderr } = await promisify(execFile)(found, [...args], { timeout: ANSWER_MS });
    const [line = ""] = `${stdout}${stderr}`.trim().split("\n");
    const version = /\d+(\.\d+)+/.exec(line)?.[0] ?? "";
    return oldest === undefined || isAtLeast(version, oldest)
      ? fine(found, line.trim())
      : warning(found, `${line.trim()} is too old for ${purpose}`, remedy);
  } catch (error) {
    return warning(found, `does not run: ${(error as Error).message.split("\n")[0]}`, remedy);
  }
}

function checkCache(): Finding {
  const cache = cacheDirectory();
  const why = whyNotWritable(cache);
  if (why === undefined) return fine("cache", cache);
  return missing(
    "cache",
    `${cache} cannot be written: ${why}`,
    "Name another folder with the variable ARGOSY_CACHE.",
  );
}

function checkControlPlane(): Finding {
  const programs = Object.entries(programPaths(cacheDirectory()));
  const absent = programs.filter(([, file]) => !existsSync(file)).map(([name]) => name);
  if (absent.length === 0) return fine("control plane", "its programs are in the cache");
  return warning(
    "control plane",
    `${absent.join(", ")} not in the cache yet`,
    "argosy start and argosy dev download the programs once, or build them with Go 1.26 or newer.",
  );
}

/**
 * Checks whether the operators of a program are valid, and whether their handlers can run here.
 * @returns the findings, and the names of the operators if all of them are valid
 */
export function examineHandlers(options: HandlersOptions): { findings: Finding[]; names: string[] } {
  let folder: string;
  try {
    folder = findHandlers(options);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const [seen = ""] = error.message.split(". ");
    const remedy = "Create a program with argosy init, or name its folder with --project.";
    return { findings: [warning("operators", seen, remedy)], names: [] };
  }
  try {
    const operators = loadOperators(folder);
    const names = operators.map(({ name }) => name);
    const broken = operators.flatMap((operator) => {
      try {
        checkCommand(operator);
        return [];
      } catch (error) {
        return problemsIn(error).map((seen) =>
          warning("operators", seen, "argosy dev and argosy test need it to run this handler here."),
        );
      }
    });
    return { findings: [fine("operators", names.join(", ")), ...broken], names };
  } catch (error) {
    const findings = problemsIn(error).map((seen) =>
      missing("operators", seen, "Correct the file. argosy test reports the same problem."),
    );
    return { findings, names: [] };
  }
}

function problemsIn(error: unknown): readonly string[] {
  if (error instanceof OperatorError) return error.problems;
  throw error;
}
