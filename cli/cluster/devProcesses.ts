import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { isRecord, readJson } from "../../runtime/base/json";
import { CommandError, UsageError } from "../common/commandError";
import { isRunning, startOf } from "../common/isRunning";
import { cacheDirectory } from "../controlPlane/cache";

/** A running `argosy dev` of this user, as the other commands find it. */
export interface DevProcess {
  /** The address of the API server with which it works. */
  readonly server: string;
  /** Where it answers: "http://127.0.0.1:12345". */
  readonly url: string;
  /** What it must be told: it runs schedules, and its log and its runs contain what handlers wrote. */
  readonly token: string;
}

const ENDING = ".process.json";

/** The folder of the files by which commands find the processes. Only its owner can open it. */
function folderOf(cache: string): string {
  return path.join(cache, "dev");
}

/**
 * Lets other commands of this user find this process. Files of processes that were killed are removed.
 * @returns a function that ends it
 */
export function announceDevProcess(found: DevProcess, cache: string = cacheDirectory()): () => void {
  const folder = folderOf(cache);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const { file, isAlive } of announced(() => folder)) if (!isAlive) rmSync(file, { force: true });
  const file = path.join(folder, `${process.pid}${ENDING}`);
  const started = startOf(process.pid);
  writeFileSync(`${file}.draft`, JSON.stringify({ ...found, pid: process.pid, started }), { mode: 0o600 });
  renameSync(`${file}.draft`, file);
  return () => rmSync(file, { force: true });
}

/** The running processes that work with this API server. */
export function devProcesses(server: string, cache?: string): DevProcess[] {
  return announced(() => folderOf(cache ?? cacheDirectory())).flatMap(({ found, isAlive }) =>
    isAlive && found.server === server ? [found] : [],
  );
}

function announced(folder: () => string): { file: string; found: DevProcess; isAlive: boolean }[] {
  return filesIn(folder)
    .filter((file) => file.endsWith(ENDING))
    .flatMap((file) => {
      const content = contentOf(file);
      if (content === undefined) return [];
      const { pid, started, ...found } = content;
      // A later process may have got the number of one that was killed.
      const isAlive = isRunning(Number(pid)) && startOf(Number(pid)) === started;
      return [{ file, found: found as unknown as DevProcess, isAlive }];
    });
}

/** None if there is no such folder, as for a user who has no home folder. */
function filesIn(folder: () => string): string[] {
  try {
    const place = folder();
    return readdirSync(place).map((name) => path.join(place, name));
  } catch {
    return [];
  }
}

/** Undefined if the process has just ended. */
function contentOf(file: string): Record<string, unknown> | undefined {
  try {
    const content = readJson(readFileSync(file, "utf8"));
    return isRecord(content) ? content : undefined;
  } catch {
    return undefined;
  }
}

const TIMEOUT_MS = 10_000;

/**
 * Asks a process.
 * @param body what it is told, as JSON. @default it is only read
 * @returns its answer. Undefined if it has ended
 * @throws UsageError, CommandError with its words if it refuses
 */
export async function askDevProcess<T>(
  { url, token }: DevProcess,
  where: string,
  body?: object,
  timeoutMs = TIMEOUT_MS,
): Promise<T | undefined> {
  const response = await fetch(`${url}${where}`, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(timeoutMs),
    ...(body && { method: "POST", body: JSON.stringify(body) }),
  }).catch((error: Error) => {
    if (error.name === "TimeoutError")
      throw new CommandError(`argosy dev has not answered for ${timeoutMs / 1000} s.`, { cause: error });
    return undefined;
  });
  // Another process may have got its port.
  if (response === undefined || response.status === 401) return undefined;
  if (response.ok) return (await response.json()) as T;
  const words = (await response.text()).trim();
  throw response.status === 400 ? new UsageError(words) : new CommandError(words);
}
