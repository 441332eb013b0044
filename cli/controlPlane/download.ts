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
const probeMilliseconds = 5_000;

/** A download that receives nothing for this long has failed, in milliseconds. */
const stalledMilliseconds = 30_000;

/** A file that cannot be had from its publisher at present. The program can be built instead. Its message says why. */
export class UnavailableError extends Error {
  override readonly name = "UnavailableError";

  constructor(
    message: string,
    /** Whether the publisher was not reached, so that other files cannot be had either. */
    readonly isOffline: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * Why a file cannot be downloaded from here. This makes one HEAD request.
 *
 * @param options.milliseconds how long to wait for an answer; default: 5 s
 * @returns undefined if it can be downloaded
 */
export async function whyNoDownload(
  url: string,
  options: { signal?: AbortSignal | undefined; milliseconds?: number } = {},
): Promise<string | undefined> {
  const { milliseconds = probeMilliseconds, signal } = options;
  try {
    await request(url, { method: "HEAD", milliseconds, signal });
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/**
 * Sends a request to a publisher.
 *
 * @param options.milliseconds how long to wait for the answer
 * @throws UnavailableError if the publisher cannot be reached, or refuses
 */
async function request(
  url: string,
  options: { method?: string; milliseconds?: number; signal?: AbortSignal | undefined },
): Promise<Response> {
  const { method = "GET", milliseconds, signal } = options;
  const limits = milliseconds === undefined ? [] : [AbortSignal.timeout(milliseconds)];
  let response: Response;
  try {
    response = await fetch(url, {
      method,
      signal: AbortSignal.any([...limits, ...(signal ? [signal] : [])]),
    });
  } catch (error) {
    throw brokenOff(url, error, milliseconds);
  }
  if (response.ok) return response;
  const { status, headers } = response;
  const isLimited = [403, 429].includes(status) && headers.get("x-ratelimit-remaining") === "0";
  const until = new Date(Number(headers.get("x-ratelimit-reset")) * 1_000);
  const limit = `, because GitHub allows no more requests from this address until ${until.toLocaleTimeString()}`;
  throw new UnavailableError(`${url}: HTTP status ${status}${isLimited ? limit : ""}`, false);
}

/** The error of a connection that could not be made, or that broke off. `fetch` says why only in the cause of its error. */
function brokenOff(url: string, error: unknown, milliseconds = stalledMilliseconds): UnavailableError {
  const { name, message, cause } = error as Error;
  const why =
    name === "TimeoutError"
      ? `no answer within ${milliseconds / 1_000} s`
      : cause instanceof Error
        ? cause.message || (cause as NodeJS.ErrnoException).code
        : message;
  return new UnavailableError(`${url}: ${why}`, true, { cause: error });
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
 * @throws UnavailableError if the server refuses, if the connection stalls or breaks off, or if there is no checksum. Another error
 * if the file is not that program, or if it cannot be written
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
          "Something between this machine and the publisher has changed the file. Try again, or in another network.",
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
  const response = await request(url, { milliseconds: stalledMilliseconds, signal });
  const text = await response.text().catch((error: unknown) => Promise.reject(brokenOff(url, error)));
  const checksum = checksumIn(text, file);
  if (checksum === undefined) throw new UnavailableError(`${url} has no SHA-256 of ${file}`, false);
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
  const stall = (): void => stalled.abort(new Error(`nothing received for ${stalledMilliseconds / 1000} s`));
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
    const { body } = await request(url, { signal: either });
    if (body === null) throw new UnavailableError(`${url}: the answer is empty`, false);
    await pipeline(Readable.fromWeb(body), watched, createWriteStream(path), { signal: either });
    return hash.digest("hex");
  } catch (error) {
    // A file that cannot be written is no matter of the network.
    if (error instanceof UnavailableError || "syscall" in (error as Error)) throw error;
    throw brokenOff(url, stalled.signal.aborted ? stalled.signal.reason : error);
  } finally {
    clearTimeout(timer);
  }
}
