import { randomUUID } from "node:crypto";
import { link, mkdir, open, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { isRunning, startOf } from "../common/isRunning";
import { until } from "../common/until";
import { type Report, reportWhile } from "./progress";

const heartbeatMilliseconds = 2_000;
const pollMilliseconds = 250;

/**
 * If the owner of a lock has not touched it for this long, its process id says nothing: another process may have it. On this host,
 * the start of the process shows whether the owner still exists. It may be suspended, by Ctrl-Z for example.
 */
const staleMilliseconds = 30_000;

interface Owner {
  readonly processId: number;
  /** @see startOf */
  readonly start?: string | undefined;
  readonly host: string;
  readonly token: string;
}

/**
 * Runs a step while holding a lock file, so that only one of several processes runs it at a time. The others wait. The lock of a
 * process that no longer exists is taken over. A process on another host counts as ended when its heartbeat has stopped.
 *
 * @param report called every 15 s with the process that holds the lock
 * @throws the signal's reason, if it aborts while waiting; the error of the step
 */
export async function withLock<T>(
  path: string,
  report: Report,
  step: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const owner = thisProcess();
  await mkdir(dirname(path), { recursive: true });
  if (!(await tryLock(path, owner))) {
    const line = await waitingLine(path);
    const waiting = { what: path, deadlineMs: Number.POSITIVE_INFINITY, pollMs: pollMilliseconds, signal };
    await reportWhile(report, line, () => until(() => tryLock(path, owner), waiting));
  }
  const lock = hold(path, owner);
  try {
    return await step();
  } finally {
    await lock.release();
  }
}

/** A lock that this process holds. */
export interface HeldLock {
  /** Whether this process still holds the lock: one on another host may have taken it while this one was suspended. */
  isHeld(): Promise<boolean>;
  release(): Promise<void>;
}

/** A lock that this process holds, or the process that holds it. Undefined if that is not known. */
export type TakenLock = HeldLock | { readonly owner: number | undefined };

/** Takes a lock as {@link withLock} does, but does not wait. The lock of a process that no longer exists is taken over. */
export async function takeLock(path: string): Promise<TakenLock> {
  const owner = thisProcess();
  await mkdir(dirname(path), { recursive: true });
  // The first try may only remove the lock of a process that no longer exists.
  const isTaken = (await tryLock(path, owner)) || (await tryLock(path, owner));
  return isTaken ? hold(path, owner) : { owner: (await readOwner(path))?.processId };
}

function thisProcess(): Owner {
  const { pid } = process;
  return { processId: pid, start: startOf(pid), host: hostname(), token: randomUUID() };
}

/** Keeps a lock alive. */
function hold(path: string, owner: Owner): HeldLock {
  const heartbeat = setInterval(() => {
    const now = new Date();
    // If the lock has vanished, a process on another host has taken it while this one was suspended.
    utimes(path, now, now).catch(() => clearInterval(heartbeat));
  }, heartbeatMilliseconds);
  heartbeat.unref();
  const isHeld = async () => (await readOwner(path))?.token === owner.token;
  return {
    isHeld,
    release: async () => {
      clearInterval(heartbeat);
      if (await isHeld()) await rm(path, { force: true });
    },
  };
}

async function waitingLine(path: string): Promise<(elapsed: string) => string> {
  const owner = await readOwner(path);
  const who = owner === undefined ? "another process" : `process ${owner.processId}`;
  return (elapsed) => `waiting for ${who}, which provides the control plane's programs (${elapsed})`;
}

async function tryLock(path: string, owner: Owner): Promise<boolean> {
  try {
    await create(path, JSON.stringify(owner));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const found = await readOwner(path);
  if (await isStale(path, found)) await removeLockOf(path, found, owner.token);
  return false;
}

/** Creates a file with its text, or no file: on a full disk, an empty lock would have no owner. */
async function create(path: string, text: string): Promise<void> {
  const file = await open(path, "wx");
  try {
    await file.writeFile(text);
  } catch (error) {
    await rm(path, { force: true });
    // The error of a write names no file.
    throw Object.assign(error as Error, { path });
  } finally {
    await file.close();
  }
}

async function isStale(path: string, owner: Owner | undefined): Promise<boolean> {
  const isHere = owner !== undefined && owner.host === hostname();
  if (isHere && !isRunning(owner.processId)) return true;
  const status = await stat(path).catch(() => undefined);
  if (status === undefined || Date.now() - status.mtimeMs <= staleMilliseconds) return false;
  return !isHere || owner.start === undefined || owner.start !== startOf(owner.processId);
}

/** Removes the lock. If another process has replaced it since it was read, that lock is restored. */
async function removeLockOf(path: string, stale: Owner | undefined, token: string): Promise<void> {
  const aside = `${path}.${token}`;
  await rename(path, aside).catch(() => undefined);
  const taken = await readOwner(aside);
  if (taken !== undefined && taken.token !== stale?.token) await link(aside, path).catch(() => undefined);
  await rm(aside, { force: true });
}

async function readOwner(path: string): Promise<Owner | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as Owner;
  } catch {
    return undefined;
  }
}
