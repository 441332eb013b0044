import { setMaxListeners } from "node:events";
import { CommandError } from "./commandError";

/** The user stopped the command. It prints nothing, and exits as a shell expects after that signal. */
export class InterruptedError extends CommandError {
  override readonly name = "InterruptedError";

  constructor(signal: Interruption) {
    super("", { exitCode: INTERRUPTIONS[signal] });
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

/** Interrupts the running command, because no process reads its output any more. */
export function interruptForClosedOutput(): void {
  for (const interrupt of running) interrupt("SIGPIPE");
}

/**
 * Runs an action that leaves nothing behind. Ctrl-C and the like end the process at once, with the exit code that a shell expects.
 * What this process has registered for its exit is still done.
 */
export function endedAtOnce<T>(action: () => Promise<T>): Promise<T> {
  return interruptedBy((signal) => process.exit(INTERRUPTIONS[signal]), action);
}

/** npm passes on a Ctrl-C that the terminal has already sent us. Within this time, it is the same Ctrl-C. */
const SAME_INTERRUPTION_MS = 1_000;

/**
 * Runs `action` with a signal that aborts, by an {@link InterruptedError}, on Ctrl-C and the like, so that the action can
 * clean up. Another Ctrl-C ends the process at once.
 */
export function interruptible<T>(action: (signal: AbortSignal) => Promise<T>): Promise<T> {
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
  return interruptedBy(interrupt, () => action(abort.signal));
}

/**
 * Does something that has no end of its own until the signal aborts.
 * @param begin begins it. It is given a function that ends it with an error
 * @throws the signal's reason, or that error
 */
export async function untilAborted(
  signal: AbortSignal,
  begin: (fail: (error: unknown) => void) => void,
): Promise<never> {
  signal.throwIfAborted();
  // A promise alone keeps no process alive.
  const timer = setInterval(() => {}, 60_000);
  try {
    return await new Promise<never>((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      begin(reject);
    });
  } finally {
    clearInterval(timer);
  }
}

async function interruptedBy<T>(interrupt: (by: Interruption) => void, action: () => Promise<T>): Promise<T> {
  for (const signal of SIGNALS) process.on(signal, interrupt);
  running.add(interrupt);
  try {
    return await action();
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupt);
    running.delete(interrupt);
  }
}
