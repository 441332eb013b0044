/** How fast events of one key may follow each other. */
export interface PaceOptions {
  /** How many may come at once. */
  readonly burst: number;
  /** After that, one may come after each such time, in milliseconds. */
  readonly refillMs: number;
}

interface Bucket {
  left: number;
  /** When {@link left} was right, on the monotonic clock. */
  at: number;
}

/** A token bucket for each of many keys. Those that are full are forgotten. */
export class Pace {
  private readonly buckets = new Map<string, Bucket>();

  constructor(
    private readonly options: PaceOptions,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /**
   * Takes a token of the key.
   * @returns 0 if there was one. If not, the time until there is one, in milliseconds
   */
  take(key: string): number {
    const { burst, refillMs } = this.options;
    const now = this.now();
    const bucket = this.buckets.get(key) ?? { left: burst, at: now };
    const left = Math.min(burst, bucket.left + (now - bucket.at) / refillMs);
    // Whole milliseconds: a wait as short as a rounding error would end at once.
    const waitMs = Math.max(0, Math.ceil((1 - left) * refillMs));
    this.buckets.delete(key);
    this.buckets.set(key, { left: waitMs === 0 ? left - 1 : left, at: now });
    // The map is in the order of the last use, so the first ones are full first.
    for (const [old, { at }] of this.buckets) {
      if (now - at < burst * refillMs) break;
      this.buckets.delete(old);
    }
    return waitMs;
  }

  /** Gives a token of the key back, because the event for which it was taken did not happen. */
  giveBack(key: string): void {
    const bucket = this.buckets.get(key);
    if (bucket) bucket.left++;
  }
}
