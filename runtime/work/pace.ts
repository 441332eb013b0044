/** How fast events of one key may follow each other. */
export interface PaceOptions {
  /** How many may come at once. */
  readonly burst: number;
  /** After that, one may come each time that this has passed, in milliseconds. */
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
    // Whole milliseconds: a wait of a rounding error would end in the moment in which it begins.
    const waitMs = Math.max(0, Math.ceil((1 - left) * refillMs));
    this.buckets.delete(key);
    this.buckets.set(key, { left: waitMs === 0 ? left - 1 : left, at: now });
    // In the order of their last use, so the first ones are full first.
    for (const [old, { at }] of this.buckets) {
      if (now - at < burst * refillMs) break;
      this.buckets.delete(old);
    }
    return waitMs;
  }

  /** Gives a token of the key back: what it was taken for did not happen. */
  giveBack(key: string): void {
    const bucket = this.buckets.get(key);
    if (bucket) bucket.left++;
  }
}
