import { Recent } from "./recent";

/** How fast events of one key may follow each other. */
export interface RateLimit {
  /** How many may come at once. */
  readonly burst: number;
  /** After that, one may come after each such time, in milliseconds. */
  readonly refillMs: number;
}

interface Bucket {
  /** Negative while a future token is reserved. */
  left: number;
  /** When {@link left} was last computed, on the monotonic clock. */
  at: number;
  /** When the last reserved token comes, on the monotonic clock. */
  reservedFor: number;
}

/** Limits how often the events of each of many keys happen, by a token bucket for each. Full buckets are forgotten. */
export class KeyedRateLimiter {
  private readonly buckets: Recent<Bucket>;

  constructor(
    private readonly options: RateLimit,
    private readonly now: () => number = () => performance.now(),
  ) {
    // By then a bucket is full, even if a future token was reserved.
    this.buckets = new Recent({ keptMs: (options.burst + 1) * options.refillMs, now });
  }

  /**
   * Accepts an event of the key if there is a token for it, and takes the token.
   * @returns 0 if the event is accepted. If not, the time until there is a token, in milliseconds
   */
  tryAccept(key: string): number {
    const bucket = this.bucket(key);
    const waitMs = this.waitOf(bucket);
    if (waitMs === 0) bucket.left--;
    return waitMs;
  }

  /**
   * Reserves the key's next token. Until its time comes, all callers share the reservation and count as one event.
   * @returns the time until the token comes, in milliseconds
   */
  reserve(key: string): number {
    const bucket = this.bucket(key);
    if (bucket.reservedFor <= bucket.at) {
      bucket.reservedFor = bucket.at + this.waitOf(bucket);
      bucket.left--;
    }
    return bucket.reservedFor - bucket.at;
  }

  /** Gives a token of the key back, because the event for which it was taken did not happen. */
  cancel(key: string): void {
    const bucket = this.buckets.get(key);
    if (bucket) bucket.left++;
  }

  /** The key's bucket, as it is now. */
  private bucket(key: string): Bucket {
    const { burst, refillMs } = this.options;
    const now = this.now();
    const { left, at, reservedFor } = this.buckets.get(key) ?? { left: burst, at: now, reservedFor: now };
    const bucket = { left: Math.min(burst, left + (now - at) / refillMs), at: now, reservedFor };
    this.buckets.set(key, bucket);
    return bucket;
  }

  /** The time until there is a token. Whole milliseconds: a wait as short as a rounding error would end at once. */
  private waitOf({ left }: Bucket): number {
    return Math.max(0, Math.ceil((1 - left) * this.options.refillMs));
  }
}
