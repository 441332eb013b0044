import { formatDuration } from "../common/terminal";

/** Receives one line of progress at a time, without a newline. */
export type Report = (line: string) => void;

/** How often a long step reports that it is still in progress, in milliseconds. */
const reportEveryMilliseconds = 15_000;

/**
 * Runs a long step and reports `describe(elapsed)` at once and every 15 s until the step ends for any reason.
 *
 * @param describe makes the line from the time elapsed since `startedAt`, for people
 * @param startedAt when the clock began, in milliseconds since the epoch; default: now
 */
export async function reportWhile<T>(
  report: Report,
  describe: (elapsed: string) => string,
  step: () => Promise<T>,
  startedAt = Date.now(),
): Promise<T> {
  const tell = (): void => report(describe(formatDuration(Date.now() - startedAt)));
  tell();
  const timer = setInterval(tell, reportEveryMilliseconds);
  try {
    return await step();
  } finally {
    clearInterval(timer);
  }
}
