import { escaped } from "../base/json";
import { formatName } from "../base/objects";
import { clean } from "../base/text";
import { describeChanges, type ReconcileReport } from "../reconcile/report";

export type LogLevel = "info" | "warn" | "error";

/** The fields of a log line in addition to its message. Undefined ones are left out. */
export interface LogFields extends Partial<Omit<ReconcileReport, "changes">> {
  /** "namespace/name" of the custom resource. */
  readonly object?: string | undefined;
  /** The name of the Workflow that records this run: "memcached-demo-x7k2p". */
  readonly run?: string | undefined;
  /** "created Deployment sessions" */
  readonly changes?: readonly string[] | undefined;
  /** The failure's reason. */
  readonly reason?: string | undefined;
}

/** Writes one line. */
export type Log = (level: LogLevel, message: string, fields?: LogFields) => void;

/**
 * Characters that JSON leaves as they are and that a terminal or a viewer may act on: controls, and changes of the
 * reading direction.
 */
const ACTIVE = /[\u007f-\u009f\u2028\u2029\p{Bidi_Control}]/gu;
/** How many changes a line names: a reconcile may have thousands. */
const MOST_CHANGES = 50;

/** One line of JSON, with a newline. It has no character that a terminal would act on. */
export function formatLogLine(
  level: LogLevel,
  message: string,
  fields: LogFields = {},
  now = new Date(),
): string {
  const line = JSON.stringify({ time: now.toISOString(), level, message, ...fields });
  return `${line.replace(ACTIVE, escaped)}\n`;
}

/** A log of such lines. */
export function logTo(write: (line: string) => unknown): Log {
  return (level, message, fields) => void write(formatLogLine(level, message, fields));
}

/**
 * Logs a reconcile. If it changed nothing and its handler wrote nothing, it is only counted in the metrics: every
 * object is reconciled again every few minutes.
 * @param run the name of the Workflow that records it
 */
export function logReport(log: Log, report: ReconcileReport, run?: string): void {
  const { result, skipped, failure } = report;
  const changes = report.changes.map((change) => describeChanges([change], report.namespace));
  if (report.problem !== undefined) return log("info", clean(report.problem), { object: formatName(report) });
  if (result === "skipped" && skipped !== "paused") return;
  if (result === "succeeded" && changes.length === 0 && !report.log.trim()) return;
  const summary = changes.join(", ") || "nothing to change";
  log(failure ? "error" : "info", clean(failure?.message ?? skipped ?? summary), {
    object: formatName(report),
    uid: report.uid,
    generation: report.generation,
    run,
    traceId: report.traceId,
    result,
    durationMs: Math.round(report.durationMs),
    ...(report.handlerMs !== undefined && { handlerMs: Math.round(report.handlerMs) }),
    ...(changes.length > 0 && { changes: changes.slice(0, MOST_CHANGES) }),
    ...(failure && { reason: failure.reason, attempt: report.attempt }),
    ...(report.log.trim() && { log: report.log }),
  });
}
