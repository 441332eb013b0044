import { setTimeout as pause } from "node:timers/promises";
import { ApiError, ApiUnreachableError } from "../../runtime/kubernetes/errors";

const AGAIN_MS = 250;
/** The answers of an API server that has just started, is overloaded, or sees a concurrent write. */
const PASSING = new Set([401, 403, 409, 429, 500, 502, 503, 504]);

/** An action was tried again and again until its time was over. */
class ImpatientError extends Error {
  override readonly name = "ImpatientError";
}

/** It is too early: {@link persist} must try again. */
export class NotYetError extends Error {}

/**
 * Performs an action in spite of an API server that is unavailable, frozen or busy.
 * @param work an action that may be repeated although it has succeeded
 * @throws ImpatientError when the time is over; the signal's reason; at once an error that another try would not change
 */
export async function persist<Result>(
  work: () => Promise<Result>,
  { patienceMs, signal }: { readonly patienceMs: number; readonly signal?: AbortSignal | undefined },
): Promise<Result> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (!passes(error)) throw error;
      if (performance.now() > deadline) {
        const { message } = error as Error;
        throw new ImpatientError(`tried for ${patienceMs / 1000} s: ${message}`, { cause: error });
      }
    }
    await pause(AGAIN_MS, undefined, signal && { signal });
  }
}

function passes(error: unknown): boolean {
  if (error instanceof ApiError) return PASSING.has(error.code);
  return error instanceof ApiUnreachableError || error instanceof NotYetError;
}
