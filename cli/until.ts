import { setTimeout as pause } from "node:timers/promises";
import { CommandError } from "./commandError";

/** How {@link until} waits. */
export interface UntilOptions {
  /** What is waited for, as the end of "… did not come about": for the error. */
  readonly what: string;
  /** In milliseconds. */
  readonly deadlineMs: number;
  readonly signal?: AbortSignal | undefined;
}

const POLL_MS = 25;

/**
 * Asks again and again until the answer is something.
 *
 * @throws DeadlineError after the deadline; the signal's reason; what `probe` throws
 */
export async function until<T>(probe: () => Promise<T | undefined>, options: UntilOptions): Promise<T> {
  const { what, deadlineMs, signal } = options;
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    signal?.throwIfAborted();
    const answer = await probe();
    if (answer !== undefined) return answer;
    if (performance.now() > deadline) throw new DeadlineError(what, deadlineMs);
    await pause(POLL_MS);
  }
}

/** What was waited for did not come about in time. */
export class DeadlineError extends CommandError {
  override readonly name = "DeadlineError";

  constructor(
    /** What was waited for. */
    readonly what: string,
    deadlineMs: number,
  ) {
    super(`waited ${deadlineMs / 1_000} s in vain: ${what}`);
  }
}
