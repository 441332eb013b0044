import { formatName } from "../kubernetes/objects";
import { describeChanges, type ReconcileReport } from "../reconcileReport";

export type LogLevel = "info" | "warn" | "error";

/** What a line of the log says beside its message. What is undefined is left out. */
export interface LogFields {
  readonly operator?: string | undefined;
  /** "namespace/name" of the custom resource. */
  readonly object?: string | undefined;
  readonly generation?: number | undefined;
  readonly result?: string | undefined;
  readonly durationMs?: number | undefined;
  /** "created Deployment sessions" */
  readonly changes?: readonly string[] | undefined;
  /** The failure's, in one word. */
  readonly reason?: string | undefined;
  readonly attempt?: number | undefined;
  /** The end of what the handler wrote to standard error. */
  readonly log?: string | undefined;
}

/** Writes one line. */
export type Log = (level: LogLevel, message: string, fields?: LogFields) => void;

/** One line of JSON, with a newline. */
export function formatLogLine(
  level: LogLevel,
  message: string,
  fields: LogFields = {},
  now = new Date(),
): string {
  return `${JSON.stringify({ time: now.toISOString(), level, message, ...fields })}\n`;
}

/** A log whose lines all have these fields. */
export function logTo(write: (line: string) => unknown, common: LogFields = {}): Log {
  return (level, message, fields) => void write(formatLogLine(level, message, { ...common, ...fields }));
}

/**
 * Logs a reconcile. One that found nothing to do and whose handler had nothing to say is only counted, in the metrics:
 * every object is looked at again every few minutes.
 */
export function logReport(log: Log, report: ReconcileReport): void {
  const { result, skipped, failure } = report;
  const changes = changesOf(report);
  if (result === "skipped" && skipped !== "paused") return;
  if (result === "succeeded" && changes.length === 0 && !report.log.trim()) return;
  const summary = changes.join(", ") || "nothing to change";
  log(failure ? "error" : "info", failure?.message ?? skipped ?? summary, {
    object: formatName(report),
    generation: report.generation,
    result,
    durationMs: Math.round(report.durationMs),
    ...(changes.length > 0 && { changes }),
    ...(failure && { reason: failure.reason, attempt: report.attempt }),
    ...(report.log.trim() && { log: report.log }),
  });
}

function changesOf({ changes, namespace }: ReconcileReport): string[] {
  return changes.map((change) => describeChanges([change], namespace));
}
