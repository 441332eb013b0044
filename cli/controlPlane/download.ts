import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { chmod, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import type { Asset } from "./assets";

/** How long to wait for an answer when we check whether there is a network, in milliseconds. */
export const probeMilliseconds = 5_000;

/** A download that receives nothing for this long has failed, in milliseconds. */
const stalledMilliseconds = 30_000;

/**
 * Whether a file can be downloaded from here. This makes one HEAD request.
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

/** The paths of {@link downloadProgram}. */
export interface DownloadOptions {
  /** The path of the program. The file is created only if the download succeeds and the program runs. */
  readonly target: string;
  /** Existing folder for temporary files, on the target's file system. */
  readonly workDirectory: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Downloads a program, checks it against its publisher's SHA-256, unpacks it if it comes in an archive, and checks that it runs
 * here. Nothing of a file with another checksum is unpacked or run.
 *
 * The checksum comes over https from the publisher too. It protects against a file that is damaged, or that was replaced on its
 * way or in its store. It does not protect against a compromised publisher. The user chooses the versions of Kubernetes, so their
 * checksums cannot be part of this code.
 *
 * @throws if the server refuses, the connection stalls or breaks off, there is no checksum, or the file is not that program
 */
export async function downloadProgram(asset: Asset, options: DownloadOptions): Promise<void> {
  const directory = await mkdtemp(join(options.workDirectory, "download-"));
  try {
    const name = basename(asset.url);
    const file = join(directory, name);
    const expected = await publishedChecksum(asset.checksum, name, options.signal);
    const actual = await downloadFile(asset.url, file, options.signal);
    if (actual !== expected) {
      throw new Error(
        `${asset.url}: its SHA-256 is ${actual}, not ${expected} as ${asset.checksum} says. It was not run. ` +
          "Something between this machine and the publisher has changed the file.",
      );
    }
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

/** The SHA-256 of a file, in hexadecimal digits, from its publisher. */
async function publishedChecksum(url: string, file: string, signal?: AbortSignal): Promise<string> {
  const limits = [AbortSignal.timeout(stalledMilliseconds), ...(signal ? [signal] : [])];
  const response = await fetch(url, { signal: AbortSignal.any(limits) });
  if (!response.ok) throw new Error(`${url}: HTTP status ${response.status}`);
  const checksum = checksumIn(await response.text(), file);
  if (checksum === undefined) throw new Error(`${url} has no SHA-256 of ${file}`);
  return checksum;
}

/** A text that is the checksum, or a list of lines "CHECKSUM  FILE", or the JSON of a release on GitHub. */
function checksumIn(text: string, file: string): string | undefined {
  if (text.startsWith("{")) {
    const { assets = [] } = JSON.parse(text) as { assets?: { name: string; digest?: string | null }[] };
    const digest = assets.find(({ name }) => name === file)?.digest;
    return /^sha256:([0-9a-f]{64})$/.exec(digest ?? "")?.[1];
  }
  const lines = text.split("\n").map((line) => line.trim().split(/\s+\*?/));
  const [checksum = ""] = lines.find(([, name]) => name === file) ?? (lines[0]?.length === 1 ? lines[0] : []);
  return /^[0-9a-f]{64}$/.test(checksum) ? checksum : undefined;
}

/** The SHA-256 of the downloaded file, in hexadecimal digits. */
async function downloadFile(url: string, path: string, signal?: AbortSignal): Promise<string> {
  const stalled = new AbortController();
  const stall = (): void =>
    stalled.abort(new Error(`${url}: nothing received for ${stalledMilliseconds / 1000} s`));
  const timer = setTimeout(stall, stalledMilliseconds);
  const hash = createHash("sha256");
  const watched = new Transform({
    transform(chunk, _encoding, done) {
      timer.refresh();
      hash.update(chunk);
      done(null, chunk);
    },
  });
  try {
    const either = AbortSignal.any([stalled.signal, ...(signal ? [signal] : [])]);
    const response = await fetch(url, { signal: either });
    if (!response.ok || response.body === null) throw new Error(`${url}: HTTP status ${response.status}`);
    await pipeline(Readable.fromWeb(response.body), watched, createWriteStream(path), { signal: either });
    return hash.digest("hex");
  } finally {
    clearTimeout(timer);
  }
}
