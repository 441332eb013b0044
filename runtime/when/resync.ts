import { setTimeout } from "node:timers/promises";
import { within } from "../base/clock";
import { spread } from "../base/json";

function pauseByTimer(ms: number, signal: AbortSignal): Promise<void> {
  return setTimeout(ms, undefined, { signal, ref: false });
}

/**
 * Looks at every object once in a period. That finds drift that no watch reported. The objects are spread over the period by
 * their names. So they do not come all at once, and none is missed while others come and go.
 *
 * Guarantee (tests/unit/resync.test.ts): every existing object is added once in each period, after the first half, even if a kind
 * cannot be listed.
 */
export class Resync {
  private stopping = new AbortController();

  constructor(
    private readonly options: {
      /** Every key is added once in this time, in milliseconds. */
      readonly periodMs: number;
      /** Lists everything again. It may fail, and it may never end: a kind may be broken for days. */
      readonly relist: () => Promise<void>;
      readonly keys: () => readonly string[];
      readonly add: (key: string, afterMs: number) => void;
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
  }

  private async run(signal: AbortSignal): Promise<void> {
    const { periodMs, relist, keys, add, pause = pauseByTimer } = this.options;
    for (;;) {
      // The first round begins after half a period, each later one a period after the one before.
      await pause(periodMs / 2, signal);
      await within(periodMs * LISTING, relist()).catch(() => {});
      signal.throwIfAborted();
      for (const key of keys()) add(key, spread(key) * periodMs * SPREAD_OVER);
      await pause(periodMs / 2, signal);
    }
  }
}

/** A part of the period is left for the work itself. */
const SPREAD_OVER = 0.4;
/** The part of the period for which the round waits for the lists. */
const LISTING = 0.1;
