import { monotonicNow } from "../base/clock";
import { KeyedRateLimiter, type RateLimit } from "../base/limits";
import {
  type Arrival,
  BACKOFF,
  type BackoffOptions,
  CAUSES,
  type Cause,
  type History,
  type WorkResult,
  waitAfter,
} from "../base/turn";
import { DueTimes } from "./dueTimes";
import { higher, lower, type Priority, type Ready, ReadyKeys } from "./readyKeys";

/** Why a key must be worked on, and how soon. */
export interface Reason {
  /** @default "time", or "retry" if the last work on the key failed */
  readonly cause?: Cause | undefined;
  /** If the key waits already, the more urgent priority stays. */
  readonly priority: Priority;
  /** The key becomes due after this delay, in milliseconds. An earlier time that is already set stays. */
  readonly afterMs: number;
  /** Whether a failed key is tried before its backoff ends, also if the key is being worked on and this attempt fails. */
  readonly endsBackoff: boolean;
}

/** The state of a key. */
export interface KeyState {
  /** "idle": there is nothing to do. "ready": it waits for its turn. */
  readonly state: "idle" | "delayed" | "ready" | "working";
  /** The number of the attempt that is in progress, or else of the next one. */
  readonly attempt: number;
  /** For how long it has been worked on, in milliseconds. Only while it is. */
  readonly workingMs?: number;
  /** When it becomes ready by itself, in milliseconds from now. Only while it is delayed. */
  readonly dueInMs?: number;
}

/** How a {@link WorkQueue} times keys. */
export interface WorkQueueOptions extends Partial<BackoffOptions> {
  /** How often one key may be worked on because it changes. @default 20 times, then ten times a second */
  readonly rateLimit?: RateLimit;
  /** A monotonic clock, in milliseconds. @default performance.now */
  readonly now?: () => number;
}

/** One more turn of a key that was added while it was worked on. */
interface Again {
  readonly priority: Priority;
  /** When the turn is due, unless the result of the work in progress asks for an earlier time. */
  readonly at: number;
  /** Whether the turn comes even if the work in progress fails. */
  readonly endsBackoff: boolean;
}

interface Entry extends History, Ready {
  state: KeyState["state"];
  /** When the work on it began, while it is worked on. */
  workingSince: number;
  /** Whether it is delayed because it changes faster than the rate limit allows. */
  isRateLimited: boolean;
  /** The cause of its next run, and when the cause came. Undefined: it is time, or the last run failed. */
  noted: { readonly cause: Cause; readonly at: number } | undefined;
  /** Its other causes. */
  alsoBy: readonly Cause[];
  /** Set only while it is worked on. */
  again: Again | undefined;
  /** Whether its object has gone since the work in progress began. */
  isForgotten: boolean;
}

const NONE: readonly Cause[] = [];

/** Runs of one object: `burst` in a row, and then one each `refillMs`. */
export const RATE_LIMIT: RateLimit = { burst: 20, refillMs: 100 };

/**
 * The queue of keys to work on. It says when each key is worked on, and {@link ReadyKeys} say which ready key is next. It holds no
 * timer and starts nothing: see `Workers`.
 *
 * Guarantees, each with a test in tests/unit/workQueue.test.ts:
 * - A key is never given out twice at once. A key that is added while it is worked on is worked on again afterwards.
 * - Every added key is given out in the end, however many more urgent keys are added.
 * - A key that failed comes back after an exponential backoff with jitter, but never later than `longestWaitMs`. Only a backoff
 *   that was waited out doubles: a key that is added many times while it fails comes back as soon as one that is not.
 *
 * Assumption: {@link finish} is called once for each key that {@link takeDue} gave.
 *
 * Caveat: a key that is added again and again is given out only as fast as the rate limit allows.
 */
export class WorkQueue {
  private readonly entries = new Map<string, Entry>();
  private readonly ready = new ReadyKeys();
  private readonly delayed = new DueTimes();
  private readonly limiter: KeyedRateLimiter;
  private readonly options: Required<WorkQueueOptions>;

  constructor(options: WorkQueueOptions = {}) {
    this.options = { ...BACKOFF, rateLimit: RATE_LIMIT, now: monotonicNow, ...options };
    this.limiter = new KeyedRateLimiter(this.options.rateLimit, this.options.now);
  }

  /**
   * The key must be worked on.
   *
   * | the key is | what becomes of it |
   * | --- | --- |
   * | worked on | it is worked on again afterwards |
   * | ready | it stays ready, with the more urgent priority |
   * | delayed by the rate limit, or by a backoff that this does not end | it stays delayed, with the more urgent priority |
   * | delayed otherwise | it is ready now, or at the earlier of both times, with the more urgent priority |
   * | idle | it is ready now, or at that time |
   */
  add(key: string, { cause, priority, afterMs, endsBackoff }: Reason): void {
    const now = this.options.now();
    const entry = this.entry(key);
    if (cause) this.note(entry, cause, now);
    if (entry.state === "working") {
      entry.again = both(entry.again, { priority, at: now + afterMs, endsBackoff });
    } else if (entry.state === "ready") {
      this.ready.raise(key, entry, priority);
    } else if (entry.isRateLimited || (entry.state === "delayed" && entry.isPausing && !endsBackoff)) {
      entry.priority = higher(entry.priority, priority);
    } else {
      const most = entry.state === "delayed" ? higher(entry.priority, priority) : priority;
      if (afterMs <= 0 || now + afterMs < this.dueAt(key)) this.plan(key, entry, now + afterMs, most);
      else entry.priority = most;
    }
  }

  /** The key to work on now. It counts as worked on until {@link finish}. Undefined if none is due. */
  takeDue(): string | undefined {
    this.wake();
    const now = this.options.now();
    const key = this.ready.next(now);
    if (key === undefined) return undefined;
    const entry = this.entry(key);
    this.ready.delete(key, entry);
    entry.state = "working";
    entry.workingSince = now;
    return key;
  }

  /** The number of the next attempt on a key: 1, and one more for each failure since its last success. */
  attemptOf(key: string): number {
    return (this.entries.get(key)?.failures ?? 0) + 1;
  }

  /** After how long at most a key is tried again if its work ends so, in milliseconds. Undefined: only after a change. */
  longestWaitAfter(key: string, result: WorkResult): number | undefined {
    return waitAfter({ ...this.entry(key) }, result, { ...this.options, random: () => 1 });
  }

  /**
   * How the run of a key that is worked on came about. Of several causes the most informative counts, and of equal ones the first.
   * What is added from now on is a cause of the next run.
   */
  arrivalOf(key: string): Arrival {
    const entry = this.entry(key);
    const { noted, alsoBy, failures, readySince } = entry;
    [entry.noted, entry.alsoBy] = [undefined, NONE];
    const takenAt = this.options.now();
    const cause = noted?.cause ?? (failures > 0 ? "retry" : "time");
    const others = alsoBy.length > 0 && { alsoBy };
    return {
      cause,
      ...others,
      ...(noted && { at: noted.at }),
      readyAt: Math.min(readySince, takenAt),
      takenAt,
    };
  }

  /** The state of a key, for diagnosis. */
  stateOf(key: string): KeyState {
    const { state = "idle", workingSince = 0 } = this.entries.get(key) ?? {};
    const attempt = this.attemptOf(key);
    const now = this.options.now();
    return {
      state,
      attempt,
      ...(state === "working" && { workingMs: now - workingSince }),
      ...(state === "delayed" && { dueInMs: Math.max(0, this.dueAt(key) - now) }),
    };
  }

  /** The work on a key has ended. */
  finish(key: string, ended: WorkResult): void {
    const entry = this.entry(key);
    // The outcome of the work on an object that is gone does not matter to a new object of its name.
    const result: WorkResult = entry.isForgotten && ended.kind !== "again" ? { kind: "done" } : ended;
    entry.isForgotten = false;
    entry.state = "idle";
    const waitMs = waitAfter(entry, result, this.options);
    const { again } = entry;
    entry.again = undefined;
    // If the work came to nothing, its reason still counts.
    const left = result.kind === "again" ? entry.priority : "routine";
    const isYielding = result.kind === "again" && result.yields;
    const priority = higher(again?.priority, isYielding ? lower(left, "child") : left);
    const now = this.options.now();
    // A failed key that is tried again anyway waits for its backoff, unless the reason that was added ends the backoff.
    const isInBackoff = result.kind === "failed" && !result.permanent;
    const isKept = isInBackoff && !again?.endsBackoff;
    if (again && !isKept) {
      const dueAt = Math.min(again.at, waitMs === undefined ? Number.POSITIVE_INFINITY : now + waitMs);
      this.plan(key, entry, dueAt, priority);
    } else if (waitMs !== undefined) {
      this.delay(key, entry, now + waitMs, priority);
      entry.isPausing = isInBackoff || (result.kind === "again" && entry.isPausing);
    } else if (entry.failures === 0) {
      this.entries.delete(key);
    }
  }

  /**
   * The object of a key is gone: the key no longer waits, and its failures are forgotten. Work on it ends by itself. If that
   * work fails, the failure is forgotten too.
   */
  forget(key: string): void {
    const entry = this.entries.get(key);
    if (!entry) return;
    this.ready.delete(key, entry);
    this.delayed.delete(key);
    entry.again = entry.noted = undefined;
    entry.alsoBy = NONE;
    entry.failures = entry.doublings = 0;
    if (entry.state === "working") entry.isForgotten = true;
    else this.entries.delete(key);
  }

  /** Forgets everything that waits. */
  clear(): void {
    for (const key of [...this.entries.keys()]) this.forget(key);
  }

  /** These keys and no others wait even if they are due, because another process still works on them. */
  block(keys: ReadonlySet<string>): void {
    this.ready.block(keys);
  }

  /** When the first of the delayed keys becomes due, in milliseconds from now. Undefined if no key is delayed. */
  get nextInMs(): number | undefined {
    const { first } = this.delayed;
    return first && Math.max(0, first.at - this.options.now());
  }

  /** Whether the key waits, is worked on or has failed. Adding such a key costs no memory. */
  has(key: string): boolean {
    return this.entries.has(key);
  }

  /** How many keys wait for their turn now. */
  get depth(): number {
    this.wake();
    return this.ready.size;
  }

  /** How many keys failed when they were last worked on. */
  get failing(): number {
    return [...this.entries.values()].filter(({ failures }) => failures > 0).length;
  }

  /** How long the key that has waited longest has been ready, in milliseconds. 0 if none waits. */
  get oldestMs(): number {
    const now = this.options.now();
    return now - (this.ready.oldestSince ?? now);
  }

  /**
   * Everything that waits counts as if it began to wait now, since this process did not work before. Another process may have
   * handled the causes.
   */
  restartWaiting(): void {
    const now = this.options.now();
    for (const entry of this.entries.values()) {
      entry.readySince = now;
      entry.noted = undefined;
      entry.alsoBy = NONE;
    }
  }

  private note(entry: Entry, cause: Cause, at: number): void {
    const { noted, alsoBy } = entry;
    if (cause === noted?.cause) return;
    const isFirst = !noted || CAUSES.indexOf(cause) < CAUSES.indexOf(noted.cause);
    const other = isFirst ? noted?.cause : cause;
    if (isFirst) entry.noted = { cause, at };
    if (other && !alsoBy.includes(other)) entry.alsoBy = [...alsoBy, other];
  }

  private entry(key: string): Entry {
    let entry = this.entries.get(key);
    if (!entry) {
      entry = {
        state: "idle",
        priority: "routine",
        readySince: 0,
        workingSince: 0,
        isRateLimited: false,
        noted: undefined,
        alsoBy: NONE,
        again: undefined,
        isForgotten: false,
        failures: 0,
        doublings: 0,
        isPausing: false,
        repeats: 0,
      };
      this.entries.set(key, entry);
    }
    return entry;
  }

  /** When a key becomes ready, if it is delayed. Infinite otherwise. */
  private dueAt(key: string): number {
    return this.delayed.of(key) ?? Number.POSITIVE_INFINITY;
  }

  /** Makes keys ready when their time has come. */
  private wake(): void {
    const now = this.options.now();
    for (let first = this.delayed.first; first && first.at <= now; first = this.delayed.first) {
      this.delayed.delete(first.key);
      const entry = this.entry(first.key);
      if (entry.isRateLimited) this.admit(first.key, entry, entry.priority);
      else this.makeReady(first.key, entry, entry.priority);
    }
  }

  /** Plans the key for this time, because there is a reason to work on it. If the key is in a backoff, the backoff ends. */
  private plan(key: string, entry: Entry, at: number, priority: Priority): void {
    entry.isPausing = false;
    if (at > this.options.now()) this.delay(key, entry, at, priority);
    else this.admit(key, entry, priority);
  }

  /** Makes a key ready as soon as the rate limit allows. */
  private admit(key: string, entry: Entry, priority: Priority): void {
    const waitMs = priority === "change" ? this.limiter.tryAccept(key) : 0;
    if (waitMs === 0) return this.makeReady(key, entry, priority);
    this.delay(key, entry, this.options.now() + waitMs, priority);
    entry.isRateLimited = true;
  }

  private makeReady(key: string, entry: Entry, priority: Priority): void {
    this.delayed.delete(key);
    entry.isRateLimited = false;
    entry.state = "ready";
    entry.priority = priority;
    entry.readySince = this.options.now();
    this.ready.add(key, entry);
  }

  private delay(key: string, entry: Entry, at: number, priority: Priority): void {
    entry.state = "delayed";
    entry.priority = priority;
    entry.isRateLimited = false;
    this.delayed.set(key, at);
  }
}

/** Both reasons for one more turn as one. */
function both(one: Again | undefined, other: Again): Again {
  if (!one) return other;
  return {
    priority: higher(one.priority, other.priority),
    at: Math.min(one.at, other.at),
    endsBackoff: one.endsBackoff || other.endsBackoff,
  };
}
