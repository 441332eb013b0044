import { formatDuration, indent, numbered, type Style } from "../common/terminal";
import type { StepResult } from "./scene";

/** One step of the scene in one line: a mark, its time, its statement and the observation. There is more if it did not hold. */
export function formatStep({ title, held, seen, expected, durationMs }: StepResult, style: Style): string {
  const mark = held ? style("green", "✔") : style("red", "✘");
  const time = style("dim", `${Math.round(durationMs)} ms`.padStart(8));
  if (held) return `${mark} ${time}  ${title}: ${style("dim", seen)}`;
  return `${mark} ${time}  ${title}\n${indent(`expected: ${expected}\nseen:     ${seen}`, " ".repeat(12))}`;
}

/** The end of the scene in one line: "13 steps held, in 6.1 s". */
export function formatSummary(
  results: readonly StepResult[],
  stepCount: number,
  durationMs: number,
  style: Style,
): string {
  const held = results.filter((result) => result.held).length;
  const failed = results.length - held;
  const notPlayed = stepCount - results.length;
  const time = `in ${formatDuration(durationMs)}`;
  if (held === stepCount) return `${style("green", `${numbered(held, "step", "steps")} held`)}, ${time}`;
  const rest = notPlayed > 0 ? `, ${notPlayed} not played` : "";
  return `${style("red", `${failed} failed`)}, ${held} held${rest}, ${time}`;
}

/** 0 if every step was played and held. */
export function exitCodeOf(results: readonly StepResult[], stepCount: number): number {
  return results.length === stepCount && results.every((result) => result.held) ? 0 : 1;
}
