import { access, constants, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { CommandError, complaintOfSystem } from "../common/commandError";
import { type Asset, assetOf } from "./assets";
import { cacheDirectory, programPath, programPaths, whyNotWritable } from "./cache";
import { downloadProgram, UnavailableError, whyNoDownload } from "./download";
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
  /** Why programs cannot be downloaded, or undefined if they can; default: the first missing program is tried. */
  readonly offline?: () => Promise<string | undefined>;
  /** Default: the installation on this machine. */
  readonly go?: () => Promise<GoInstallation>;
}

/**
 * Makes sure that every program is in the cache: downloads missing programs, or builds with Go those that their publisher does not
 * deliver. Several processes may call it at the same time: one does the work, and the others wait.
 *
 * @throws CommandError if the cache cannot be written, or if a downloaded file is not the program; Error, with the remedy, if a
 * program can be neither downloaded nor built
 */
export async function providePrograms(options: ProvideOptions): Promise<ProgramPaths> {
  const cache = options.cache ?? cacheDirectory();
  if ((await missingPrograms(cache)).length > 0) {
    const why = whyNotWritable(cache);
    if (why !== undefined)
      throw new CommandError(
        `the cache folder ${cache} cannot be written: ${why}. Set ARGOSY_CACHE to a folder that can be written.`,
      );
    await withLock(join(cache, "lock"), options.report, () => provideMissing(cache, options), options.signal);
  }
  return programPaths(cache);
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

  const probe = options.offline ?? (() => whyOffline(first, signal));
  let offline = await probe();
  signal?.throwIfAborted();
  if (offline === undefined) report(`downloading ${missing.length} programs of the control plane, once`);
  else await prepareToBuild(missing, offline, cache, options);

  const startedAt = Date.now();
  for (const [index, program] of missing.entries()) {
    const where: Where = { target: programPath(cache, program), workDirectory, signal };
    const title = `${program.name} ${program.release.version}`;
    const progress = (elapsed: string): string => `(${index + 1} of ${missing.length}, ${elapsed})`;
    const asset = offline === undefined ? assetOf(program) : undefined;
    if (asset !== undefined) {
      const line = (elapsed: string): string => `downloading ${title} ${progress(elapsed)}`;
      const failure = await reportWhile(report, line, () => attemptDownload(asset, where), startedAt);
      if (failure === undefined) continue;
      if (failure.isOffline) offline = failure.message;
      const toBuild = failure.isOffline ? missing.slice(index) : [program];
      await prepareToBuild(toBuild, failure.message, cache, options);
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

async function whyOffline(first: Program, signal: AbortSignal | undefined): Promise<string | undefined> {
  const asset = assetOf(first);
  if (asset === undefined) return `they are not published for ${process.platform} on ${process.arch}`;
  return whyNoDownload(asset.url, { signal });
}

/**
 * @returns why the publisher did not deliver the program, or undefined if it did
 * @throws CommandError for a failure that a build would not mend: a full disk, or a file with another checksum
 */
async function attemptDownload(asset: Asset, where: Where): Promise<UnavailableError | undefined> {
  try {
    await downloadProgram(asset, where);
    return undefined;
  } catch (error) {
    where.signal?.throwIfAborted();
    if (error instanceof UnavailableError) return error;
    const complaint = complaintOfSystem(error);
    const text =
      complaint === undefined
        ? (error as Error).message
        : `${where.target} cannot be provided: ${complaint}.`;
    throw new CommandError(text, { cause: error });
  }
}

async function prepareToBuild(
  missing: readonly Program[],
  why: string,
  cache: string,
  options: ProvideOptions,
): Promise<void> {
  const go = await (options.go ?? findGo)();
  const names = missing.map((program) => program.name).join(", ");
  if (!go.usable) {
    throw new Error(
      `The control plane needs programs that are missing: ${names}. They cannot be downloaded (${why}), and cannot be built ` +
        `either: ${go.why}. Remedy: allow HTTPS to github.com, api.github.com, *.githubusercontent.com and *.k8s.io${PROXY_HINT}, ` +
        `or install Go ${minimumGoVersion} or newer (https://go.dev/dl), or copy ${cache} from a machine of the same kind that ` +
        "has these programs.",
    );
  }
  options.report(
    `${names} cannot be downloaded (${why}): building from source with Go ${go.version}. ` +
      "This is done once; all programs take about 12 minutes on 2 cores",
  );
}

/** Node's `fetch` does not use a proxy unless it is told to. Then this process's other requests would use it too. */
const PROXY_HINT =
  " (through a proxy: Node 22.21 or newer uses HTTPS_PROXY if you also set NODE_USE_ENV_PROXY=1 and NO_PROXY=localhost,127.0.0.1)";
