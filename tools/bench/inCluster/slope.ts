/** A value at a time. */
export interface Sample {
  /** In milliseconds, from any origin. */
  readonly time: number;
  readonly value: number;
}

const HOUR_MS = 3_600_000;

/** By how much the value grows in an hour: the slope of the straight line with the least squares; 0 of fewer than two times. */
export function slopePerHour(samples: readonly Sample[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, each) => sum + each, 0) / values.length;
  const meanTime = mean(samples.map(({ time }) => time));
  const meanValue = mean(samples.map(({ value }) => value));
  const sum = (of: (sample: Sample) => number) => samples.reduce((total, sample) => total + of(sample), 0);
  const spread = sum(({ time }) => (time - meanTime) ** 2);
  if (!(spread > 0)) return 0;
  return (sum(({ time, value }) => (time - meanTime) * (value - meanValue)) / spread) * HOUR_MS;
}

/** The first tenth of some values, and the last; at least one each. */
export function endTenths<T>(values: readonly T[]): { first: readonly T[]; last: readonly T[] } {
  const length = Math.max(Math.floor(values.length / 10), 1);
  return { first: values.slice(0, length), last: values.slice(-length) };
}
