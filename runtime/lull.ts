import { setTimeout as pause } from "node:timers/promises";

/** What a {@link Lull} goes by. */
export interface LullOptions {
  /** For how long no reconcile has begun or ended, in milliseconds. */
  readonly stillMs: () => number;
  /** Whether many objects wait for their reconcile or are in it. */
  readonly isBusy: () => boolean;
}

/** So long no reconcile begins or ends in a lull. */
const STILL_MS = 100;
/** Nothing waits longer for one. */
const LONGEST_WAIT_MS = 5_000;
const LOOK_MS = 25;
/** While many objects wait, what has waited long enough goes on one by one, so far apart. */
const BUSY_SPACING_MS = 50;

/**
 * Gives what only tells of the work, records of runs and Kubernetes Events, its turn: the API server is wanted for the work
 * itself. Objects that change one after another would else each wait for the record of the one before.
 */
export class Lull {
  private readonly ending = new AbortController();
  /** When the next turn is while many objects wait, on the monotonic clock. */
  private nextAt = 0;

  constructor(private readonly options: LullOptions) {}

  /**
   * Resolves when something may be written: in the next lull, or five seconds after it began to wait. While many objects
   * wait, no more than twenty turns a second are given then.
   * @param since when it began to wait, on the monotonic clock
   */
  async turn(since: number): Promise<void> {
    const until = since + LONGEST_WAIT_MS;
    while (this.options.stillMs() < STILL_MS && performance.now() < until && !this.hasEnded) {
      await this.pause(LOOK_MS);
    }
    if (!this.options.isBusy() || this.hasEnded) return;
    const now = performance.now();
    const at = Math.max(now, this.nextAt);
    this.nextAt = at + BUSY_SPACING_MS;
    await this.pause(at - now);
  }

  /** Nothing waits for its turn any more, from now on. */
  end(): void {
    this.ending.abort();
  }

  private get hasEnded(): boolean {
    return this.ending.signal.aborted;
  }

  private async pause(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: this.ending.signal, ref: false }).catch(() => {});
  }
}
