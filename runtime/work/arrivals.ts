/** What brings an object to a run, the most telling first. */
export const CAUSES = [
  /** The engine's own watch reported a change of the object. */
  "watch",
  /** An event said that the object may have changed. */
  "hint",
  /** Somebody submitted a run. */
  "request",
  /** What the object uses has changed. */
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
  /** When that reached the engine, on the monotonic clock, in milliseconds. Undefined if nothing came from elsewhere. */
  readonly at?: number | undefined;
  /** When the object's turn could have come, and when it came, on the monotonic clock, in milliseconds. */
  readonly readyAt: number;
  readonly takenAt: number;
}

/** So many objects are remembered. Of any other it is only known that it was time. */
const MOST_NOTED = 10_000;

/** Remembers what brought each object that waits for its run. */
export class Arrivals {
  private readonly noted = new Map<string, { readonly cause: Cause; readonly at: number }>();

  /** @param now a monotonic clock, in milliseconds */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Something brings an object to a run. If several things do, the most telling counts, and of equal ones the first. */
  note(key: string, cause: Cause): void {
    const known = this.noted.get(key);
    if (known && CAUSES.indexOf(known.cause) <= CAUSES.indexOf(cause)) return;
    this.noted.set(key, { cause, at: this.now() });
    const [oldest] = this.noted.keys();
    if (this.noted.size > MOST_NOTED && oldest !== undefined) this.noted.delete(oldest);
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
