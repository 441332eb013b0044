import type { Loss, Outcome } from "./perform";

/** Time to converge after one kind of fault, in seconds. */
export interface KindFigures {
  readonly kind: string;
  /** The number of rounds with this fault. */
  readonly rounds: number;
  readonly p50: number;
  readonly max: number;
}

/** The kind for rounds without a fault. */
const NO_FAULT = "no fault";
const MOST_LOSSES = 10;

/** The figures of each kind of fault, in alphabetical order. A round with two faults counts for both. */
function figuresByKind({ convergence }: Pick<Outcome, "convergence">): KindFigures[] {
  const times = new Map<string, number[]>();
  for (const { kinds, seconds } of convergence) {
    for (const kind of kinds.length > 0 ? kinds : [NO_FAULT]) {
      times.set(kind, [...(times.get(kind) ?? []), seconds]);
    }
  }
  return [...times]
    .map(([kind, seconds]) => {
      const sorted = seconds.sort((a, b) => a - b);
      const p50 = sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
      return { kind, rounds: sorted.length, p50, max: sorted.at(-1) ?? 0 };
    })
    .sort((a, b) => a.kind.localeCompare(b.kind));
}

/** A run for programs: one line of JSON. */
export function formatJson(outcomes: Readonly<Record<string, Outcome>>, command: string): string {
  const runs = Object.entries(outcomes).map(([execution, outcome]) => {
    const { convergence, lost, brokenOff, ...figures } = outcome;
    return {
      execution,
      ...figures,
      finishedRounds: convergence.length,
      ...(brokenOff && { brokenOff: reasonOf(brokenOff) }),
      lost: lost.length,
      losses: lost,
      convergence: figuresByKind(outcome),
    };
  });
  return JSON.stringify({ runs, command });
}

/**
 * A run for people.
 * @param command the command that repeats the run
 */
export function formatText(execution: string, outcome: Outcome, command: string): string {
  const { changes, lost, effects, leftOut, seconds, seed, brokenOff } = outcome;
  const rows = figuresByKind(outcome);
  const width = Math.max(0, ...rows.map(({ kind }) => kind.length));
  const lines = [
    `${execution}: ${changes} changes, ${lost.length} objects lost, in ${Math.round(seconds)} s (seed ${seed})`,
    ...(brokenOff
      ? [`aborted after ${outcome.convergence.length} of ${outcome.rounds} rounds: ${reasonOf(brokenOff)}`]
      : []),
    `effects outside for ${effects.keys} generations; repeated for the same generation: ${effects.repeated}`,
    "",
    `${"seconds to converge after".padEnd(width)}  rounds     p50     max`,
    ...rows.map(({ kind, rounds, p50, max }) =>
      [
        kind.padEnd(width),
        String(rounds).padStart(8),
        p50.toFixed(1).padStart(8),
        max.toFixed(1).padStart(8),
      ].join(""),
    ),
    ...leftOut.map(({ kind, why }) => `left out: ${kind}: ${why}`),
  ];
  if (lost.length > 0)
    lines.push("", ...lost.slice(0, MOST_LOSSES).flatMap(formatLoss), `repeat it: ${command}`);
  return lines.join("\n");
}

/** The reason of an abort. After Ctrl-C the message is empty (cli/common/interruption.ts). */
function reasonOf({ message }: Error): string {
  return message || "interrupted";
}

/** A lost object: its differences, and its history. */
export function formatLoss({ object, what, history }: Loss): string[] {
  return [
    `lost: ${object}`,
    ...what.map((line) => `  ${line}`),
    ...history.map(({ at, what: line }) => `  ${at.toFixed(1).padStart(8)} s  ${line}`),
  ];
}
