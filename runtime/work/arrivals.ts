import { dropOldest } from "../limits/dropOldest";

/** The causes of a run, the most informative first. */
export const CAUSES = [
  /** The engine's own watch reported a change of the object. */
  "watch",
  /** An event said that the object may have changed. */
  "hint",
  /** Somebody submitted a run. */
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
  /** When the cause reached the engine, on the monotonic clock, in milliseconds. Undefined if nothing came from elsewhere. */
  readonly at?: number | undefined;
  /** When the object's turn could have come, and when it came, on the monotonic clock, in milliseconds. */
  readonly readyAt: number;
  readonly takenAt: number;
}

/** The most objects whose cause is remembered. Any other object counts as due by time. */
const MOST_NOTED = 10_000;

/** Remembers the cause for each object that waits for its run. */
export class Arrivals {
  private readonly noted = new Map<string, { readonly cause: Cause; readonly at: number }>();

  /** @param now a monotonic clock, in milliseconds */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /** A cause brings an object to a run. If there are several, the most informative counts, and of equal ones the first. */
  note(key: string, cause: Cause): void {
    const known = this.noted.get(key);
    if (known && CAUSES.indexOf(known.cause) <= CAUSES.indexOf(cause)) return;
    this.noted.set(key, { cause, at: this.now() });
    dropOldest(this.noted, MOST_NOTED);
  }

  /** The run of an object begins. @param readyAt since when the object waited for its turn */
  take(key: string, attempt: number, readyAt: number): Arrival {
    const known = this.noted.get(key);
    this.noted.delete(key);
    const takenAt = this.now();
    const cause = known?.cause ?? (attempt > 1 ? "retry" : "time");
    return { cause, ...(known && { at: known.at }), readyAt: Math.min(readyAt, takenAt), takenAt };
  }

  /** The object is gone. */
  forget(key: string): void {
    this.noted.delete(key);
  }

  /** Nothing waits any more. */
  clear(): void {
    this.noted.clear();
  }
}
