import { formatName, type ObjectName } from "../../runtime/base/objects";
import { clean } from "../../runtime/base/text";
import type { Operator, ReconcileReport } from "../../runtime/cli";
import { formatDuration, indent, lastLines, type Style, safe } from "../common/terminal";

/** The most lines of a run's standard error that are shown, from its end. */
const LOG_LINES = 12;

/**
 * One reconcile in a line, with its handler's standard error below it. Undefined if there is nothing to show. Control characters
 * in text from others are removed.
 * @param times how often it has failed in this way, one after another. Its log is shown only the first time.
 * @default 1
 */
export function formatReconcile(
  report: ReconcileReport,
  style: Style,
  now = new Date(),
  times = 1,
): string | undefined {
  const what = describe(report, style);
  if (what === undefined) return undefined;
  const { operator, generation, event } = report;
  const words = [
    style("dim", now.toTimeString().slice(0, 8)),
    operator,
    style("bold", safe(formatName(report))),
    ...(generation === undefined ? [] : [style("dim", `gen ${generation}`)]),
    ...(event === "finalize" ? ["finalize:"] : []),
    what,
    style("dim", formatDuration(report.durationMs)),
    ...(times > 1 ? [style("dim", `the same ${times} times`)] : []),
  ];
  const line = words.join("  ");
  return report.log.trim() && times === 1 ? `${line}\n${formatLog(report.log, style)}` : line;
}

/** The line for an object that its operator handles no more. */
export function formatGone(
  { name, watch }: Operator,
  object: ObjectName,
  style: Style,
  now = new Date(),
): string {
  const why = watch ? "gone: deleted, or no longer selected" : "deleted";
  return [
    style("dim", now.toTimeString().slice(0, 8)),
    name,
    style("bold", safe(formatName(object))),
    why,
  ].join("  ");
}

/** The end of a handler's log, indented. */
export function formatLog(log: string, style: Style, prefix = "          "): string {
  return indent(style("dim", lastLines(safe(log), LOG_LINES)), prefix);
}

function describe(report: ReconcileReport, style: Style): string | undefined {
  const changes = formatChanges(report);
  switch (report.result) {
    case "succeeded":
      return changes ? style("green", changes) : "nothing to change";
    case "failed": {
      const { reason, message } = report.failure ?? { reason: "Failed", message: "no reason given" };
      const attempt = report.attempt > 1 ? ` (attempt ${report.attempt})` : "";
      const failure = style("red", `${reason}${attempt}: ${clean(message).replaceAll("\n", " ")}`);
      return changes ? `${style("green", changes)}, then ${failure}` : failure;
    }
    case "skipped":
      return report.skipped === "paused" ? style("yellow", "paused") : undefined;
  }
}

/** The changes: "created Deployment sessions, patched Service sessions". */
function formatChanges({ changes, namespace }: ReconcileReport): string {
  const names = changes.map(({ verb, kind, ...child }) => {
    return `${verb} ${kind} ${child.namespace === namespace ? child.name : formatName(child)}`;
  });
  return safe(names.join(", "));
}
