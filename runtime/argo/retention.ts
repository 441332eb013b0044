/** How long records are kept. */
export interface RetentionOptions {
  /** How long a record is kept while there are few, in seconds. */
  readonly longestSeconds: number;
  readonly shortestSeconds: number;
  /** The most records within the longest time that count as few. */
  readonly few: number;
}

/**
 * Says how long each record is kept: an hour, for example, and less if there are many records. The Workflow controller holds each
 * record in memory until then. A hundred a second for an hour would be more than it can take. Every run is still recorded, but
 * its record goes sooner.
 */
export class Retention {
  /** How many records there were recently. A record counts as one at first, and less and less with time. */
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

  /** Counts one more record, which exists now. A write that failed does not count. */
  count(): void {
    this.recent = this.withOneMore();
    this.at = this.now();
  }

  private withOneMore(): number {
    return this.recent * Math.exp((this.at - this.now()) / 1000 / this.options.longestSeconds) + 1;
  }
}
