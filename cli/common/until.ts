// The one way to wait for something, for commands, tools and tests.
import { setTimeout as pause } from "node:timers/promises";
import { within } from "../../runtime/base/clock";

/** How {@link until} waits. */
export interface UntilOptions {
  /** The awaited condition, or the missing part, for the error. */
  readonly what: string | (() => string);
  /** The error's message, from the time that was waited: "120 s". @default names {@link what} */
  readonly message?: (waited: string) => string;
  /** In milliseconds. Infinity waits until the signal. */
  readonly deadlineMs: number;
  /** The pause between two tries, in milliseconds. @default 25 */
  readonly pollMs?: number;
  /** The first pause, in milliseconds. Each further one is twice as long, up to `pollMs`. @default `pollMs` */
  readonly firstPollMs?: number;
  /** Ends the wait at once. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Calls `probe` repeatedly until its result is neither undefined nor false. After the deadline, a pending call is abandoned.
 *
 * @throws DeadlineError after the deadline; the signal's reason; the errors of `probe`
 */
export async function until<T>(
  probe: () => T | undefined | false | Promise<T | undefined | false>,
  { what, message, deadlineMs, pollMs = 25, firstPollMs = pollMs, signal }: UntilOptions,
): Promise<T> {
  const deadline = performance.now() + deadlineMs;
  for (let pauseMs = firstPollMs; ; pauseMs = Math.min(2 * pauseMs, pollMs)) {
    signal?.throwIfAborted();
    const leftMs = Number.isFinite(deadline) ? Math.max(0, deadline - performance.now()) : undefined;
    const answer = await within(leftMs, Promise.resolve(probe()));
    if (answer !== undefined && answer !== false) return answer;
    if (performance.now() >= deadline) {
      throw new DeadlineError(typeof what === "string" ? what : what(), deadlineMs, message);
    }
    // The error of an aborted pause is ignored, because the signal's reason is better.
    await pause(pauseMs, undefined, signal && { signal }).catch(() => {});
  }
}

/** An event did not happen in time. A command prints the message without a stack. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";

  constructor(
    /** The awaited event. */
    readonly what: string,
    deadlineMs: number,
    message = (waited: string) => `This did not happen within ${waited}: ${what}`,
  ) {
    super(message(`${deadlineMs / 1_000} s`));
  }
}
