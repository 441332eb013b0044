import { setTimeout } from "node:timers/promises";
import { monotonicNow, within } from "../base/clock";
import { spread } from "../base/json";
import type { Pace } from "./pace";

function pauseByTimer(ms: number, signal: AbortSignal): Promise<void> {
  return setTimeout(ms, undefined, { signal, ref: false });
}

/** How many times in a period objects begin to be added. */
const SLICES = 200;
/** A part of the period is left for the work itself. */
const SPREAD_OVER = 0.4;
/** The part of the period for which the round waits for the lists. */
const LISTING = 0.1;

/**
 * Looks at every object once in a period. That finds drift that no watch reported. The objects are spread over the period by
 * their names. So they do not come all at once, and none is missed while others come and go. One is added only when the pace allows it.
 * If the objects cost more than that, the round takes longer, and the next one begins when it has ended.
 *
 * Guarantees, each with a test in tests/unit/resync.test.ts:
 * - Every existing object is added once in each round, after the first half of the period, even if a kind cannot be listed.
 * - A round takes a period, unless the pace holds it up.
 */
export class Resync {
  private stopping = new AbortController();
  /** When the objects that are added now were due. Undefined: none are. */
  private dueAt: number | undefined;

  constructor(
    private readonly options: {
      /** Every key is added once in this time, in milliseconds. */
      readonly periodMs: number;
      /** Lists everything again. It may fail, and it may never end: a kind may be broken for days. */
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

  /** How late the objects are that are added now, in milliseconds, because the pace holds them up. */
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
    await (this.options.pause ?? pauseByTimer)(ms, signal);
    signal.throwIfAborted();
  }
}

/** The keys by when they are due. A key has the same place in each round. */
function slicesOf(keys: readonly string[]): string[][] {
  const slices = Array.from({ length: SLICES }, (): string[] => []);
  for (const key of keys) slices[Math.floor(spread(key) * SLICES)]?.push(key);
  return slices;
}
