import { monotonicNow } from "../base/clock";
import { ReconcileFailure } from "../base/failure";
import type { HandlerQuestion } from "./contract";
import type { HandlerTransport } from "./handlerTransport";
import { type HandlerReply, HandlerWorker, UnheardError } from "./handlerWorker";

/** How a {@link HandlerPool} keeps its processes. */
export interface HandlerPoolOptions {
  readonly transport: HandlerTransport;
  /** A process group is killed after this long without an answer, in milliseconds. Infinity: never. */
  readonly timeoutMs: number | ((question: HandlerQuestion) => number);
  /** Whether the handler is a function: Argosy's own loop writes its answers. @default false */
  readonly isFunction?: boolean;
  /** The most processes at once. Further questions wait. @default as many as there are questions at once */
  readonly most?: number;
  /** A process that gets no question for this long is ended, in milliseconds. @default {@link IDLE_MS} */
  readonly idleMs?: number;
  /** Called for each process that is started. */
  readonly onStart?: () => void;
  /**
   * Called for each process that was given up, with the reason. If a process answers and then ends by itself, this is not a
   * failure.
   */
  readonly onFailure?: (failure: ReconcileFailure) => void;
  /** Called for each answer to a request that has been answered already. The answer was discarded. */
  readonly onLateAnswer?: () => void;
  /** A monotonic clock, in milliseconds. @default performance.now */
  readonly now?: () => number;
}

/** A process that gets no question for this long is ended, in milliseconds. */
export const IDLE_MS = 60_000;
/**
 * How long a request waits before one more process is started for it. The first process is started at once. One more is started
 * if the running processes would take longer for all waiting requests than one more process takes to start. That is so if the
 * handler waits for something outside itself. A handler that only computes answers the next request in a millisecond, and a start
 * takes a hundred.
 */
const PATIENCE_MS = 200;
/**
 * The shortest time between two such starts. A start keeps a processor busy for about as long, and the handlers need processors
 * too.
 */
const BETWEEN_STARTS_MS = 100;
/**
 * How many processes are started for each process that has answered before. Only the first answers of the new ones show whether
 * they help.
 */
const STARTED_FOR_EACH = 2;

/** The commonest reason why a program seems to give no answer. */
const UNFLUSHED = ". A program must flush standard output after each answer";

/** A request that waits for a process. */
interface Waiter {
  /** Since when, on the monotonic clock. */
  readonly since: number;
  /** Gives the request a process. */
  give(worker: HandlerWorker): void;
  /** The request gets none. */
  refuse(reason: Error): void;
}

/** What asks a handler, and knows what must not be reported of its texts. */
export type Asked = Pick<HandlerPool, "ask" | "hidden">;

/**
 * Living handler processes, started when they are needed and ended when they are not. There are never more processes than
 * questions at once, nor more than the pool may have. Requests get a process in the order in which they came.
 *
 * Guarantees, each with a test in tests/unit/handlerPool.test.ts:
 * - After {@link abandon}, every process that was at work has been killed, and every question that was asked before fails.
 * - After {@link close}, no process is left, and none is started.
 */
export class HandlerPool {
  /** Every process that has not gone yet. */
  private readonly alive = new Set<HandlerWorker>();
  /** Processes that are working on a question, each with the time at which the question was given. */
  private readonly busy = new Map<HandlerWorker, number>();
  /** Idle processes. The last one was used last, and is used first, so that the others may end. */
  private readonly idle = new Map<HandlerWorker, NodeJS.Timeout>();
  /** Busy processes of an older handler. Each is ended once it has answered. */
  private readonly outdated = new WeakSet<HandlerWorker>();
  /** Processes that were started for a waiting request, until their first answer. */
  private readonly starting = new Set<HandlerWorker>();
  private readonly costs = new StartingCosts();
  private readonly waiters: Waiter[] = [];
  private nextLook: NodeJS.Timeout | undefined;
  private lastStart = Number.NEGATIVE_INFINITY;
  private closed = false;
  private readonly now: () => number;

  constructor(private readonly options: HandlerPoolOptions) {
    this.now = options.now ?? monotonicNow;
  }

  /** Processes that are at work or ready for it. */
  get size(): number {
    return this.busy.size + this.idle.size;
  }

  /** @see HandlerTransport.hidden */
  hidden(): readonly string[] {
    return this.options.transport.hidden?.() ?? [];
  }

  /**
   * Asks a process that is free, or a new one.
   * @param assertWanted called when there is a process. If it throws, the process is not asked. @default it is asked
   * @throws ReconcileFailure if the process does not answer this request; the reason of {@link abandon}; what `assertWanted` throws
   */
  async ask(question: HandlerQuestion, assertWanted?: () => void): Promise<HandlerReply> {
    const worker = await this.acquire();
    const { timeoutMs } = this.options;
    try {
      assertWanted?.();
      const patienceMs = typeof timeoutMs === "number" ? timeoutMs : timeoutMs(question);
      const reply = await worker.ask(question, patienceMs);
      this.costs.answered(this.busyMs(worker), this.starting.delete(worker));
      return reply;
    } catch (error) {
      if (!(error instanceof UnheardError)) throw error;
    } finally {
      this.busy.delete(worker);
      this.keep(worker);
      this.serve();
    }
    // Each such process is gone, and a new one cannot end well before its first answer.
    return this.ask(question, assertWanted);
  }

  /** Starts a process ahead of the first question, unless there is one. */
  warm(): void {
    if (!this.closed && this.size === 0) this.keep(this.startWorker());
  }

  /** The handler's files have changed. Running processes end after their answer, and new ones begin with the new files. */
  renew(): void {
    for (const worker of [...this.idle.keys()]) this.endIdle(worker);
    for (const worker of this.busy.keys()) this.outdated.add(worker);
  }

  /**
   * Kills every process that is working on a question, so that nothing more comes of these questions. They fail with this reason,
   * and so do those that wait for a process. Later questions are asked as ever.
   */
  abandon(reason: Error): void {
    this.refuseWaiting(reason);
    for (const worker of this.busy.keys()) {
      worker.abandon(reason);
      this.endSoon(worker);
    }
  }

  /** Ends every process, and resolves when all have gone. Call it when no question is being asked any more. */
  async close(): Promise<void> {
    this.closed = true;
    for (const timer of this.idle.values()) clearTimeout(timer);
    this.idle.clear();
    this.refuseWaiting(noneStarted());
    await Promise.all([...this.alive].map((worker) => worker.end(this.busy.has(worker) ? 0 : undefined)));
  }

  private acquire(): Promise<HandlerWorker> {
    if (this.closed) return Promise.reject(noneStarted());
    return new Promise((give, refuse) => {
      this.waiters.push({ since: this.now(), give, refuse });
      this.serve();
    });
  }

  private refuseWaiting(reason: Error): void {
    clearTimeout(this.nextLook);
    for (const { refuse } of this.waiters.splice(0)) refuse(reason);
  }

  /** Gives processes to the waiting requests, as far as there are any or may be more, and looks again when there may be more. */
  private serve(): void {
    clearTimeout(this.nextLook);
    for (let [waiter] = this.waiters; waiter; [waiter] = this.waiters) {
      const waitMs = this.msUntilStart(waiter);
      const worker = this.takeIdle() ?? (waitMs <= 0 ? this.startFor() : undefined);
      if (!worker) {
        // When a process becomes free or ends, `serve` is called again at once.
        if (this.isFull) return;
        // Answers that came while the whole program stood still may make a start needless. The first turn of the event loop reads
        // them, and the second one resolves their promises.
        this.nextLook = setTimeout(() => setImmediate(() => setImmediate(() => this.serve())), waitMs);
        return;
      }
      this.busy.set(worker, this.now());
      this.waiters.shift();
      waiter.give(worker);
    }
  }

  private takeIdle(): HandlerWorker | undefined {
    const worker = [...this.idle.keys()].at(-1);
    if (worker) this.takeFromIdle(worker);
    return worker;
  }

  /** Whether there are as many processes as there may be. */
  private get isFull(): boolean {
    return this.size >= (this.options.most ?? Number.POSITIVE_INFINITY);
  }

  /** How long to wait before one more process is started, or before the pool considers again whether one more would help. */
  private msUntilStart({ since }: Waiter): number {
    if (this.isFull) return Number.POSITIVE_INFINITY;
    if (this.size === 0) return 0;
    const waitMs = Math.max(since + PATIENCE_MS, this.lastStart + BETWEEN_STARTS_MS) - this.now();
    if (waitMs > 0) return waitMs;
    const promising = this.promising;
    const unproven = promising.filter((worker) => this.starting.has(worker)).length;
    const proven = this.size - this.starting.size;
    if (unproven >= Math.max(1, STARTED_FOR_EACH * proven)) return PATIENCE_MS;
    return this.costs.isWorthOneMore(this.waiters.length, promising.length) ? 0 : PATIENCE_MS;
  }

  /** The processes that can be expected to answer. */
  private get promising(): HandlerWorker[] {
    const longestMs = Math.max(PATIENCE_MS, this.costs.patienceMs);
    return [...this.busy.keys()].filter((worker) => this.busyMs(worker) < longestMs);
  }

  /** For how long a process has been working on its question, in milliseconds. */
  private busyMs(worker: HandlerWorker): number {
    return this.now() - (this.busy.get(worker) ?? this.now());
  }

  /** Starts a process for a waiting request. */
  private startFor(): HandlerWorker {
    const worker = this.startWorker();
    this.starting.add(worker);
    return worker;
  }

  private startWorker(): HandlerWorker {
    const worker: HandlerWorker = new HandlerWorker(this.options.transport, {
      over: (failure) => {
        this.takeFromIdle(worker);
        if (failure) this.options.onFailure?.(failure);
        this.endSoon(worker, 0);
      },
      lateAnswer: () => this.options.onLateAnswer?.(),
      hint: this.options.isFunction ? "" : UNFLUSHED,
    });
    this.alive.add(worker);
    this.lastStart = this.now();
    this.options.onStart?.();
    return worker;
  }

  private keep(worker: HandlerWorker): void {
    if (worker.isOver) return;
    if (this.outdated.has(worker)) return this.endSoon(worker);
    this.idle.set(
      worker,
      setTimeout(() => this.endIdle(worker), this.options.idleMs ?? IDLE_MS),
    );
  }

  private endIdle(worker: HandlerWorker): void {
    this.takeFromIdle(worker);
    this.endSoon(worker);
  }

  private takeFromIdle(worker: HandlerWorker): void {
    clearTimeout(this.idle.get(worker));
    this.idle.delete(worker);
  }

  private endSoon(worker: HandlerWorker, graceMs?: number): void {
    this.starting.delete(worker);
    void worker.end(graceMs).then(() => this.alive.delete(worker));
  }
}

function noneStarted(): ReconcileFailure {
  return new ReconcileFailure("HandlerNotStarted", "no handler is started any more");
}

/** How many answers are remembered. */
const RECENT = 16;
/** A process that is silent for four times as long as others took to start and to answer may never answer. */
const TIMES_AS_LONG = 4;

/**
 * Says whether one more handler process would help the waiting requests, by how long recent answers and starts took. The fastest
 * of the recent answers counts. The others took longer mostly because they waited for a processor, and one more process would
 * wait for that processor too. A handler that waits for something outside itself is slow in its fastest answer as well.
 *
 * Guarantees, each with a test in tests/unit/handlerPoolStarts.test.ts:
 * - No more processes are started than can answer the waiting requests in the time that a start takes.
 * - A machine that is busy, or stands still for a while, is not a reason to start another process.
 * - If none of the processes can be counted on, one more helps.
 */
export class StartingCosts {
  /** How long recent answers took, in milliseconds: without a start, and with one. */
  private readonly later: number[] = [];
  private readonly first: number[] = [];

  /** A process has answered. @param isFirst whether it had to start for that, so that the time contains its start */
  answered(ms: number, isFirst: boolean): void {
    const times = isFirst ? this.first : this.later;
    // A clock of whole milliseconds would give the fastest answer a time of 0.
    times.push(Math.max(1, ms));
    if (times.length > RECENT) times.shift();
  }

  /**
   * For how long a process may be silent, in milliseconds, and still be counted on. On a busy machine this time is longer, since
   * starts take longer there. 0 if no process has answered yet.
   */
  get patienceMs(): number {
    return TIMES_AS_LONG * (this.typicalFirstMs ?? 0);
  }

  /**
   * Whether the processes would take longer for all waiting requests than one more process takes to start.
   * @param waiting how many requests wait for a process
   * @param processes how many processes are counted on
   */
  isWorthOneMore(waiting: number, processes: number): boolean {
    if (processes === 0) return waiting > 0;
    const firstMs = this.typicalFirstMs;
    if (firstMs === undefined) return false;
    // A process that ends after each answer has no second answer, because it starts for each.
    const answerMs = this.later.length === 0 ? firstMs : Math.min(...this.later);
    return (waiting * answerMs) / processes > Math.max(0, firstMs - answerMs);
  }

  private get typicalFirstMs(): number | undefined {
    return [...this.first].sort((one, other) => one - other)[this.first.length >> 1];
  }
}
