/** The writes of one object. */
interface WritesInProgress {
  /** How many there are: a child of a deleted object may be deleted while another object applies one of its name. */
  count: number;
  readonly reports: (() => void)[];
}

/**
 * The reports of a watch about objects that we are writing. A report may be the echo of our own write, so it waits until all our
 * writes of its object have been answered.
 */
export class HeldReports {
  private readonly writing = new Map<string, WritesInProgress>();

  /** Writes the object with that key. Reports about it wait meanwhile. */
  async during<Result>(key: string, write: () => Promise<Result>): Promise<Result> {
    const writing = this.writing.get(key) ?? { count: 0, reports: [] };
    this.writing.set(key, writing);
    writing.count++;
    try {
      return await write();
    } finally {
      if (--writing.count === 0) {
        this.writing.delete(key);
        for (const report of writing.reports) report();
      }
    }
  }

  /** Takes in a report about the object with that key, now or when our writes of the object have been answered. */
  take(key: string, report: () => void): void {
    const writing = this.writing.get(key);
    if (writing) writing.reports.push(report);
    else report();
  }
}
