import { monotonicNow, sleep, within } from "../base/clock";
import { spread } from "../base/json";

/** The number of slices into which a period is divided. The objects of a slice are added together. */
const SLICES = 200;
/** The part of the period over which objects are spread. The rest is left for the work itself. */
const SPREAD_OVER = 0.4;
/** The part of the period that a round waits for its lists. */
const LISTING = 0.1;

/**
 * Looks at every object once in a period, to find drift that no watch reported. The objects are spread over the period by their names,
 * so that none is missed while others come and go. Each is added only when the pace allows it. If a round takes longer than the period,
 * the next one begins when it has ended.
 *
 * Guarantees, each with a test in tests/unit/resync.test.ts:
 * - Every existing object is added once in each round, after the first half of the period, even if a kind cannot be listed.
 * - A round takes a period, unless the pace holds it up.
 */
export class Resync {
  private stopping = new AbortController();
  /** When the objects that are being added were due. Undefined: none are. */
  private dueAt: number | undefined;

  constructor(
    private readonly options: {
      /** Each key is added once in this time, in milliseconds. */
      readonly periodMs: number;
      /** Lists everything again. It may fail, or never end if a kind is broken. */
      readonly relist: () => Promise<void>;
      readonly keys: () => readonly string[];
      readonly add: (key: string) => void;
      readonly pace: Pace;
      /** A monotonic clock, in milliseconds. @default performance.now */
      readonly now?: () => number;
      /** Waits this many milliseconds. Rejects when the signal ends it. @default a timer that keeps no process alive */
      readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
    },
  ) {}

  start(): void {
    this.stop();
    this.stopping = new AbortController();
    void this.run(this.stopping.signal).catch(() => {
      // Only the signal ends it.
    });
  }

  stop(): void {
    this.stopping.abort();
    this.dueAt = undefined;
  }

  /** How late the objects are that are being added, in milliseconds. The pace makes them late. */
  get lateMs(): number {
    return this.dueAt === undefined ? 0 : Math.max(0, this.now() - this.dueAt);
  }

  private now(): number {
    return (this.options.now ?? monotonicNow)();
  }

  private async run(signal: AbortSignal): Promise<void> {
    const { periodMs, relist, keys } = this.options;
    // The first round begins after half a period, each later one a period after the one before.
    for (let at = this.now() + periodMs / 2; ; at = Math.max(at + periodMs, this.now())) {
      await this.until(at, signal);
      await within(periodMs * LISTING, relist()).catch(() => {});
      signal.throwIfAborted();
      await this.addAll(slicesOf(keys()), (periodMs * SPREAD_OVER) / SLICES, signal);
    }
  }

  private async addAll(
    slices: readonly (readonly string[])[],
    sliceMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { add, pace } = this.options;
    const begunAt = this.now();
    for (const [index, slice] of slices.entries()) {
      const dueAt = begunAt + index * sliceMs;
      if (slice.length > 0) await this.until(dueAt, signal);
      for (const key of slice) {
        for (let { waitMs } = pace; waitMs > 0; { waitMs } = pace) {
          this.dueAt = dueAt + sliceMs;
          await this.pause(waitMs, signal);
        }
        pace.begin();
        add(key);
      }
      this.dueAt = undefined;
    }
  }

  private async until(at: number, signal: AbortSignal): Promise<void> {
    await this.pause(Math.max(0, at - this.now()), signal);
  }

  private async pause(ms: number, signal: AbortSignal): Promise<void> {
    await (this.options.pause ?? sleep)(ms, signal);
    signal.throwIfAborted();
  }
}

/** The keys by when they are due. A key has the same place in each round. */
function slicesOf(keys: readonly string[]): string[][] {
  const slices = Array.from({ length: SLICES }, (): string[] => []);
  for (const key of keys) slices[Math.floor(spread(key) * SLICES)]?.push(key);
  return slices;
}

/** The part of its time that a process may give to routine work when it has nothing else to do. */
const SHARE = 0.5;
/** If the process always has other work, routine work still begins this often, in milliseconds. */
const LONGEST_WAIT_MS = 1_000;
/** How often to check again whether other work still waits, in milliseconds. */
const ASK_AGAIN_MS = 10;

/**
 * Says when the next piece of routine work may begin. Nothing else must wait, and the process must have rested as long as it has
 * worked since the previous piece began. So routine work is limited by its own cost.
 *
 * Guarantees (tests/unit/resync.test.ts):
 * - Routine work takes at most half of the time, if a piece takes less than half a second.
 * - A piece begins at least once a second, however busy the process is.
 */
export class Pace {
  private begun = { active: 0, idle: 0, at: Number.NEGATIVE_INFINITY };

  /**
   * @param waiting how many objects wait for their turn
   * @param load how long the process has worked and rested so far, in milliseconds. @default that of the event loop
   * @param now a monotonic clock, in milliseconds
   */
  constructor(
    private readonly waiting: () => number,
    private readonly load: () => { readonly active: number; readonly idle: number } = () =>
      performance.eventLoopUtilization(),
    private readonly now = monotonicNow,
  ) {}

  /** A piece begins. */
  begin(): void {
    const { active, idle } = this.load();
    this.begun = { active, idle, at: this.now() };
  }

  /** When to ask again whether the next piece may begin, in whole milliseconds from now. 0: it may begin. */
  get waitMs(): number {
    const { active, idle } = this.load();
    const leftMs = LONGEST_WAIT_MS - (this.now() - this.begun.at);
    if (leftMs <= 0) return 0;
    const restMs = ((active - this.begun.active) * (1 - SHARE)) / SHARE - (idle - this.begun.idle);
    // A timer of less than a millisecond may be due before any time has passed.
    return Math.ceil(Math.min(leftMs, Math.max(restMs, this.waiting() > 0 ? ASK_AGAIN_MS : 0)));
  }
}
