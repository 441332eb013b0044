import { setTimeout as setTimeoutPromise } from "node:timers/promises";

/** The time of the machine's monotonic clock, in milliseconds. Setting the time of day does not change it. */
export function monotonicNow(): number {
  return performance.now();
}

/** Waits this many milliseconds, and keeps no process alive for that. Rejects when the signal ends it. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return setTimeoutPromise(ms, undefined, { signal, ref: false });
}

/**
 * Waits for something, at most for this many milliseconds.
 * @param ms undefined: for ever
 * @returns the value of the promise. Undefined if the promise takes longer
 * @throws what the promise rejects with, if it does so in time
 */
export async function within<T>(ms: number | undefined, ending: Promise<T>): Promise<T | undefined> {
  if (ms === undefined) return ending;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([ending, late]);
  } finally {
    clearTimeout(timer);
  }
}
