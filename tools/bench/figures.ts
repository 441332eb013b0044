import type { RunName } from "./peer";

/** The figures that {@link measure} gives for an operator that does its work once. */
export interface Figures {
  /** From before the create call to the Deployment, one object at a time: the median. */
  readonly p50Ms: number;
  /** The same, 99th percentile. */
  readonly p99Ms: number;
  /** The same, 99th percentile, for objects that were created at the same time. */
  readonly burstP99Ms: number;
  /** The number of objects of the burst, divided by the time from its first create call to its last Deployment. */
  readonly perSecond: number;
  /** Resident memory before the first object. */
  readonly idleMiB: number;
  /** Resident memory with all objects of the burst. */
  readonly loadedMiB: number;
}

/** The figures of one round in the benchmark of the engine alone. */
export interface RoundFigures extends Figures {
  /** CPU time of the operator's processes for each object of the burst, until all work for it was done. */
  readonly operatorCpuMs: number;
  /** The same for the API server. The driver's own requests are the same for all operators. */
  readonly serverCpuMs: number;
}

/** The figures of an operator. */
export interface RunFigures {
  readonly name: RunName;
  /** Its rounds in their order, at least one. */
  readonly rounds: readonly RoundFigures[];
}

/** Names of the figures, in the order of the table. */
export const figureNames = [
  "p50Ms",
  "p99Ms",
  "burstP99Ms",
  "perSecond",
  "operatorCpuMs",
  "serverCpuMs",
  "idleMiB",
  "loadedMiB",
] as const;

/**
 * The nearest-rank percentile: the smallest value such that at least `percent` percent of all values are not above it.
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

/**
 * Each figure's median over the rounds.
 * @throws RangeError without rounds
 */
export function medianFigures<Each extends Figures>(rounds: readonly Each[]): Each {
  const [first] = rounds;
  if (!first) throw new RangeError("no rounds");
  const names = Object.keys(first) as (keyof Each)[];
  const medians = names.map((name) => [name, median(rounds.map((round) => Number(round[name])))]);
  return Object.fromEntries(medians) as Each;
}

/**
 * Our figures divided by theirs: the median of the quotients of all rounds. In a round, they run directly after one another, so
 * that a temporarily slow machine is slow for both.
 */
export function medianRatios(ours: readonly RoundFigures[], theirs: readonly RoundFigures[]): RoundFigures {
  return medianFigures(
    ours.map((round, at) => {
      const quotients = figureNames.map((name) => [name, round[name] / (theirs[at]?.[name] ?? Number.NaN)]);
      return Object.fromEntries(quotients) as Record<keyof RoundFigures, number>;
    }),
  );
}

/** The order in which operators run: every second round is reversed, so that no operator always runs first. */
export function alternatingOrder<T>(items: readonly T[], rounds: number): T[][] {
  return Array.from({ length: rounds }, (_, round) => (round % 2 === 0 ? [...items] : [...items].reverse()));
}
