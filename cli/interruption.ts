import { CommandError } from "./commandError";

/** The command was told to stop: it has nothing to say, and exits as a shell expects after that signal. */
export class InterruptedError extends CommandError {
  override readonly name = "InterruptedError";

  constructor(signal: Interruption) {
    super("", EXIT_CODES[signal]);
  }
}

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;
type Interruption = keyof typeof EXIT_CODES;

/** npm passes on a Ctrl-C that the terminal has sent us already: within this time it is the same one. */
const SAME_INTERRUPTION_MS = 1_000;

/**
 * Runs `action` with a signal that aborts, by an {@link InterruptedError}, on Ctrl-C or SIGTERM, so that it can
 * clean up. Another Ctrl-C ends the process at once.
 */
export async function interruptible<T>(action: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  let interruptedAt = Number.POSITIVE_INFINITY;
  const interrupt = (signal: Interruption): void => {
    if (!abort.signal.aborted) {
      interruptedAt = performance.now();
      abort.abort(new InterruptedError(signal));
    } else if (performance.now() - interruptedAt > SAME_INTERRUPTION_MS) {
      process.exit(EXIT_CODES[signal]);
    }
  };
  process.on("SIGINT", interrupt).on("SIGTERM", interrupt);
  try {
    return await action(abort.signal);
  } finally {
    process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
  }
}
