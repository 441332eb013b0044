// One turn of an object: how it came about, how it ended, and how long until the next.
/** The causes of a run, the most informative first. */
export const CAUSES = [
  /** An event from outside has named the object. Nothing in the cluster says what it is about. */
  "event",
  /** The engine's own watch reported a change of the object. */
  "watch",
  /** An event said that the object may have changed. */
  "hint",
  /** A user submitted a run. */
  "request",
  /** An object that the object uses has changed. */
  "used",
  /** A child of the object has changed. */
  "child",
  /** The last run failed. */
  "retry",
  /** A resync, the beginning of a term, a schedule, or a handler that wanted to be asked again. */
  "time",
] as const;

/** One of {@link CAUSES}. */
export type Cause = (typeof CAUSES)[number];

/** How a run came about. */
export interface Arrival {
  readonly cause: Cause;
  /** What else came until then, if anything did. */
  readonly alsoBy?: readonly Cause[] | undefined;
  /** When the cause reached the engine, on the monotonic clock, in milliseconds. Undefined if nothing came from elsewhere. */
  readonly at?: number | undefined;
  /** When the object's turn could have come, and when it came, on the monotonic clock, in milliseconds. */
  readonly readyAt: number;
  readonly takenAt: number;
}

/** Whether a run came about by that, perhaps among other causes. */
export function isCausedBy(arrival: Arrival | undefined, cause: Cause): boolean {
  return arrival?.cause === cause || arrival?.alsoBy?.includes(cause) === true;
}

/** How the work on a key ended. */
export type WorkResult =
  /** With `againAfterMs`, the key is due again by itself. */
  | { readonly kind: "done"; readonly againAfterMs?: number }
  /**
   * The key is tried again after `retryAfterMs`, or after a backoff. If `permanent`, there is no backoff, and any news is a reason to
   * try it earlier.
   */
  | {
      readonly kind: "failed";
      readonly retryAfterMs?: number;
      readonly permanent?: boolean;
    }
  /**
   * Not a failure: something changed during the turn, or the API server was busy. The key is tried again soon, as the same
   * attempt. If it `yields`, keys with newer changes go first.
   */
  | {
      readonly kind: "again";
      readonly afterMs?: number;
      readonly yields?: boolean;
    };

/** The results of the work on a key until now. */
export interface History {
  /** How often in a row the work failed. */
  failures: number;
  /**
   * How often in a row the key's pause has doubled: once for the first failure, and for each failure after a pause that was
   * waited out.
   */
  doublings: number;
  /** Whether the key is in the pause after a failure, or that pause had run out when the present work began. */
  isPausing: boolean;
  /** How often in a row the key had to be tried again without a failure. */
  repeats: number;
}

/** How long keys wait after their work has ended. */
export interface BackoffOptions {
  /** The longest wait for the next try, whatever the failure asks for, in milliseconds. @default no limit */
  readonly longestWaitMs: number;
  /** The longest backoff, in milliseconds. @default 300000, five minutes */
  readonly longestBackoffMs: number;
  /** @default Math.random */
  readonly random: () => number;
}

const FIRST_BACKOFF_MS = 500;
/** The longest backoff by default, in milliseconds. */
export const LONGEST_BACKOFF_MS = 300_000;
const FIRST_REPEAT_MS = 10;
const LONGEST_REPEAT_MS = 2_000;

/** The defaults. */
export const BACKOFF: BackoffOptions = {
  longestWaitMs: Number.POSITIVE_INFINITY,
  longestBackoffMs: LONGEST_BACKOFF_MS,
  random: () => Math.random(),
};

/**
 * Notes in the history of a key how the work on the key has ended.
 * @returns after how long the key is due again by itself, in milliseconds. Undefined: only when something changes
 */
export function waitAfter(history: History, result: WorkResult, options: BackoffOptions): number | undefined {
  const { longestBackoffMs, longestWaitMs, random } = options;
  if (result.kind !== "again") history.repeats = 0;
  if (result.kind === "done") {
    history.failures = history.doublings = 0;
    return result.againAfterMs;
  }
  if (result.kind === "again") {
    const doubledMs = Math.min(FIRST_REPEAT_MS * 2 ** history.repeats++, LONGEST_REPEAT_MS);
    return Math.max(result.afterMs ?? 0, doubledMs * (0.5 + random() / 2));
  }
  // Only a pause that ran out doubles the next one. A key that changes while it fails is tried after each change. Those tries say
  // nothing about how long the failure lasts.
  if (history.isPausing || history.failures === 0) history.doublings++;
  history.failures++;
  if (result.permanent) return result.retryAfterMs;
  // Half of the pause is fixed and half random, so that objects that failed together do not come back together.
  const doubledMs = Math.min(FIRST_BACKOFF_MS * 2 ** (history.doublings - 1), longestBackoffMs);
  return Math.min(result.retryAfterMs ?? doubledMs * (0.5 + random() / 2), longestWaitMs);
}
