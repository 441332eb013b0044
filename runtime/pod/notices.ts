/** How long an equal notice is not repeated, in milliseconds. */
const REPEATED_AFTER_MS = 60_000;

/**
 * Reports a lasting condition, such as a watch of a kind that is gone, once a minute and not at each try.
 * @param tell called with every notice, except one that equals the last one and came within a minute of it
 */
export function withoutRepeats(tell: (notice: string) => void): (notice: string) => void {
  let last = "";
  let toldAt = Number.NEGATIVE_INFINITY;
  return (notice) => {
    if (notice === last && performance.now() - toldAt < REPEATED_AFTER_MS) return;
    last = notice;
    toldAt = performance.now();
    tell(notice);
  };
}
