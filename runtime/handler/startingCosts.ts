/** How many answers are remembered. */
const RECENT = 16;
/** If a process is silent for four times as long as others took to start and to answer, the process may be silent for ever. */
const TIMES_AS_LONG = 4;

/**
 * Says whether one more handler process would help the waiting requests, by how long recent answers and starts took. The fastest
 * of the recent answers counts. The others took longer mostly because they waited for a processor, and one more process would
 * wait for that processor too. A handler that waits for something outside itself is slow in its fastest answer as well.
 *
 * Guarantees, each with a test in tests/unit/startingCosts.test.ts:
 * - No more processes are started than can answer the waiting requests in the time that a start takes.
 * - A machine that is busy, or stands still for a while, is not a reason to start another process.
 * - If none of the processes can be counted on, one more helps.
 */
export class StartingCosts {
  /** How long recent answers took, in milliseconds: without a start, and with one. */
  private readonly later: number[] = [];
  private readonly first: number[] = [];

  /** A process has answered. @param isFirst whether it had to start for that, so that the time contains its start */
  answered(ms: number, isFirst: boolean): void {
    const times = isFirst ? this.first : this.later;
    // A clock of whole milliseconds would give the fastest answer a time of 0.
    times.push(Math.max(1, ms));
    if (times.length > RECENT) times.shift();
  }

  /**
   * For how long a process may be silent, in milliseconds, and still be counted on. On a busy machine this time is longer, since
   * starts take longer there. 0 if no process has answered yet.
   */
  get patienceMs(): number {
    return TIMES_AS_LONG * (this.typicalFirstMs ?? 0);
  }

  /**
   * Whether the processes would take longer for all waiting requests than one more process takes to start.
   * @param waiting how many requests wait for a process
   * @param processes how many processes are counted on
   */
  isWorthOneMore(waiting: number, processes: number): boolean {
    if (processes === 0) return waiting > 0;
    const firstMs = this.typicalFirstMs;
    if (firstMs === undefined) return false;
    // A process that ends after each answer has no second answer, because it starts for each.
    const answerMs = this.later.length === 0 ? firstMs : Math.min(...this.later);
    return (waiting * answerMs) / processes > Math.max(0, firstMs - answerMs);
  }

  private get typicalFirstMs(): number | undefined {
    return [...this.first].sort((one, other) => one - other)[this.first.length >> 1];
  }
}
