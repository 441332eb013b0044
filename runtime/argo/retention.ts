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

  /** Counts one more record, and says for how many seconds to keep it. */
  next(): number {
    const { longestSeconds, shortestSeconds, few } = this.options;
    const now = this.now();
    this.recent = this.recent * Math.exp((this.at - now) / 1000 / longestSeconds) + 1;
    this.at = now;
    const seconds = Math.round(longestSeconds * Math.min(1, few / this.recent));
    return Math.max(shortestSeconds, seconds);
  }
}
