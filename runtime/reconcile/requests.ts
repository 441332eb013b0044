import type { ReconcileReport } from "./report";

/** Somebody who waits for a report. */
interface Request {
  resolve(report: ReconcileReport): void;
  reject(error: Error): void;
}

/**
 * Those who asked for a reconcile and wait to be told how it ended. A run that had begun before they asked does not
 * count: it may have seen an older object.
 */
export class ReconcileRequests {
  private readonly waiting = new Map<string, Request[]>();

  /** Resolves with the report of the next run of this key that begins. */
  ask(key: string): Promise<ReconcileReport> {
    return new Promise((resolve, reject) => this.add(key, [{ resolve, reject }]));
  }

  /** Whether anybody waits for a run of this key to begin. */
  has(key: string): boolean {
    return this.waiting.has(key);
  }

  /** A run begins: those who wait for one. */
  take(key: string): readonly Request[] {
    const requests = this.waiting.get(key) ?? [];
    this.waiting.delete(key);
    return requests;
  }

  /** The run for which these waited has ended. Where it came to nothing, they wait for the next one. */
  answer(key: string, requests: readonly Request[], report: ReconcileReport): void {
    const cameToNothing = report.skipped === "changed meanwhile" || report.skipped === "not the leader";
    if (cameToNothing && requests.length > 0) this.add(key, requests);
    else for (const { resolve } of requests) resolve(report);
  }

  /** Nothing is run any more: everybody is told so. */
  refuse(error: Error): void {
    for (const requests of this.waiting.values()) for (const { reject } of requests) reject(error);
    this.waiting.clear();
  }

  private add(key: string, requests: readonly Request[]): void {
    this.waiting.set(key, [...(this.waiting.get(key) ?? []), ...requests]);
  }
}
