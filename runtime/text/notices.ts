/** How often the log of a process repeats an equal notice, in milliseconds: see {@link withoutRepeats}. */
export const ONCE_A_MINUTE_MS = 60_000;

/**
 * Reports a lasting condition, such as a watch of a kind that is gone, once and not at each try.
 * @param report called with each notice, except one that equals the notice before it
 * @param repeatedAfterMs after this time an equal notice is reported again, in milliseconds. @default never
 */
export function withoutRepeats(
  report: (notice: string) => void,
  repeatedAfterMs = Number.POSITIVE_INFINITY,
): (notice: string) => void {
  let last: string | undefined;
  let reportedAt = Number.NEGATIVE_INFINITY;
  return (notice) => {
    if (notice === last && performance.now() - reportedAt < repeatedAfterMs) return;
    last = notice;
    reportedAt = performance.now();
    report(notice);
  };
}
