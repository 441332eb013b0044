import type { DueSchedule } from "../handler/contract";
import type { ReconcileReport } from "./report";

/** A caller that waits for a report. */
interface Request {
  /** A schedule that the caller starts. */
  readonly due: DueSchedule | undefined;
  resolve(report: ReconcileReport): void;
  reject(error: Error): void;
}

/**
 * The callers that asked for a reconcile and wait for its report. A reconcile that began before they asked does not count, because it
 * may have seen an older object.
 */
export class ReconcileRequests {
  private readonly waiting = new Map<string, Request[]>();
  /** Why no reconcile begins. Undefined: reconciles begin. */
  private refusal: Error | undefined;

  /** Runs begin again. */
  open(): void {
    this.refusal = undefined;
  }

  /**
   * Resolves with the report of the next reconcile of this key that begins.
   * @param due a schedule that the reconcile is to start
   * @throws the error of {@link refuse} if no reconcile begins
   */
  ask(key: string, due?: DueSchedule): Promise<ReconcileReport> {
    return new Promise((resolve, reject) => this.add(key, [{ due, resolve, reject }]));
  }

  /** Whether anybody waits for a reconcile of this key to begin. */
  has(key: string): boolean {
    return this.waiting.has(key);
  }

  /** A reconcile begins. @returns the callers that wait for one */
  take(key: string): readonly Request[] {
    const requests = this.waiting.get(key) ?? [];
    this.waiting.delete(key);
    return requests;
  }

  /**
   * The reconcile for which these callers waited has ended. If it came to nothing, they wait for the next one, with their schedules.
   */
  answer(key: string, requests: readonly Request[], report: ReconcileReport): void {
    const cameToNothing = report.skipped !== undefined && !["gone", "paused"].includes(report.skipped);
    if (cameToNothing && requests.length > 0) this.add(key, requests);
    else for (const { resolve } of requests) resolve(report);
  }

  /**
   * No reconcile begins until {@link open}. Rejects every caller that waits, and those whose reconcile in progress comes to nothing.
   */
  refuse(error: Error): void {
    this.refusal = error;
    for (const requests of this.waiting.values()) for (const { reject } of requests) reject(error);
    this.waiting.clear();
  }

  private add(key: string, requests: readonly Request[]): void {
    const { refusal } = this;
    if (refusal) for (const { reject } of requests) reject(refusal);
    else this.waiting.set(key, [...(this.waiting.get(key) ?? []), ...requests]);
  }
}
