import { accessSync, constants, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { complaintOfSystem } from "../common/commandError";
import { type Program, type ProgramPaths, programs } from "./programs";

/**
 * The folder for files that are costly to get, across runs and projects: `$ARGOSY_CACHE`, else `$XDG_CACHE_HOME/argosy`, else the
 * platform's usual folder below the home folder. An absolute path, because processes in other folders use it. A relative
 * `XDG_CACHE_HOME` does not count (https://specifications.freedesktop.org/basedir/latest/#basics).
 * @throws the system's error if it needs the home folder of a user who has none
 */
export function cacheDirectory(
  environment: NodeJS.ProcessEnv = process.env,
  platform: NodeJS.Platform = process.platform,
  homeOf: () => string = homedir,
): string {
  const { ARGOSY_CACHE: own, XDG_CACHE_HOME: caches } = environment;
  if (own) return resolve(own);
  if (caches && isAbsolute(caches)) return join(caches, "argosy");
  const usual = platform === "darwin" ? ["Library", "Caches"] : [".cache"];
  return resolve(homeOf(), ...usual, "argosy");
}

/** Why the cache cannot be written. Undefined if it can. If the folder is missing, it is made. */
export function whyNotWritable(cache: string): string | undefined {
  try {
    mkdirSync(cache, { recursive: true });
    accessSync(cache, constants.W_OK);
    return undefined;
  } catch (error) {
    return complaintOfSystem(error) ?? (error as Error).message;
  }
}

/** The path of a program in the cache, whether it exists or not. Each version has its own folder. */
export function programPath(cache: string, program: Program): string {
  const { name, version } = program.release;
  return join(cache, `${name}-${version}-${process.platform}-${process.arch}`, program.name);
}

/** The paths of all programs in the cache. */
export function programPaths(cache: string): ProgramPaths {
  const entries = programs.map((program) => [program.name, programPath(cache, program)]);
  return Object.fromEntries(entries) as ProgramPaths;
}
