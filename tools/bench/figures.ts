import type { RunName } from "./peer";

/** What {@link measure} measures of an operator that does its work once. */
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

/** What the benchmark of the engine alone measures of one round. */
export interface RoundFigures extends Figures {
  /** CPU time of the operator's processes for each object of the burst, until all work for it was done. */
  readonly operatorCpuMs: number;
  /** The same, of the API server. What the driver itself asks of it is the same for all operators. */
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
 * Our figures divided by theirs: the median of the quotients of all rounds. Both do their work one right after the other
 * in a round, so that a machine that is slow for a while is slow for both.
 */
export function medianRatios(ours: readonly RoundFigures[], theirs: readonly RoundFigures[]): RoundFigures {
  return medianFigures(
    ours.map((round, at) => {
      const quotients = figureNames.map((name) => [name, round[name] / (theirs[at]?.[name] ?? Number.NaN)]);
      return Object.fromEntries(quotients) as Record<keyof RoundFigures, number>;
    }),
  );
}

/** The order in which operators run: every second round backwards, so that no one always runs first. */
export function alternatingOrder<T>(items: readonly T[], rounds: number): T[][] {
  return Array.from({ length: rounds }, (_, round) => (round % 2 === 0 ? [...items] : [...items].reverse()));
}
