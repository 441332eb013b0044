/** How long records are kept. */
export interface RetentionOptions {
  /** Kept for so long while there are few. */
  readonly longestSeconds: number;
  readonly shortestSeconds: number;
  /** So many within the longest time are few. */
  readonly few: number;
}

/**
 * For how long each record is kept: for an hour, say, and the shorter the more there are. The Workflow controller holds
 * each in memory until then, and a hundred a second for an hour would be more than it can take. Nothing is left
 * unrecorded for that, it only goes sooner.
 */
export class Retention {
  /** Recent records: each counts as one at first, and less and less with time. */
  private recent = 0;
  private at = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly options: RetentionOptions,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** For how many seconds to keep the next record. */
  seconds(): number {
    const { longestSeconds, shortestSeconds, few } = this.options;
    const seconds = Math.round(longestSeconds * Math.min(1, few / this.withOneMore()));
    return Math.max(shortestSeconds, seconds);
  }

  /** Counts one more record: it is there now. A try that failed is none. */
  count(): void {
    this.recent = this.withOneMore();
    this.at = this.now();
  }

  private withOneMore(): number {
    return this.recent * Math.exp((this.at - this.now()) / 1000 / this.options.longestSeconds) + 1;
  }
}
