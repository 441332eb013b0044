import { ReconcileFailure } from "./failure";
import type { HandlerTransport } from "./handlerTransport";
import { HandlerWorker } from "./handlerWorker";

/** How a {@link HandlerPool} keeps its processes. */
export interface HandlerPoolOptions {
  readonly transport: HandlerTransport;
  /** After this long without an answer a process group is killed, in milliseconds. */
  readonly timeoutMs: number;
  /** A process that nobody asked anything for so long is ended. @default 60000 */
  readonly idleMs?: number;
  /** Told of every process that was given up, and why. */
  readonly onFailure?: (failure: ReconcileFailure) => void;
}

/**
 * Living handler processes, started when they are needed and ended when they are not. As many run as are asked
 * at once, which the queue's concurrency bounds.
 */
export class HandlerPool {
  private readonly busy = new Set<HandlerWorker>();
  /** Idle processes, the last used at the end: it is used first, so that the others may end. */
  private readonly idle = new Map<HandlerWorker, NodeJS.Timeout>();
  /** Busy processes of an older handler: ended once they have answered. */
  private readonly outdated = new WeakSet<HandlerWorker>();

  constructor(private readonly options: HandlerPoolOptions) {}

  /** Processes alive. */
  get size(): number {
    return this.busy.size + this.idle.size;
  }

  /**
   * Asks an idle process, or a new one.
   * @param read reads the answer; where it throws, the process is not used again: its next line may be the late
   *   answer to this request
   * @throws ReconcileFailure where the process does not answer with one line, or `read` refuses that line
   */
  async ask<Answer>(line: string, read: (line: string) => Answer): Promise<{ answer: Answer; log: string }> {
    const worker = this.takeIdle() ?? this.startWorker();
    this.busy.add(worker);
    try {
      const { line: reply, log } = await worker.ask(line, this.options.timeoutMs);
      try {
        const answer = read(reply);
        this.keep(worker);
        return { answer, log };
      } catch (error) {
        if (error instanceof ReconcileFailure) error.log = log;
        worker.end(0);
        throw error;
      }
    } finally {
      this.busy.delete(worker);
    }
  }

  /** The handler's files have changed: what runs ends with the old ones, what comes next begins with the new. */
  renew(): void {
    for (const worker of [...this.idle.keys()]) this.endIdle(worker);
    for (const worker of this.busy) this.outdated.add(worker);
  }

  /** Ends every process. To be called when nothing is asked any more. */
  close(): void {
    this.renew();
    for (const worker of this.busy) worker.end(0);
  }

  private startWorker(): HandlerWorker {
    const worker: HandlerWorker = new HandlerWorker(this.options.transport, (failure) => {
      clearTimeout(this.idle.get(worker));
      this.idle.delete(worker);
      this.options.onFailure?.(failure);
    });
    return worker;
  }

  private takeIdle(): HandlerWorker | undefined {
    const last = [...this.idle].at(-1);
    if (!last) return undefined;
    const [worker, timer] = last;
    clearTimeout(timer);
    this.idle.delete(worker);
    return worker;
  }

  private keep(worker: HandlerWorker): void {
    if (this.outdated.has(worker)) return worker.end();
    this.idle.set(
      worker,
      setTimeout(() => this.endIdle(worker), this.options.idleMs ?? 60_000),
    );
  }

  private endIdle(worker: HandlerWorker): void {
    clearTimeout(this.idle.get(worker));
    this.idle.delete(worker);
    worker.end();
  }
}
