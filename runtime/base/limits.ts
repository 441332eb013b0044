// For each of many keys: how much is kept, how often something happens, and one at a time.
import { monotonicNow } from "./clock";

/** Drops the entries of a map or a set that were added first, until no more than `most` are left. */
export function dropOldest<Key>(entries: Map<Key, unknown> | Set<Key>, most: number): void {
  for (const oldest of entries.keys()) {
    if (entries.size <= most) return;
    entries.delete(oldest);
  }
}

/** Values that are remembered for a time. */
export class Recent<Value> {
  /** In the order of `until`. */
  private readonly entries = new Map<string, { readonly value: Value; readonly until: number }>();

  /**
   * @param options `keptMs`: how long values are remembered. `most`: if there are more, only those that were set last are remembered.
   *   `now`: a monotonic clock, in milliseconds
   */
  constructor(private readonly options: { keptMs: number; most?: number; now: () => number }) {}

  /** The value of a key. Undefined if none was set, or it is forgotten. */
  get(key: string): Value | undefined {
    const entry = this.entries.get(key);
    return entry && entry.until > this.options.now() ? entry.value : undefined;
  }

  /** The key has this value from now on. */
  set(key: string, value: Value): void {
    const { keptMs, most = Number.POSITIVE_INFINITY } = this.options;
    const now = this.options.now();
    this.entries.delete(key);
    this.entries.set(key, { value, until: now + keptMs });
    for (const [old, { until }] of this.entries) {
      if (until > now) break;
      this.entries.delete(old);
    }
    dropOldest(this.entries, most);
  }

  /** Forgets a key. */
  delete(key: string): void {
    this.entries.delete(key);
  }

  /** The keys that were set. Some of them may be older than is remembered. */
  keys(): IterableIterator<string> {
    return this.entries.keys();
  }
}

/**
 * Keeps the content of many holders within a total length. The content that was taken longest ago is dropped first. The newest
 * may be longer than the total by itself.
 */
export class Allowance<Holder> {
  private readonly lengths = new Map<Holder, number>();
  private total = 0;

  /**
   * @param most the total length, in characters
   * @param letGo called for each holder that must drop its content
   */
  constructor(
    private readonly most: number,
    private readonly letGo: (holder: Holder) => void,
  ) {}

  /** The holder holds this much now. */
  hold(holder: Holder, length: number): void {
    this.release(holder);
    this.lengths.set(holder, length);
    this.total += length;
    for (const oldest of this.lengths.keys()) {
      if (this.total <= this.most || oldest === holder) return;
      this.release(oldest);
      this.letGo(oldest);
    }
  }

  /** The holder no longer holds anything. */
  release(holder: Holder): void {
    this.total -= this.lengths.get(holder) ?? 0;
    this.lengths.delete(holder);
  }
}

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
    private readonly now: () => number = monotonicNow,
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

/** Work on each key, one after another: later work waits for earlier work. */
export class KeyedMutex {
  /** The last work on each key. */
  private readonly last = new Map<string, Promise<unknown>>();

  /** Does the work when all earlier work on the key has ended, well or not. */
  runAlone<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.last.get(key) ?? Promise.resolve();
    const result = before.then(work);
    const settled = result.catch(() => {});
    this.last.set(key, settled);
    void settled.then(() => this.last.get(key) === settled && this.last.delete(key));
    return result;
  }
}
