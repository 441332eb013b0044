/** How much the newest of many times counts. */
const WEIGHT = 1 / 16;

/**
 * Says whether one more handler process would be of use to those who wait, by how long the others took to answer and to start.
 * All times are measured on the machine as it is: what is slow because the machine is busy makes a start no better.
 *
 * Guarantees, each with a test in tests/unit/startingCosts.test.ts:
 * - No more processes are started than answer what waits in the time that a start takes.
 * - If none of the processes can be counted on, one more is of use.
 */
export class StartingCosts {
  /** Without a start, and with one. */
  private laterMs: number | undefined;
  private firstMs: number | undefined;

  /** A process has answered. @param isFirst whether it had to start for that, so that the time contains its start */
  answered(ms: number, isFirst: boolean): void {
    if (isFirst) this.firstMs = smoothed(this.firstMs, ms);
    else this.laterMs = smoothed(this.laterMs, ms);
  }

  /** How long a process takes to start and to answer, in milliseconds. 0 if none has answered yet. */
  get firstAnswerMs(): number {
    return this.firstMs ?? 0;
  }

  /**
   * Whether the processes would take longer for all that wait than one more takes to start.
   * @param waiting how many wait for a process
   * @param processes how many are counted on
   */
  isWorthOneMore(waiting: number, processes: number): boolean {
    if (processes === 0) return waiting > 0;
    if (this.firstMs === undefined) return false;
    // One that ends after each answer has no second one: it starts for each.
    const answerMs = this.laterMs ?? this.firstMs;
    return (waiting * answerMs) / processes > Math.max(0, this.firstMs - answerMs);
  }
}

/** A mean of logarithms: one answer that took a thousand times as long, while the machine stood still, counts little. */
function smoothed(before: number | undefined, ms: number): number {
  const now = Math.max(1, ms);
  return before === undefined ? now : before * (now / before) ** WEIGHT;
}
