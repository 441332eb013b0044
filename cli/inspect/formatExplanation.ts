import { formatReference } from "../common/objectReference";
import { indent, lastLines, type Style, safe } from "../common/terminal";
import type { Explanation } from "./explanation";
import { ago, formatRun } from "./formatRun";

/** The most lines of the handler's log that are shown. The run has all of them. */
const MOST_WORDS = 12;

/** An explanation for people: first the summary, then the facts, and last what to do. */
export function formatExplanation(explanation: Explanation, now: Date, style: Style): string {
  const { object, fine, summary, since, reason, message, attempt, nextTry, place, lastWords } = explanation;
  const { operator, installation, leader, rollout, conditions, holds, events, runs, advice } = explanation;
  const lines = [
    `${style("bold", formatReference(object))}: ${style(fine ? "green" : "red", safe(summary))}`,
  ];
  const row = (name: string, value: string | undefined) => {
    if (value) lines.push(`  ${style("dim", `${name} `.padEnd(10))}${safe(value)}`);
  };
  row("since", since && `${since}, ${ago(since, now)}`);
  row("reason", reason);
  row("message", message);
  row("place", place && `${place.file}, line ${place.line}`);
  row("attempt", attempt === undefined || nextTry === undefined ? undefined : `${attempt}, ${nextTry}`);
  if (attempt === undefined) row("next try", nextTry);
  row("operator", operator && `${installation}.${operator}${leader ? `, led by ${leader}` : ""}`);
  row("roll-out", rollout);
  for (const { type, status, reason: why, message: words } of conditions)
    row(type, `${status}: ${why}, ${words}`);
  for (const { finalizer, by } of holds) row("held by", `${finalizer}, set by ${by}`);
  if (lastWords) lines.push("last words:", indent(safe(lastLines(lastWords, MOST_WORDS)), "  "));
  if (runs.length > 0) lines.push("runs:", ...runs.map((run) => `  ${formatRun(run, now, style)}`));
  const timed = runs.find(({ timings }) => timings !== undefined);
  if (timed?.timings) lines.push(`steps of ${safe(timed.name)}:`, indent(safe(timed.timings), "  "));
  if (events.length > 0) {
    lines.push("warnings:");
    for (const { reason: why, note, count, lastAt } of events) {
      const what = note === undefined ? why : `${why}: ${note}`;
      lines.push(`  ${ago(lastAt, now)}${count > 1 ? `, ${count} times` : ""}: ${safe(what)}`);
    }
  }
  if (advice.length > 0) lines.push("what to do:", ...advice.map((each) => `  ${safe(each)}`));
  return lines.join("\n");
}
