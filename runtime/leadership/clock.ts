import { setTimeout as pause } from "node:timers/promises";

/** The clocks that leadership uses. */
export interface Clock {
  /** The monotonic clock, in milliseconds. */
  now(): number;
  /** The time of day. Only people read it in the Lease. */
  date(): Date;
  /** Resolves after that time, or when the signal is aborted. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

/** The clocks of this machine. */
export const SYSTEM_CLOCK: Clock = {
  now: () => performance.now(),
  date: () => new Date(),
  pause: (ms, signal) => pause(ms, undefined, { signal }).catch(() => {}),
};
