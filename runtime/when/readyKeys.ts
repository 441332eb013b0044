/**
 * Why a key must be worked on, the most urgent first: its object changed, a child of the object changed, or it is time again.
 */
const PRIORITIES = ["change", "child", "routine"] as const;

/** Why a key must be worked on. The reason also decides how soon its turn comes. */
export type Priority = (typeof PRIORITIES)[number];

/** A key that waits for its turn. */
export interface Ready {
  /** Only {@link ReadyKeys.raise} changes it while the key is ready. */
  priority: Priority;
  /** When the key became ready. */
  readySince: number;
}

/** Every eighth turn goes to the {@link ReadyKeys.oldest} key, if it has waited for {@link PATIENCE_MS}. */
const TURNS_PER_OLDEST = 8;
const PATIENCE_MS = 10_000;

/** The keys of one priority, in the order in which they got it. */
class Lane extends Map<string, Ready> {
  private first: [key: string, ready: Ready] | undefined;
  /** Those behind the first. A new iterator would pass the places of all keys that have left: V8 keeps them for a time. */
  private others = this.entries();

  override delete(key: string): boolean {
    if (this.first?.[0] === key) this.first = undefined;
    return super.delete(key);
  }

  /** The first key is looked for from the beginning. */
  restart(): void {
    this.first = undefined;
    this.others = this.entries();
  }

  /** The first key that is not blocked. Other keys may be blocked only after {@link restart}. */
  firstExcept(blocked: ReadonlySet<string>): [key: string, ready: Ready] | undefined {
    while (!this.first && this.size > 0) {
      const { value, done } = this.others.next();
      if (done) {
        this.others = this.entries();
        return undefined;
      }
      if (!blocked.has(value[0])) this.first = value;
    }
    return this.first;
  }
}

/** The keys that are ready, and which of them is next: the most urgent, and now and then the oldest. */
export class ReadyKeys {
  private readonly lanes: Record<Priority, Lane> = {
    change: new Lane(),
    child: new Lane(),
    routine: new Lane(),
  };
  private blocked: ReadonlySet<string> = new Set();
  private turns = 0;

  add(key: string, ready: Ready): void {
    this.lanes[ready.priority].set(key, ready);
  }

  delete(key: string, { priority }: Ready): void {
    this.lanes[priority].delete(key);
  }

  /** The key has this priority from now on, if that is more urgent. */
  raise(key: string, ready: Ready, priority: Priority): void {
    if (higher(ready.priority, priority) === ready.priority) return;
    this.delete(key, ready);
    ready.priority = priority;
    this.add(key, ready);
  }

  /** These keys and no others are never next. */
  block(keys: ReadonlySet<string>): void {
    this.blocked = keys;
    for (const lane of Object.values(this.lanes)) lane.restart();
  }

  /** How many keys are ready, including those that are blocked. */
  get size(): number {
    return PRIORITIES.reduce((sum, priority) => sum + this.lanes[priority].size, 0);
  }

  /** When the {@link ReadyKeys.oldest} key became ready. Undefined if none waits. */
  get oldestSince(): number | undefined {
    return this.oldest()?.[1].readySince;
  }

  /** The key whose turn it is. It stays ready. Undefined if there is none. */
  next(now: number): string | undefined {
    const oldest = ++this.turns % TURNS_PER_OLDEST === 0 ? this.oldest() : undefined;
    if (oldest && now - oldest[1].readySince >= PATIENCE_MS) return oldest[0];
    for (const priority of PRIORITIES) {
      const first = this.firstOf(priority);
      if (first) return first[0];
    }
    return undefined;
  }

  /**
   * Of the keys that are first in their lanes, the one that has waited longest. A key that was raised is behind those that had its
   * priority before, even if they have waited less.
   */
  private oldest(): [key: string, ready: Ready] | undefined {
    const firsts = PRIORITIES.map((priority) => this.firstOf(priority)).filter(
      (first) => first !== undefined,
    );
    return firsts.sort(([, a], [, b]) => a.readySince - b.readySince)[0];
  }

  private firstOf(priority: Priority): [key: string, ready: Ready] | undefined {
    return this.lanes[priority].firstExcept(this.blocked);
  }
}

/** The less urgent of two priorities. */
export function lower(a: Priority, b: Priority): Priority {
  return higher(a, b) === a ? b : a;
}

/** The more urgent of two priorities. */
export function higher(a: Priority | undefined, b: Priority): Priority {
  return a !== undefined && PRIORITIES.indexOf(a) < PRIORITIES.indexOf(b) ? a : b;
}
