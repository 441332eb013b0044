import { dropOldest } from "./dropOldest";

/** How long {@link Recent} values are remembered, and how many. */
export interface RecentOptions {
  /** In milliseconds. */
  readonly keptMs: number;
  /** If there are more, only those that were set last are remembered. @default any number */
  readonly most?: number;
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number;
}

/** Values that are remembered for a time. */
export class Recent<Value> {
  /** In the order of `until`. */
  private readonly entries = new Map<string, { readonly value: Value; readonly until: number }>();

  constructor(private readonly options: RecentOptions) {}

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
