import { formatName } from "../../runtime/base/objects";
import type { ReconcileReport } from "../../runtime/cli";

interface Failing {
  /** The text of the failure. */
  readonly text: string;
  count: number;
}

/**
 * Distinguishes a repeated failure from a new one, so that an object that fails again and again does not fill the screen. The
 * same failure is shown the first time, and then each time its count has doubled.
 */
export class RepeatedFailures {
  private readonly failing = new Map<string, Failing>();

  /** @returns how often the object has failed in this way, this time included. Undefined: it is not shown again */
  count(report: ReconcileReport): number | undefined {
    const key = `${report.operator} ${formatName(report)}`;
    if (report.result === "skipped") return 1;
    if (report.result === "succeeded") {
      this.failing.delete(key);
      return 1;
    }
    const text = `${report.generation} ${report.event} ${report.failure?.reason} ${report.failure?.message}`;
    const known = this.failing.get(key);
    if (known?.text !== text || report.changes.length > 0) {
      this.failing.set(key, { text, count: 1 });
      return 1;
    }
    known.count++;
    return Number.isInteger(Math.log2(known.count)) ? known.count : undefined;
  }
}
