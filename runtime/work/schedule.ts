import { BACKOFF, type BackoffOptions, type History, type WorkResult, waitAfter } from "./backoff";
import { DueTimes } from "./dueTimes";
import { Pace, type PaceOptions } from "./pace";

/**
 * Why a key must be worked on, the most urgent first: its object changed, a child of the object changed, or it is time again.
 */
const PRIORITIES = ["change", "child", "routine"] as const;

/** Why a key must be worked on. The reason also decides how soon its turn comes. */
export type Priority = (typeof PRIORITIES)[number];

/** How {@link Schedule.add} adds a key. */
export interface AddOptions {
  /** If the key waits already, the more urgent priority stays. @default "change" */
  readonly priority?: Priority;
  /** The key becomes due after this delay, in milliseconds. An earlier time that is already set stays. @default 0 */
  readonly afterMs?: number;
  /** Whether a key that waits because it failed is worked on anyway. @default true, except for "child" */
  readonly endsBackoff?: boolean;
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

/** How a {@link Schedule} times keys. */
export interface ScheduleOptions extends Partial<BackoffOptions> {
  /** How often one key may be worked on because it changes. @default 20 times, then ten times a second */
  readonly pace?: PaceOptions;
  /** A monotonic clock, in milliseconds. @default performance.now */
  readonly now?: () => number;
}

interface Entry extends History {
  state: KeyState["state"];
  priority: Priority;
  /** When it became ready. */
  readySince: number;
  /** When the work on it began, while it is worked on. */
  workingSince: number;
  /** When it becomes ready, while it is delayed. Infinite otherwise. */
  dueAt: number;
  /** Whether it is delayed because it changes faster than its pace allows. */
  paced: boolean;
  /** Set while it is worked on, if it must be worked on again: with this priority, and not before `againAt`. */
  again: Priority | undefined;
  againAt: number;
  /** Whether it must be worked on again even if the work in progress fails. */
  againEndsBackoff: boolean;
}

const PACE: PaceOptions = { burst: 20, refillMs: 100 };
/** Every eighth turn goes to the key that has waited longest, if it has waited for {@link PATIENCE_MS}. */
const TURNS_PER_OLDEST = 8;
const PATIENCE_MS = 10_000;

/**
 * Says which key is worked on next, and when. It holds no timer and starts nothing: see `Workers`.
 *
 * Guarantees, each with a test in tests/unit/schedule.test.ts:
 * - A key is never given out twice at once. A key that is added while it is worked on is worked on again afterwards.
 * - Every added key is given out in the end, however many more urgent keys are added.
 * - A key that failed comes back after an exponential backoff with jitter, but never later than `longestWaitMs`. Only a backoff
 *   that was waited out doubles: a key that is added many times while it fails comes back as soon as one that is not.
 *
 * Assumption: {@link finish} is called once for each key that {@link take} gave.
 *
 * Caveat: one key that is added all the time is given out only as fast as its pace allows.
 */
export class Schedule {
  private readonly entries = new Map<string, Entry>();
  /** Keys that are ready, in the order in which they became ready. */
  private readonly ready: Record<Priority, Set<string>> = {
    change: new Set(),
    child: new Set(),
    routine: new Set(),
  };
  private readonly delayed = new DueTimes();
  private readonly pace: Pace;
  private readonly options: Required<ScheduleOptions>;
  private blocked: ReadonlySet<string> = new Set();
  private turns = 0;

  constructor(options: ScheduleOptions = {}) {
    this.options = {
      ...BACKOFF,
      pace: PACE,
      now: () => performance.now(),
      ...options,
    };
    this.pace = new Pace(this.options.pace, this.options.now);
  }

  /** The key must be worked on. */
  add(key: string, options: AddOptions = {}): void {
    const { priority = "change", afterMs = 0, endsBackoff = priority !== "child" } = options;
    const now = this.options.now();
    const entry = this.entry(key);
    if (entry.state === "working") {
      entry.again = higher(entry.again, priority);
      entry.againAt = Math.min(entry.againAt, now + afterMs);
      entry.againEndsBackoff ||= options.endsBackoff ?? priority === "change";
    } else if (entry.state === "ready") {
      this.raise(key, entry, priority);
    } else if (entry.paced || (isBackingOff(entry) && !endsBackoff)) {
      entry.priority = higher(entry.priority, priority);
    } else {
      const most = entry.state === "delayed" ? higher(entry.priority, priority) : priority;
      if (afterMs <= 0) this.admit(key, entry, most);
      else if (now + afterMs < entry.dueAt) this.delay(key, entry, now + afterMs, most);
      else entry.priority = most;
    }
  }

  /** The key to work on now. It counts as worked on until {@link finish}. Undefined if none is due. */
  take(): string | undefined {
    this.wake();
    const key = this.pick();
    if (key === undefined) return undefined;
    const entry = this.entry(key);
    this.ready[entry.priority].delete(key);
    entry.state = "working";
    entry.workingSince = this.options.now();
    entry.again = undefined;
    entry.againAt = Number.POSITIVE_INFINITY;
    entry.againEndsBackoff = false;
    return key;
  }

  /** The number of the next attempt on a key: 1, and one more for each failure since its last success. */
  attemptOf(key: string): number {
    return (this.entries.get(key)?.failures ?? 0) + 1;
  }

  /** Since when a key that is worked on had waited for its turn, on the clock. */
  readySinceOf(key: string): number {
    return this.entries.get(key)?.readySince ?? this.options.now();
  }

  /** The state of a key, for people to look at. */
  stateOf(key: string): KeyState {
    const entry = this.entries.get(key);
    if (!entry) return { state: "idle", attempt: 1 };
    const { state, workingSince, dueAt } = entry;
    const now = this.options.now();
    return {
      state,
      attempt: this.attemptOf(key),
      ...(state === "working" && { workingMs: now - workingSince }),
      ...(state === "delayed" && { dueInMs: Math.max(0, dueAt - now) }),
    };
  }

  /** The work on a key has ended. */
  finish(key: string, result: WorkResult): void {
    const entry = this.entry(key);
    entry.state = "idle";
    const waitMs = waitAfter(entry, result, this.options);
    const { again, againAt } = entry;
    // If nothing was done for the reason of this work, the reason stays.
    const priority = higher(again, result.kind === "again" ? entry.priority : "routine");
    const now = this.options.now();
    // A failed key that is tried again anyway waits for its backoff, unless the reason that was added ends the backoff.
    const isKept = result.kind === "failed" && waitMs !== undefined && !entry.againEndsBackoff;
    if (again && !isKept) {
      const dueAt = Math.min(againAt, waitMs === undefined ? Number.POSITIVE_INFINITY : now + waitMs);
      if (dueAt > now) this.delay(key, entry, dueAt, priority);
      else this.admit(key, entry, priority);
    } else if (waitMs !== undefined) {
      const { isPausing } = entry;
      this.delay(key, entry, now + waitMs, priority);
      entry.isPausing = result.kind === "failed" || (result.kind === "again" && isPausing);
    } else if (entry.failures === 0) {
      this.entries.delete(key);
    }
  }

  /** The object of a key is gone: the key no longer waits, and its failures are forgotten. Work on it ends by itself. */
  forget(key: string): void {
    const entry = this.entries.get(key);
    if (!entry) return;
    this.ready[entry.priority].delete(key);
    this.delayed.delete(key);
    entry.again = undefined;
    entry.failures = entry.doublings = 0;
    if (entry.state !== "working") this.entries.delete(key);
  }

  /** Forgets everything that waits. */
  clear(): void {
    for (const key of [...this.entries.keys()]) this.forget(key);
  }

  /** These keys and no others wait even if they are due, because another process still works on them. */
  block(keys: ReadonlySet<string>): void {
    this.blocked = keys;
  }

  /** The earliest time at which a delayed key becomes due, on the clock. Undefined if no key is delayed. */
  get nextDueAt(): number | undefined {
    return this.delayed.first?.at;
  }

  /** Whether the key waits, is worked on or has failed. Adding such a key costs no memory. */
  has(key: string): boolean {
    return this.entries.has(key);
  }

  /** How many keys wait for their turn now. */
  get depth(): number {
    this.wake();
    return PRIORITIES.reduce((sum, priority) => sum + this.ready[priority].size, 0);
  }

  /** How many keys failed when they were last worked on. */
  get failing(): number {
    let failing = 0;
    for (const { failures } of this.entries.values()) if (failures > 0) failing++;
    return failing;
  }

  /** When the key that has waited longest became ready, on the clock. Undefined if none waits. */
  get oldestSince(): number | undefined {
    const oldest = this.oldest();
    return oldest === undefined ? undefined : this.entry(oldest).readySince;
  }

  /** Everything that waits counts as if it began to wait now, since nobody was working before. */
  restartWaiting(): void {
    const now = this.options.now();
    for (const entry of this.entries.values()) entry.readySince = now;
  }

  private entry(key: string): Entry {
    let entry = this.entries.get(key);
    if (!entry) {
      entry = {
        state: "idle",
        priority: "routine",
        readySince: 0,
        workingSince: 0,
        dueAt: Number.POSITIVE_INFINITY,
        paced: false,
        again: undefined,
        againAt: Number.POSITIVE_INFINITY,
        againEndsBackoff: false,
        failures: 0,
        doublings: 0,
        isPausing: false,
        repeats: 0,
      };
      this.entries.set(key, entry);
    }
    return entry;
  }

  /** Makes keys ready when their time has come. */
  private wake(): void {
    const now = this.options.now();
    for (let first = this.delayed.first; first && first.at <= now; first = this.delayed.first) {
      this.delayed.delete(first.key);
      const entry = this.entry(first.key);
      const { isPausing } = entry;
      if (entry.paced) this.admit(first.key, entry, entry.priority);
      else this.makeReady(first.key, entry, entry.priority);
      entry.isPausing = isPausing;
    }
  }

  private admit(key: string, entry: Entry, priority: Priority): void {
    const waitMs = priority === "change" ? this.pace.take(key) : 0;
    if (waitMs === 0) return this.makeReady(key, entry, priority);
    this.delay(key, entry, this.options.now() + waitMs, priority);
    entry.paced = true;
  }

  private makeReady(key: string, entry: Entry, priority: Priority): void {
    this.delayed.delete(key);
    entry.paced = false;
    entry.isPausing = false;
    entry.dueAt = Number.POSITIVE_INFINITY;
    entry.state = "ready";
    entry.priority = priority;
    entry.readySince = this.options.now();
    this.ready[priority].add(key);
  }

  private raise(key: string, entry: Entry, priority: Priority): void {
    if (higher(entry.priority, priority) === entry.priority) return;
    this.ready[entry.priority].delete(key);
    entry.priority = priority;
    this.ready[priority].add(key);
  }

  private delay(key: string, entry: Entry, at: number, priority: Priority): void {
    entry.state = "delayed";
    entry.priority = priority;
    entry.paced = false;
    entry.isPausing = false;
    entry.dueAt = at;
    this.delayed.set(key, at);
  }

  private pick(): string | undefined {
    const oldest = ++this.turns % TURNS_PER_OLDEST === 0 ? this.oldest() : undefined;
    if (oldest !== undefined && this.options.now() - this.entry(oldest).readySince >= PATIENCE_MS)
      return oldest;
    for (const priority of PRIORITIES) {
      const key = this.firstOf(priority);
      if (key !== undefined) return key;
    }
    return undefined;
  }

  /** The key of a priority that has waited longest. */
  private firstOf(priority: Priority): string | undefined {
    for (const key of this.ready[priority]) if (!this.blocked.has(key)) return key;
    return undefined;
  }

  private oldest(): string | undefined {
    const firsts = PRIORITIES.map((priority) => this.firstOf(priority)).filter((key) => key !== undefined);
    return firsts.sort((a, b) => this.entry(a).readySince - this.entry(b).readySince)[0];
  }
}

/** Whether a key waits because it failed. */
function isBackingOff(entry: Entry): boolean {
  return entry.state === "delayed" && entry.failures > 0;
}

function higher(a: Priority | undefined, b: Priority): Priority {
  return a !== undefined && PRIORITIES.indexOf(a) < PRIORITIES.indexOf(b) ? a : b;
}
