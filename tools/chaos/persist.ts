import { setTimeout as pause } from "node:timers/promises";
import { ApiError, ApiUnreachableError } from "../../runtime/kubernetes/errors";

const AGAIN_MS = 250;
/** What an API server answers that has just started, is overloaded, or sees another one write at the same time. */
const PASSING = new Set([401, 403, 409, 429, 500, 502, 503, 504]);

/** Something that was tried again and again until its time was over. */
class ImpatientError extends Error {
  override readonly name = "ImpatientError";
}

/** Not yet: {@link persist} is to try again. */
export class NotYetError extends Error {}

/**
 * Does something in spite of an API server that is away, frozen or busy.
 * @param work may be done again although it was done: it must make no difference
 * @throws ImpatientError when the time is over; the signal's reason; at once what another try would not mend
 */
export async function persist<Result>(
  work: () => Promise<Result>,
  { patienceMs, signal }: { readonly patienceMs: number; readonly signal: AbortSignal },
): Promise<Result> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (!passes(error)) throw error;
      if (performance.now() > deadline) {
        const { message } = error as Error;
        throw new ImpatientError(`tried for ${patienceMs / 1000} s: ${message}`, { cause: error });
      }
    }
    await pause(AGAIN_MS, undefined, { signal });
  }
}

function passes(error: unknown): boolean {
  if (error instanceof ApiError) return PASSING.has(error.code);
  return error instanceof ApiUnreachableError || error instanceof NotYetError;
}
