/** How a handler process ended. */
export interface HandlerExit {
  /** The exit code. null if a signal ended the process or it never began. */
  readonly code: number | null;
  readonly signal: string | null;
  /** Why the process could not be started at all. */
  readonly startError?: Error;
}

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
}

/** How long to wait for the rest of the output after a process has exited. A grandchild may hold its pipes open. */
export const DRAIN_MS = 300;

/** A process that could not be started, as its listener soon learns. */
export function unstarted(listener: HandlerProcessListener, startError: Error): HandlerProcess {
  setImmediate(() => listener.exited({ code: null, signal: null, startError }));
  return { write: () => {}, end: () => {}, kill: () => {} };
}
