import { homedir } from "node:os";
import { join } from "node:path";
import { type Program, type ProgramPaths, programs } from "./programs";

/**
 * The folder for files that are costly to get, across runs and projects: `$ARGOSY_CACHE`, else `$XDG_CACHE_HOME/argosy`, else the
 * platform's usual folder below the home folder.
 */
export function cacheDirectory(
  environment: NodeJS.ProcessEnv = process.env,
  platform: NodeJS.Platform = process.platform,
  home: string = homedir(),
): string {
  if (environment.ARGOSY_CACHE) return environment.ARGOSY_CACHE;
  if (environment.XDG_CACHE_HOME) return join(environment.XDG_CACHE_HOME, "argosy");
  return platform === "darwin" ? join(home, "Library", "Caches", "argosy") : join(home, ".cache", "argosy");
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
