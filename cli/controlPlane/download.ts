import { execFile } from "node:child_process";
import { createWriteStream } from "node:fs";
import { chmod, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import type { Asset } from "./assets";

/** How long the network may take to answer, when we ask whether there is one, in milliseconds. */
export const probeMilliseconds = 5_000;

/** A download that receives nothing for this long has failed, in milliseconds. */
const stalledMilliseconds = 30_000;

/**
 * Whether a file can be downloaded from here: asked once, with a HEAD request.
 *
 * @param options.milliseconds how long to wait for an answer; default: {@link probeMilliseconds}
 */
export async function canDownload(
  url: string,
  options: { signal?: AbortSignal | undefined; milliseconds?: number } = {},
): Promise<boolean> {
  const limits = [AbortSignal.timeout(options.milliseconds ?? probeMilliseconds)];
  if (options.signal !== undefined) limits.push(options.signal);
  try {
    return (await fetch(url, { method: "HEAD", signal: AbortSignal.any(limits) })).ok;
  } catch {
    return false;
  }
}

/** Where {@link downloadProgram} puts things. */
export interface DownloadOptions {
  /** Where the program goes; nothing is there unless the download succeeds and the program runs. */
  readonly target: string;
  /** Existing folder for temporary files, on the target's file system. */
  readonly workDirectory: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Downloads a program, unpacks it where it comes in an archive, and tries that it runs here.
 *
 * @throws if the server refuses, the connection stalls or breaks off, or what came is not that program
 */
export async function downloadProgram(asset: Asset, options: DownloadOptions): Promise<void> {
  const directory = await mkdtemp(join(options.workDirectory, "download-"));
  try {
    const file = join(directory, basename(asset.url));
    await downloadFile(asset.url, file, options.signal);
    if (asset.member !== undefined) await promisify(execFile)("tar", ["-xf", file, "-C", directory]);
    const program = asset.member === undefined ? file : join(directory, asset.member);
    await chmod(program, 0o755);
    await promisify(execFile)(program, ["--version"], { timeout: 30_000, signal: options.signal });
    await mkdir(dirname(options.target), { recursive: true });
    await rename(program, options.target);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function downloadFile(url: string, path: string, signal?: AbortSignal): Promise<void> {
  const stalled = new AbortController();
  const stall = (): void =>
    stalled.abort(new Error(`${url}: nothing received for ${stalledMilliseconds / 1000} s`));
  const timer = setTimeout(stall, stalledMilliseconds);
  const watched = new Transform({
    transform(chunk, _encoding, done) {
      timer.refresh();
      done(null, chunk);
    },
  });
  try {
    const either = AbortSignal.any([stalled.signal, ...(signal ? [signal] : [])]);
    const response = await fetch(url, { signal: either });
    if (!response.ok || response.body === null) throw new Error(`${url}: HTTP status ${response.status}`);
    await pipeline(Readable.fromWeb(response.body), watched, createWriteStream(path), { signal: either });
  } finally {
    clearTimeout(timer);
  }
}
