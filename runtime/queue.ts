import { Pace, type PaceOptions } from "./pace";

/** Why an object waits, the most urgent first: it changed itself, a child of it did, or it is only time again. */
const PRIORITIES = ["change", "child", "routine"] as const;

/** Why an object waits, which is also how soon its turn comes. */
export type Priority = (typeof PRIORITIES)[number];

/** How a run ended, as the queue's `work` function tells it. */
export type Outcome =
  /** Done. With `againAfterMs`, the object is due again by itself. */
  | { readonly done: true; readonly againAfterMs?: number }
  /** Failed. Tried again after `retryAfterMs`, or the queue's backoff; never by itself when `permanent`. */
  | { readonly done: false; readonly retryAfterMs?: number; readonly permanent?: boolean };

/** How a {@link ReconcileQueue} works. */
export interface ReconcileQueueOptions {
  /** Handles one key. `attempt` counts from 1 since the key's last success. It must not throw. */
  readonly work: (key: string, attempt: number) => Promise<Outcome>;
  /** How many keys are worked on at once. */
  readonly concurrency: number;
  /** Whether so much is being written that the rest of a run that has stepped aside had better wait. @default never */
  readonly isCrowded?: () => boolean;
  /** The backoff after a first failure; it doubles with each further one. @default 500 */
  readonly firstBackoffMs?: number;
  /** @default 300000, five minutes */
  readonly longestBackoffMs?: number;
  /** How fast runs of one key may follow one another because it changes. @default twenty, then ten a second */
  readonly pace?: PaceOptions;
  /** For tests. @default Math.random */
  readonly random?: () => number;
}

/** What is known of one key that waits, runs, or has failed. */
interface Entry {
  state: "idle" | "delayed" | "waiting" | "running";
  priority: Priority;
  /** When it began to wait, on the monotonic clock. */
  waitingSince: number;
  /** Set while running: it must run again afterwards, with this priority. */
  again: Priority | undefined;
  /** When that is due at the earliest, on the monotonic clock. */
  againAt: number;
  failures: number;
  /** Whether it is delayed since it changes too fast: a further change makes no difference. */
  paced: boolean;
  timer: NodeJS.Timeout | undefined;
  /** When {@link timer} fires, on the monotonic clock. */
  dueAt: number;
}

/** A run costs the cluster a hundred times what a change does: what changes a hundred times a second is run ten times. */
const PACE = { burst: 20, refillMs: 100 };

/** Of so many turns one goes to whoever waits longest, so that a storm of changes cannot starve the rest. */
const TURNS_PER_OLDEST = 8;
/** Only to one that has waited so long: what a burst of changes delays by less, it may. */
const PATIENCE_MS = 10_000;
/** So many runs may have stepped aside: what each holds costs memory. */
const MOST_ASIDE = 1_000;

/**
 * Keys that wait for their reconcile: each at most once in the queue and never twice at work, so that an object
 * changed a hundred times while it runs is run once more, with its newest state, and one that goes on changing takes no
 * others' turns. Changes go before routine (resync, retries); failed keys come back with exponential backoff and jitter.
 */
export class ReconcileQueue {
  private readonly entries = new Map<string, Entry>();
  private readonly lanes: Record<Priority, Set<string>> = {
    change: new Set(),
    child: new Set(),
    routine: new Set(),
  };
  private readonly options: Required<ReconcileQueueOptions>;
  private readonly pace: Pace;
  private running = 0;
  /** What lets runs go on that have stepped aside, in the order in which they did. */
  private readonly aside = new Set<() => void>();
  private turns = 0;
  /** When a run began or ended last, on the monotonic clock. */
  private movedAt = Number.NEGATIVE_INFINITY;
  private open = false;
  /** On the monotonic clock. */
  private openSince = 0;
  private onIdle: (() => void)[] = [];

  constructor(options: ReconcileQueueOptions) {
    this.options = {
      firstBackoffMs: 500,
      longestBackoffMs: 300_000,
      pace: PACE,
      isCrowded: () => false,
      random: Math.random,
      ...options,
    };
    this.pace = new Pace(this.options.pace);
  }

  /** Begins to work, also after {@link pause}. */
  start(): void {
    if (!this.open) this.openSince = performance.now();
    this.open = true;
    this.next();
  }

  /** Begins no further run. Resolves when the running ones have ended. What waits goes on waiting. */
  async pause(): Promise<void> {
    this.open = false;
    this.next();
    if (this.active > 0) await new Promise<void>((resolve) => this.onIdle.push(resolve));
  }

  /** Forgets everything that waits, and stops every timer. */
  clear(): void {
    for (const key of [...this.entries.keys()]) this.forget(key);
  }

  /** Whether the key waits, runs or has failed: to add it then costs no memory. */
  has(key: string): boolean {
    return this.entries.has(key);
  }

  /** Keys that wait for their turn now. */
  get depth(): number {
    return PRIORITIES.reduce((sum, priority) => sum + this.lanes[priority].size, 0);
  }

  /** Keys at work now, those that have stepped aside among them. */
  get active(): number {
    return this.running + this.aside.size;
  }

  /** For how long no run has begun or ended, in milliseconds. */
  get stillMs(): number {
    return performance.now() - this.movedAt;
  }

  /** Keys whose last run failed, whether they are tried again or not. */
  get failing(): number {
    let failing = 0;
    for (const { failures } of this.entries.values()) if (failures > 0) failing++;
    return failing;
  }

  /** How long the key that waits longest has been waiting, in seconds, while the queue works; 0 where none waits. */
  get oldestSeconds(): number {
    const oldest = this.oldest();
    if (oldest === undefined || !this.open) return 0;
    return this.waitedMs(oldest) / 1000;
  }

  /**
   * Something may have changed: the key gets its turn.
   * A change ends a backoff, since what failed may have been mended; anything else waits for its end. A key that changes
   * without end gets its turn a few times a second.
   */
  add(key: string, priority: Priority = "change"): void {
    const entry = this.entry(key);
    if (entry.state === "running") {
      this.runAgain(entry, 0, priority);
    } else if (entry.state === "waiting") {
      if (higher(entry.priority, priority) !== entry.priority) {
        this.lanes[entry.priority].delete(key);
        this.enqueue(key, entry, priority);
      }
    } else if (!entry.paced && (priority === "change" || !backingOff(entry))) {
      this.admit(key, entry, priority);
    }
  }

  /** As {@link add}, after a delay in which further calls make no difference. */
  addAfter(key: string, delayMs: number, priority: Priority): void {
    const entry = this.entry(key);
    if (entry.state === "running") this.runAgain(entry, delayMs, priority);
    else if (entry.state === "waiting") this.add(key, priority);
    else if (!entry.paced && !backingOff(entry) && !(entry.dueAt <= performance.now() + delayMs)) {
      this.delay(key, entry, delayMs, priority);
    }
  }

  /**
   * For a run to call before what can wait: while changes wait, one of them takes its place. Resolves when a place is free,
   * no change waits any more and the API server is not crowded; after ten seconds in any case, whoever has the places; at
   * once where nothing is more urgent, or too many are aside.
   */
  async stepAside(): Promise<void> {
    // Who stepped aside before may go on by now, whether this one waits or not.
    if (!this.isUrgent || this.aside.size >= MOST_ASIDE) return this.next();
    const back = new Promise<void>((resolve) => {
      const goOn = () => {
        clearTimeout(timer);
        this.aside.delete(goOn);
        this.running++;
        resolve();
      };
      const timer = setTimeout(goOn, PATIENCE_MS);
      this.aside.add(goOn);
    });
    this.running--;
    this.next();
    await back;
  }

  /** The object is gone: its key no longer waits, and its failures are forgotten. A running run ends as it does. */
  forget(key: string): void {
    const entry = this.entries.get(key);
    if (!entry) return;
    clearTimeout(entry.timer);
    this.lanes[entry.priority].delete(key);
    entry.again = undefined;
    entry.failures = 0;
    if (entry.state !== "running") this.entries.delete(key);
  }

  private entry(key: string): Entry {
    let entry = this.entries.get(key);
    if (!entry) {
      entry = {
        state: "idle",
        priority: "routine",
        waitingSince: 0,
        again: undefined,
        againAt: Number.POSITIVE_INFINITY,
        failures: 0,
        paced: false,
        timer: undefined,
        dueAt: Number.POSITIVE_INFINITY,
      };
      this.entries.set(key, entry);
    }
    return entry;
  }

  /** What is at work must run once more, after this delay at the latest. */
  private runAgain(entry: Entry, delayMs: number, priority: Priority): void {
    entry.again = higher(entry.again, priority);
    entry.againAt = Math.min(entry.againAt, performance.now() + delayMs);
  }

  private admit(key: string, entry: Entry, priority: Priority): void {
    const waitMs = priority === "change" ? Math.ceil(this.pace.take(key)) : 0;
    if (waitMs === 0) return this.enqueue(key, entry, priority);
    this.delay(key, entry, waitMs, priority, () => this.admit(key, entry, priority));
    entry.paced = true;
  }

  private enqueue(key: string, entry: Entry, priority: Priority): void {
    clearTimeout(entry.timer);
    entry.paced = false;
    entry.dueAt = Number.POSITIVE_INFINITY;
    if (entry.state !== "waiting") entry.waitingSince = performance.now();
    entry.state = "waiting";
    entry.priority = priority;
    this.lanes[priority].add(key);
    this.next();
  }

  private delay(
    key: string,
    entry: Entry,
    delayMs: number,
    priority: Priority,
    then = () => this.enqueue(key, entry, priority),
  ): void {
    clearTimeout(entry.timer);
    entry.state = "delayed";
    entry.paced = false;
    entry.dueAt = performance.now() + delayMs;
    entry.timer = setTimeout(then, delayMs);
  }

  private next(): void {
    while (this.running < this.options.concurrency) {
      const goOn = this.isUrgent ? undefined : this.aside.values().next().value;
      if (goOn) {
        goOn();
        continue;
      }
      const key = this.open ? this.pick() : undefined;
      if (key === undefined) return;
      void this.run(key, this.entry(key));
    }
  }

  /** Whether something is more urgent than the rest of a run that has stepped aside. */
  private get isUrgent(): boolean {
    return this.open && (this.lanes.change.size > 0 || this.options.isCrowded());
  }

  private pick(): string | undefined {
    const oldest = ++this.turns % TURNS_PER_OLDEST === 0 ? this.oldest() : undefined;
    if (oldest !== undefined && this.waitedMs(oldest) >= PATIENCE_MS) return oldest;
    const urgent = PRIORITIES.find((priority) => this.lanes[priority].size > 0);
    return urgent && this.lanes[urgent].values().next().value;
  }

  /** The key that waits longest: each lane is in the order of arrival, so its first is its oldest. */
  private oldest(): string | undefined {
    const firsts = PRIORITIES.map((priority) => this.lanes[priority].values().next().value);
    const age = (key: string) => this.entry(key).waitingSince;
    return firsts.filter((key) => key !== undefined).sort((a, b) => age(a) - age(b))[0];
  }

  /** How long a key has been waiting while the queue works: what a standby collects has waited for nobody. */
  private waitedMs(key: string): number {
    return performance.now() - Math.max(this.entry(key).waitingSince, this.openSince);
  }

  private async run(key: string, entry: Entry): Promise<void> {
    this.lanes[entry.priority].delete(key);
    entry.state = "running";
    entry.again = undefined;
    entry.againAt = Number.POSITIVE_INFINITY;
    this.running++;
    this.movedAt = performance.now();
    const outcome = await this.options.work(key, entry.failures + 1);
    this.movedAt = performance.now();
    this.running--;
    this.settle(key, entry, outcome);
    if (this.active === 0) for (const resolve of this.onIdle.splice(0)) resolve();
    this.next();
  }

  private settle(key: string, entry: Entry, outcome: Outcome): void {
    entry.state = "idle";
    entry.failures = outcome.done ? 0 : entry.failures + 1;
    const delayMs = this.delayAfter(entry, outcome);
    // What failed and is tried again anyway waits for the end of its backoff, unless the object itself changed.
    const backsOff = !outcome.done && delayMs !== undefined;
    if (entry.again && (entry.again === "change" || !backsOff)) {
      const againMs = Math.min(entry.againAt - performance.now(), delayMs ?? Number.POSITIVE_INFINITY);
      if (againMs > 0) this.delay(key, entry, againMs, entry.again);
      else this.admit(key, entry, entry.again);
    } else if (delayMs !== undefined) this.delay(key, entry, delayMs, "routine");
    else if (outcome.done) this.entries.delete(key);
  }

  /** When a key that has just run is due again by itself; undefined: only when it changes. */
  private delayAfter(entry: Entry, outcome: Outcome): number | undefined {
    if (outcome.done) return outcome.againAfterMs;
    if (outcome.permanent) return undefined;
    const { firstBackoffMs, longestBackoffMs, random } = this.options;
    const backoffMs = Math.min(firstBackoffMs * 2 ** (entry.failures - 1), longestBackoffMs);
    // Half of it fixed, half by chance: objects that failed together do not come back together.
    return outcome.retryAfterMs ?? backoffMs * (0.5 + random() / 2);
  }
}

/** Whether the key waits because it failed: only a change of its object shortens that. */
function backingOff(entry: Entry): boolean {
  return entry.state === "delayed" && entry.failures > 0;
}

function higher(a: Priority | undefined, b: Priority): Priority {
  return a !== undefined && PRIORITIES.indexOf(a) < PRIORITIES.indexOf(b) ? a : b;
}
