import { KeyedRateLimiter } from "../limits/rateLimiter";
import { CHILDREN_CHANGED_BACK, Contests } from "./contests";
import type { Priority } from "./readyKeys";
import type { WorkQueue } from "./workQueue";

/** The queue to which {@link Triggers} add objects. */
export interface TriggersOptions {
  readonly queue: WorkQueue;
  /** Called after something was added. */
  readonly wake: () => void;
  /** A monotonic clock, in milliseconds: that of the queue. @default performance.now */
  readonly now?: () => number;
}

/**
 * If this many objects wait, a hint for another one is refused. Names cost memory, and anyone who can send hints can invent
 * names.
 */
const MOST_WAITING = 10_000;
/** Drift is corrected after this short delay, so that the deletion of several children leads to one reconcile. */
const DRIFT_COALESCING_MS = 20;
/** Children's reports lead to one reconcile a second. */
const REPORT_RATE = { burst: 1, refillMs: 1_000 };
const REPORT_COALESCING_MS = 100;
/**
 * A Deployment that comes up writes its status many times. Its reports up to then wait for this time, and take no token of the rate
 * limit, so that the report that it is ready need not wait.
 */
const PROGRESS_COALESCING_MS = 1_000;
/** Another controller may take our finalizer, or the engine's memory, away each time that it sees it. */
const STRIPPED_RATE = { burst: 5, refillMs: 10_000 };
/** How often a used object that changes all the time wakes an object. */
const USED_RATE = { burst: 5, refillMs: 1_000 };
/** How many users of an object are woken at once. The others are woken one after another, so that they do not all come together. */
const USERS_AT_ONCE = 100;
const USER_GAP_MS = 2;
/**
 * An object is in a cycle if its own changes come back to it by an object that it uses: soon after each change, this many times
 * in a row. From then on it reacts less and less often.
 */
const CYCLE = { patience: 5, firstDelayMs: 1_000, longestDelayMs: 60_000, quietMs: 5_000 };

/**
 * Says for each event of an object how urgently and how soon the object is reconciled.
 *
 * Guarantees, each with a test in tests/unit/triggers.test.ts:
 * - A child that only reports makes at most one reconcile a second, and one more when it becomes ready. It ends no backoff.
 * - When a child becomes ready, its object is reconciled soon, whatever the child reported before.
 * - A child that drifted ends a backoff. It is corrected soon, unless its object is contested.
 * - A finalizer or a memory that somebody takes away each time comes back less often.
 * - An object that many others use wakes all of them, after fresh changes, and not all at once.
 * - Objects that change each other by their uses come to rest.
 * - Names that somebody invents cannot fill the memory.
 */
export class Triggers {
  private readonly contests: Contests;
  private readonly reportLimiter: KeyedRateLimiter;
  private readonly cycles: Contests;
  private readonly usedLimiter: KeyedRateLimiter;
  private readonly strippedLimiter: KeyedRateLimiter;

  constructor(private readonly options: TriggersOptions) {
    this.contests = new Contests(CHILDREN_CHANGED_BACK, options.now);
    this.reportLimiter = new KeyedRateLimiter(REPORT_RATE, options.now);
    this.cycles = new Contests(CYCLE, options.now);
    this.usedLimiter = new KeyedRateLimiter(USED_RATE, options.now);
    this.strippedLimiter = new KeyedRateLimiter(STRIPPED_RATE, options.now);
  }

  /** The object must be reconciled. */
  add(key: string, priority: Priority, afterMs = 0): void {
    this.options.queue.add(key, { priority, afterMs });
    this.options.wake();
  }

  /** Whether there is room for an object that somebody else names. An object that waits already needs no more room. */
  accepts(key: string): boolean {
    const { queue } = this.options;
    return queue.depth < MOST_WAITING || queue.has(key);
  }

  /** Somebody removed one of our finalizers, or the engine's memory, from the object, and changed nothing else. */
  stripped(key: string): void {
    this.add(key, "change", this.strippedLimiter.reserve(key));
  }

  /** A child of the object reports, and has the fields that we applied. @param isProgress whether the child is not ready yet */
  childReported(key: string, isProgress: boolean): void {
    if (isProgress) this.addForChild(key, PROGRESS_COALESCING_MS, false);
    else this.addForChild(key, Math.max(REPORT_COALESCING_MS, this.reportLimiter.reserve(key)), false);
  }

  /**
   * Somebody else changed or deleted fields that we applied to a child of the object.
   * @returns whether this makes the object contested
   */
  childDrifted(key: string): boolean {
    const isNewlyContested = this.contests.drifted(key);
    this.childGone(key);
    return isNewlyContested;
  }

  /** A child of the object that we deleted is gone at last. Another one may be waiting for its name. */
  childGone(key: string): void {
    this.addForChild(key, Math.max(DRIFT_COALESCING_MS, this.contests.delayMs(key)), true);
  }

  /** A reconcile has changed children of the object. @returns whether somebody else had changed one since we did so last */
  childrenChanged(key: string): boolean {
    return this.contests.changed(key);
  }

  /** A reconcile has changed the object's status or its children. This may change objects that it uses. */
  ownChanged(key: string): void {
    this.cycles.changed(key);
  }

  /**
   * An object that these objects use has changed. An object that failed is tried again at once, because it may have waited for
   * this.
   * @param isByOperator whether an operator of Argosy changed it, as in a cycle
   * @returns the objects that have been found to be in a cycle
   */
  usedChanged(keys: readonly string[], isByOperator: boolean): string[] {
    const inCycle: string[] = [];
    for (const [index, key] of keys.entries()) {
      if (isByOperator && this.cycles.drifted(key)) inCycle.push(key);
      const afterMs = Math.max(
        Math.max(0, index - USERS_AT_ONCE) * USER_GAP_MS,
        this.usedLimiter.reserve(key),
        isByOperator ? this.cycles.delayMs(key) : 0,
      );
      this.options.queue.add(key, { priority: "routine", afterMs, endsBackoff: true });
    }
    this.options.wake();
    return inCycle;
  }

  /** How many objects have a child that somebody else changes back each time. */
  get contested(): number {
    return this.contests.size;
  }

  private addForChild(key: string, afterMs: number, endsBackoff: boolean): void {
    this.options.queue.add(key, { priority: "child", afterMs, endsBackoff });
    this.options.wake();
  }
}
