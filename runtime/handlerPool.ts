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

/** How long a process may take to end by itself when the pool is closed: somebody waits for it. */
const CLOSING_GRACE_MS = 2_000;

/**
 * Living handler processes, started when they are needed and ended when they are not. As many run as are asked
 * at once, which the queue's concurrency bounds.
 */
export class HandlerPool {
  /** Every process that has not gone yet. */
  private readonly alive = new Set<HandlerWorker>();
  private readonly busy = new Set<HandlerWorker>();
  /** Idle processes, the last used at the end: it is used first, so that the others may end. */
  private readonly idle = new Map<HandlerWorker, NodeJS.Timeout>();
  /** Busy processes of an older handler: ended once they have answered. */
  private readonly outdated = new WeakSet<HandlerWorker>();
  private closed = false;

  constructor(private readonly options: HandlerPoolOptions) {}

  /** Processes that are at work or ready for it. */
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
    const idle = await this.takeIdle();
    if (this.closed) throw new ReconcileFailure("HandlerNotStarted", "no handler is started any more");
    const worker = idle ?? this.startWorker();
    this.busy.add(worker);
    try {
      const { line: reply, log } = await worker.ask(line, this.options.timeoutMs);
      try {
        const answer = read(reply);
        this.keep(worker);
        return { answer, log };
      } catch (error) {
        if (error instanceof ReconcileFailure) error.log = log;
        this.endSoon(worker, 0);
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

  /** Ends every process and resolves when all have gone. To be called when nothing is asked any more. */
  async close(): Promise<void> {
    this.closed = true;
    for (const timer of this.idle.values()) clearTimeout(timer);
    this.idle.clear();
    await Promise.all(
      [...this.alive].map((worker) => worker.end(this.busy.has(worker) ? 0 : CLOSING_GRACE_MS)),
    );
  }

  private startWorker(): HandlerWorker {
    const worker: HandlerWorker = new HandlerWorker(this.options.transport, (failure) => {
      clearTimeout(this.idle.get(worker));
      this.idle.delete(worker);
      this.options.onFailure?.(failure);
      this.endSoon(worker, 0);
    });
    this.alive.add(worker);
    return worker;
  }

  /** The process that was used last, of those that are quiet; one that is given up meanwhile is not taken. */
  private async takeIdle(): Promise<HandlerWorker | undefined> {
    const idle = [...this.idle.keys()];
    const worker = idle.findLast(({ isQuiet }) => isQuiet) ?? idle[0];
    if (!worker) return undefined;
    clearTimeout(this.idle.get(worker));
    this.idle.delete(worker);
    this.busy.add(worker);
    await worker.quiet();
    if (!worker.isOver) return worker;
    this.busy.delete(worker);
    return this.takeIdle();
  }

  private keep(worker: HandlerWorker): void {
    if (worker.isOver) return;
    if (this.outdated.has(worker)) return this.endSoon(worker);
    this.idle.set(
      worker,
      setTimeout(() => this.endIdle(worker), this.options.idleMs ?? 60_000),
    );
  }

  private endIdle(worker: HandlerWorker): void {
    clearTimeout(this.idle.get(worker));
    this.idle.delete(worker);
    this.endSoon(worker);
  }

  private endSoon(worker: HandlerWorker, graceMs?: number): void {
    void worker.end(graceMs).then(() => this.alive.delete(worker));
  }
}
