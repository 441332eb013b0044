/** How a handler process ended. */
export interface HandlerExit {
  /** The exit code. null if a signal ended the process or it never began. */
  readonly code: number | null;
  readonly signal: string | null;
  /** Why the process could not be started at all. */
  readonly startError?: Error;
  /** Whether it was killed because it has closed its input, so that it cannot be asked any more. @default false */
  readonly isDeaf?: true;
}

/** The exit of a process that has closed its input. */
export const DEAF: HandlerExit = { code: null, signal: null, isDeaf: true };

/** Receives the output of a handler process, in order. {@link exited} comes once, last. */
export interface HandlerProcessListener {
  /** Bytes of the descriptor to which answers are written. */
  output(chunk: Buffer): void;
  /** Bytes of standard error, and also of standard output if answers are not written to that. */
  log(chunk: Buffer): void;
  exited(exit: HandlerExit): void;
}

/** One running handler process, wherever it runs. */
export interface HandlerProcess {
  /** Writes to the descriptor from which it reads requests. Once it has exited, this does nothing. */
  write(text: string): void;
  /** Closes that descriptor. The contract says that the process then ends by itself. */
  end(): void;
  /** Kills its whole process group at once. */
  kill(): void;
}

/**
 * Starts handler processes: as child processes on an author's machine, over named pipes to the handler's
 * container in a pod.
 */
export interface HandlerTransport {
  start(listener: HandlerProcessListener): HandlerProcess;
  /** The values in the processes' environment that must not be reported, in base64, as far as they are known now. @default none */
  hidden?(): readonly string[];
}

/**
 * How long to wait for the rest of the output after a process has exited, since a grandchild may hold its pipes open, and for the
 * exit of a process that has closed its input.
 */
export const DRAIN_MS = 300;
