import { monotonicNow } from "./clock";

/** How often the log of a process repeats an equal notice, in milliseconds. */
export const ONCE_A_MINUTE_MS = 60_000;

/**
 * Reports a lasting condition, such as a watch of a kind that is gone, once a minute and not at each try.
 * @param report called with each notice, except one that equals the notice before it
 */
export function withoutRepeats(report: (notice: string) => void): (notice: string) => void {
  let last: string | undefined;
  let reportedAt = Number.NEGATIVE_INFINITY;
  return (notice) => {
    if (notice === last && performance.now() - reportedAt < ONCE_A_MINUTE_MS) return;
    last = notice;
    reportedAt = performance.now();
    report(notice);
  };
}

/**
 * Reports one of many notices that differ only in the names of objects, such as the refusals by a policy that denies all of them.
 * @param report called with a notice, at most once a minute
 * @param now a monotonic clock, in milliseconds
 */
export function onceAMinute(
  report: (notice: string) => void,
  now: () => number = monotonicNow,
): (notice: string) => void {
  let reportedAt = Number.NEGATIVE_INFINITY;
  return (notice) => {
    if (now() - reportedAt < ONCE_A_MINUTE_MS) return;
    reportedAt = now();
    report(notice);
  };
}

/** The most kinds that a notice distinguishes. All further ones are counted together. */
const MOST_KINDS = 20;

/**
 * Reports frequent occurrences: the first at once, then once a minute how many of each kind there were since.
 * @param report called with the numbers by kind
 * @param later calls back after a minute, and keeps no process alive for that. @default a timer
 */
export function countedEachMinute(
  report: (counts: ReadonlyMap<string, number>) => void,
  later: (flush: () => void) => void = (flush) => void setTimeout(flush, ONCE_A_MINUTE_MS).unref(),
): (kind: string) => void {
  let counts = new Map<string, number>();
  let isCounting = false;
  const flush = (): void => {
    isCounting = counts.size > 0;
    if (!isCounting) return;
    const came = counts;
    counts = new Map();
    later(flush);
    report(came);
  };
  return (kind) => {
    const known = counts.has(kind) || counts.size < MOST_KINDS ? kind : "others";
    counts.set(known, (counts.get(known) ?? 0) + 1);
    if (!isCounting) flush();
  };
}
