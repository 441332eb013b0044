import { setMaxListeners } from "node:events";
import { CommandError } from "./commandError";

/** The user stopped the command. It prints nothing, and exits as a shell expects after that signal. */
export class InterruptedError extends CommandError {
  override readonly name = "InterruptedError";

  constructor(signal: Interruption) {
    super("", INTERRUPTIONS[signal]);
  }
}

/** What ends a command, and the exit codes that a shell expects then. */
const INTERRUPTIONS = { SIGHUP: 129, SIGINT: 130, SIGPIPE: 141, SIGTERM: 143 } as const;
type Interruption = keyof typeof INTERRUPTIONS;

/**
 * SIGPIPE is not included: if a program stops listening for it, Node no longer ignores it, and the next write ends the process.
 */
const SIGNALS = ["SIGHUP", "SIGINT", "SIGTERM"] as const;

const running = new Set<(by: Interruption) => void>();

/** Interrupts the running command, because nobody reads its output any more. */
export function interruptForClosedOutput(): void {
  for (const interrupt of running) interrupt("SIGPIPE");
}

/** npm passes on a Ctrl-C that the terminal has already sent us. Within this time, it is the same Ctrl-C. */
const SAME_INTERRUPTION_MS = 1_000;

/**
 * Runs `action` with a signal that aborts, by an {@link InterruptedError}, on Ctrl-C and the like, so that the action can
 * clean up. Another Ctrl-C ends the process at once.
 */
export async function interruptible<T>(action: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  // Each running operator and each request in progress listens.
  setMaxListeners(0, abort.signal);
  let interruptedAt = Number.POSITIVE_INFINITY;
  const interrupt = (signal: Interruption): void => {
    if (!abort.signal.aborted) {
      interruptedAt = performance.now();
      abort.abort(new InterruptedError(signal));
    } else if (performance.now() - interruptedAt > SAME_INTERRUPTION_MS) {
      process.exit(INTERRUPTIONS[signal]);
    }
  };
  for (const signal of SIGNALS) process.on(signal, interrupt);
  running.add(interrupt);
  try {
    return await action(abort.signal);
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupt);
    running.delete(interrupt);
  }
}
