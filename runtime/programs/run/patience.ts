import { setTimeout as pause } from "node:timers/promises";
import { ApiUnreachableError, isBusy } from "../../kubernetes/errors";

const PATIENCE_MS = 30_000;
/** How long to wait before an API server that was busy or out of reach is asked again, in milliseconds. */
export const ASK_AGAIN_MS = 1_000;
/**
 * How long to wait for the server of a single kind, in milliseconds. Objects without such children wait for it too, and it may be
 * away for days, so this is short.
 */
export const KIND_PATIENCE_MS = 5_000;

/** How long a run waits for something that is about to happen. */
export class Patience {
  /** When the patience is over, on the monotonic clock, in milliseconds. */
  readonly until: number;

  /** @param signal ends every wait */
  constructor(
    ms = PATIENCE_MS,
    private readonly signal?: AbortSignal | undefined,
  ) {
    this.until = performance.now() + ms;
  }

  /** A part of this patience. */
  atMost(ms: number): Patience {
    return new Patience(Math.min(ms, this.until - performance.now()), this.signal);
  }

  /** Waits. False if the wait would be longer than the patience, or if the signal aborts. */
  async wait(ms: number): Promise<boolean> {
    const { signal } = this;
    if (performance.now() + ms > this.until || signal?.aborted) return false;
    await pause(Math.max(0, ms), undefined, { signal }).catch(() => {});
    return !signal?.aborted;
  }

  /** Repeats the action while the API server is away or busy. A short absence is no failure. */
  async retried<Result>(action: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await action();
      } catch (error) {
        const isAway = error instanceof ApiUnreachableError || isBusy(error);
        if (!isAway || !(await this.wait(ASK_AGAIN_MS))) throw error;
      }
    }
  }
}
