import type { ObjectName } from "../kubernetes/objects";
import { keyOf } from "../objectKey";

/** How {@link Announcements} are compared, and whom it tells. */
export interface AnnouncementsOptions {
  /** How long either of the two may come before the other, in milliseconds. */
  readonly withinMs: number;
  /** So many changes were not announced in time. */
  readonly onMissing: (changes: number) => void;
}

/** What is open of one object. */
interface Balance {
  /** Since when, on the monotonic clock. */
  readonly since: number;
  /** Changes that the watch told of and no hint yet; below zero, hints that the watch has told of no change for. */
  changes: number;
}

/** Objects with something open; beyond it the oldest are forgotten, uncounted. */
const MOST_OPEN = 10_000;

/**
 * Compares what the watch tells with what hints tell. A change comes by both ways, by the watch nearly always first:
 * its hint is then no news. And a change for which no hint comes shows that events are lost.
 */
export class Announcements {
  /** In the order of `since`. */
  private readonly open = new Map<string, Balance>();
  private readonly sweep: NodeJS.Timeout;

  constructor(private readonly options: AnnouncementsOptions) {
    this.sweep = setInterval(() => this.expire(), options.withinMs / 6).unref();
  }

  /** The watch told of a change. */
  changed(name: ObjectName): void {
    this.add(keyOf(name), 1);
  }

  /** A hint came. @returns whether the watch had told of the change already */
  hinted(name: ObjectName): boolean {
    const key = keyOf(name);
    const known = (this.open.get(key)?.changes ?? 0) > 0;
    this.add(key, -1);
    return known;
  }

  /** The object is gone: nobody will hint at it any more. */
  gone(name: ObjectName): void {
    this.open.delete(keyOf(name));
  }

  /** Counts what was not announced in time, and forgets it. Done now and then by itself. */
  expire(): void {
    const before = performance.now() - this.options.withinMs;
    for (const [key, { since, changes }] of this.open) {
      if (since > before) return;
      this.open.delete(key);
      if (changes > 0) this.options.onMissing(changes);
    }
  }

  /** Nothing is compared any more. */
  stop(): void {
    clearInterval(this.sweep);
    this.open.clear();
  }

  private add(key: string, change: 1 | -1): void {
    const balance = this.open.get(key) ?? { since: performance.now(), changes: 0 };
    balance.changes += change;
    if (balance.changes === 0) this.open.delete(key);
    else this.open.set(key, balance);
    const [oldest] = this.open.keys();
    if (this.open.size > MOST_OPEN && oldest !== undefined) this.open.delete(oldest);
  }
}
