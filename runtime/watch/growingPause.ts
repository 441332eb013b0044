/** The first of the waits, in milliseconds. */
export const FIRST_PAUSE_MS = 200;

/** Waits between tries, each twice as long as the one before, until a success ends the row. */
export class GrowingPause {
  private ms = FIRST_PAUSE_MS;

  /** @param longestMs the longest wait, in milliseconds */
  constructor(private readonly longestMs: number) {}

  /**
   * How long to wait this time, in milliseconds: between half of the wait and one and a half of it, so that many watches do not try
   * again at once.
   */
  next(): number {
    const { ms } = this;
    this.ms = Math.min(ms * 2, this.longestMs);
    return ms * (0.5 + Math.random());
  }

  /** The row of tries has ended. */
  reset(): void {
    this.ms = FIRST_PAUSE_MS;
  }
}
