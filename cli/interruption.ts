import { CommandError } from "./commandError";

/** The command was told to stop: it has nothing to say, and exits as a shell expects after that signal. */
export class InterruptedError extends CommandError {
  override readonly name = "InterruptedError";

  constructor(signal: Interruption) {
    super("", INTERRUPTIONS[signal]);
  }
}

/** The signals that end a command, and the exit codes that a shell expects then. */
const INTERRUPTIONS = { SIGHUP: 129, SIGINT: 130, SIGPIPE: 141, SIGTERM: 143 } as const;
type Interruption = keyof typeof INTERRUPTIONS;

/** npm passes on a Ctrl-C that the terminal has sent us already: within this time it is the same one. */
const SAME_INTERRUPTION_MS = 1_000;

/**
 * Runs `action` with a signal that aborts, by an {@link InterruptedError}, on Ctrl-C and the like, so that the action can
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
      process.exit(INTERRUPTIONS[signal]);
    }
  };
  const signals = Object.keys(INTERRUPTIONS) as Interruption[];
  for (const signal of signals) process.on(signal, interrupt);
  try {
    return await action(abort.signal);
  } finally {
    for (const signal of signals) process.off(signal, interrupt);
  }
}
