import type { RunName } from "./peer";

/** What one run of an operator measured. */
export interface Figures {
  /** From before the create call to the Deployment, one object at a time: the median. */
  readonly p50Ms: number;
  /** The same, 99th percentile. */
  readonly p99Ms: number;
  /** The same, 99th percentile, of objects created all at once. */
  readonly burstP99Ms: number;
  /** Objects of the burst by the time from its first create call to its last Deployment. */
  readonly perSecond: number;
  /** Resident memory before the first object. */
  readonly idleMiB: number;
  /** Resident memory with all objects of the burst. */
  readonly loadedMiB: number;
}

/** The figures of an operator over all rounds. */
export interface RunFigures extends Figures {
  readonly name: RunName;
}

/** Names of the figures, in the order of the table. */
export const figureNames = ["p50Ms", "p99Ms", "burstP99Ms", "perSecond", "idleMiB", "loadedMiB"] as const;

/**
 * The nearest-rank percentile: the smallest value that at least `percent` percent of all are not above.
 * @throws RangeError without values
 */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  const value = sorted[Math.max(Math.ceil((percent / 100) * sorted.length), 1) - 1];
  if (value === undefined) throw new RangeError("no values");
  return value;
}

/** The middle value, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.ceil(sorted.length / 2) - 1];
  if (upper === undefined || lower === undefined) throw new RangeError("no values");
  return (lower + upper) / 2;
}

/** Each figure's median over the rounds. */
export function medianFigures(rounds: readonly Figures[]): Figures {
  return mapFigures((name) => median(rounds.map((round) => round[name])));
}

/** Each figure of `ours` divided by that of `theirs`. */
export function ratios(ours: Figures, theirs: Figures): Figures {
  return mapFigures((name) => ours[name] / theirs[name]);
}

/** The order in which operators run: every second round backwards, so that no one always runs first. */
export function alternatingOrder<T>(items: readonly T[], rounds: number): T[][] {
  return Array.from({ length: rounds }, (_, round) => (round % 2 === 0 ? [...items] : [...items].reverse()));
}

function mapFigures(figure: (name: keyof Figures) => number): Figures {
  const entries = figureNames.map((name) => [name, figure(name)] as const);
  return Object.fromEntries(entries) as Record<keyof Figures, number>;
}
