import { access, constants, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { CommandError, complaintOfSystem, EXIT_CODES } from "../commandError";
import { type Asset, assetOf } from "./assets";
import { cacheDirectory, programPath, programPaths } from "./cache";
import { canDownload, downloadProgram, probeMilliseconds } from "./download";
import { buildProgram } from "./goBuild";
import { findGo, type GoInstallation } from "./goInstallation";
import { withLock } from "./lock";
import { type Program, type ProgramPaths, programs } from "./programs";
import { type Report, reportWhile } from "./progress";
import { minimumGoVersion } from "./versions";

/** The options of {@link providePrograms}. */
export interface ProvideOptions {
  readonly report: Report;
  readonly signal?: AbortSignal | undefined;
  /** Default: {@link cacheDirectory}. */
  readonly cache?: string;
  /** Whether programs can be downloaded; default: the first missing program is tried. */
  readonly online?: () => Promise<boolean>;
  /** Default: the installation on this machine. */
  readonly go?: () => Promise<GoInstallation>;
}

/**
 * Makes sure that every program is in the cache: downloads missing programs or, if that is not possible, builds them with Go.
 * Several processes may call it at the same time: one does the work, and the others wait.
 *
 * @throws CommandError if the cache cannot be written; Error, with the remedy, if a program can be neither downloaded nor built
 */
export async function providePrograms(options: ProvideOptions): Promise<ProgramPaths> {
  const cache = options.cache ?? cacheDirectory();
  if ((await missingPrograms(cache)).length > 0) {
    await checkWritable(cache);
    await withLock(join(cache, "lock"), options.report, () => provideMissing(cache, options), options.signal);
  }
  return programPaths(cache);
}

/** @throws CommandError if the cache cannot be written */
async function checkWritable(cache: string): Promise<void> {
  try {
    await mkdir(cache, { recursive: true });
    await access(cache, constants.W_OK);
  } catch (error) {
    throw new CommandError(
      `the cache folder ${cache} cannot be written: ${complaintOfSystem(error) ?? (error as Error).message}. ` +
        "Set ARGOSY_CACHE to a folder that can be written.",
      EXIT_CODES.failed,
      { cause: error },
    );
  }
}

async function missingPrograms(cache: string): Promise<Program[]> {
  const missing: Program[] = [];
  for (const program of programs) {
    const present = await access(programPath(cache, program), constants.X_OK).then(
      () => true,
      () => false,
    );
    if (!present) missing.push(program);
  }
  return missing;
}

async function provideMissing(cache: string, options: ProvideOptions): Promise<void> {
  const { report, signal } = options;
  const missing = await missingPrograms(cache);
  const [first] = missing;
  if (first === undefined) return;
  const workDirectory = join(cache, "work");
  await rm(workDirectory, { recursive: true, force: true });
  await mkdir(workDirectory, { recursive: true });

  const probe = options.online ?? (() => isOnline(first, signal));
  let online = await probe();
  signal?.throwIfAborted();
  if (online) report(`downloading ${missing.length} programs of the control plane, once`);
  else await prepareToBuild(missing, cache, options);

  const startedAt = Date.now();
  for (const [index, program] of missing.entries()) {
    const where: Where = { target: programPath(cache, program), workDirectory, signal };
    const title = `${program.name} ${program.release.version}`;
    const progress = (elapsed: string): string => `(${index + 1} of ${missing.length}, ${elapsed})`;
    const asset = online ? assetOf(program) : undefined;
    if (asset !== undefined) {
      const line = (elapsed: string): string => `downloading ${title} ${progress(elapsed)}`;
      const failure = await reportWhile(report, line, () => attemptDownload(asset, where), startedAt);
      if (failure === undefined) continue;
      report(`the download failed: ${failure.message}`);
      online = false;
      await prepareToBuild(missing.slice(index), cache, options);
    }
    const log = join(cache, "logs", `${program.name}-${program.release.version}.log`);
    const line = (elapsed: string): string => `building ${title} from source ${progress(elapsed)}`;
    await reportWhile(report, line, () => buildProgram(program, { ...where, log }), startedAt);
  }
  await rm(workDirectory, { recursive: true, force: true });
}

interface Where {
  readonly target: string;
  readonly workDirectory: string;
  readonly signal: AbortSignal | undefined;
}

async function isOnline(first: Program, signal: AbortSignal | undefined): Promise<boolean> {
  const asset = assetOf(first);
  return asset !== undefined && (await canDownload(asset.url, { signal }));
}

/** @returns the reason why the download failed, or undefined if it succeeded. It throws only if it was aborted */
async function attemptDownload(asset: Asset, where: Where): Promise<Error | undefined> {
  try {
    await downloadProgram(asset, where);
    return undefined;
  } catch (error) {
    where.signal?.throwIfAborted();
    return error instanceof Error ? error : new Error(String(error));
  }
}

async function prepareToBuild(
  missing: readonly Program[],
  cache: string,
  options: ProvideOptions,
): Promise<void> {
  const go = await (options.go ?? findGo)();
  const names = missing.map((program) => program.name).join(", ");
  if (!go.usable) {
    throw new Error(
      `The control plane needs programs that are missing: ${names}. They cannot be downloaded (github.com did not deliver ` +
        `them within ${probeMilliseconds / 1000} s), and cannot be built either: ${go.why}. Remedy: install Go ` +
        `${minimumGoVersion} or newer (https://go.dev/dl), or allow HTTPS to github.com and dl.k8s.io, or copy ${cache} from ` +
        `a machine of the same kind that has these programs.`,
    );
  }
  options.report(
    `releases cannot be downloaded from here: building ${names} from source with Go ${go.version}. ` +
      "This is done once; all of them take about 11 minutes on 2 cores",
  );
}
