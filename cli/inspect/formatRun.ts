import { formatName } from "../../runtime/base/objects";
import { isFailure } from "../../runtime/cli";
import { formatDuration, type Style, safe } from "../common/terminal";
import type { Run } from "./runs";

/** A run in a line: a mark, its name, its object, its time and its result. */
export function formatRun(run: Run, now: Date, style: Style): string {
  const { name, object, phase, startedAt, message = "", traceId } = run;
  const [line = ""] = message.split("\n");
  const about = object ? formatName(object) : "";
  const traced = traceId === undefined ? "" : `  ${style("dim", `trace ${traceId}`)}`;
  return `${markOf(phase, style)} ${safe(name)}  ${safe(about)}  ${style("dim", ago(startedAt, now))}  ${safe(line || phase)}${traced}`;
}

/** "3 min 5 s ago" */
export function ago(time: string | undefined, now: Date): string {
  const passed = now.getTime() - Date.parse(time ?? "");
  return Number.isNaN(passed) ? "at an unknown time" : `${formatDuration(Math.max(0, passed))} ago`;
}

function markOf(phase: string, style: Style): string {
  if (phase === "Succeeded") return style("green", "✔");
  return isFailure(phase) ? style("red", "✘") : style("yellow", "…");
}
