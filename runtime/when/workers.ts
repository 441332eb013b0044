import { getHeapStatistics } from "node:v8";
import { monotonicNow } from "../base/clock";
import type { WorkResult } from "../base/turn";
import type { WorkQueue } from "./workQueue";

/** What {@link Workers} do, and how much at once. */
export interface WorkersOptions {
  readonly queue: WorkQueue;
  /** How many keys have a place at once. A key has one from the beginning of its work, until `leave` is called or it ends. */
  readonly concurrency: number;
  /** How many keys are worked on at once, with a place or without. @default `concurrency` */
  readonly mostAtWork?: number;
  /** Works on one key. `leave` gives the key's place to the next one, while the work goes on. */
  readonly work: (key: string, attempt: number, leave: () => void) => Promise<WorkResult>;
  /** Called if the work threw, which is a fault of ours. The key counts as failed. @param frames where, without any data */
  readonly onFault: (key: string, frames: string) => void;
}

/**
 * How many keys' work may begin before other work of the process has its turn. Work that needs no answer of another process takes
 * a tenth of a millisecond for each.
 */
const MOST_AT_ONCE = 25;

/**
 * Works on the keys of a queue while it is started, on a limited number at once.
 *
 * Guarantees, each with a test in tests/unit/workers.test.ts:
 * - No key is worked on twice at once, even across pauses.
 * - A key that left its place is still worked on: it is not given out again before its end.
 * - Work that throws is a failure of its key. It ends nothing else.
 * - Work that waits for nothing, on however many keys, does not hold up the rest of the process: a lease is renewed in time.
 * - A pause ends no work. After a new start, work from before the pause keeps its place until it ends, and so does its key.
 */
export class Workers {
  private readonly working = new Set<string>();
  /** The keys that have a place. */
  private readonly placed = new Set<string>();
  private started = false;
  /** How many keys' work has begun since other work of the process had its turn. */
  private begunAtOnce = 0;
  private timer: NodeJS.Timeout | undefined;
  private onIdle: (() => void)[] = [];

  constructor(private readonly options: WorkersOptions) {}

  /** Begins to work, or goes on after {@link pause}. */
  start(): void {
    this.started = true;
    this.wake();
  }

  /** Starts no further work. */
  pause(): void {
    this.started = false;
    clearTimeout(this.timer);
  }

  /** Resolves when nothing is worked on, and nothing more is due unless it is paused. */
  async idle(): Promise<void> {
    if (this.working.size > 0) await new Promise<void>((resolve) => this.onIdle.push(resolve));
  }

  /** The keys worked on now. */
  get keys(): ReadonlySet<string> {
    return this.working;
  }

  /** Takes the keys that are due. Call it when a key was added to the queue, or unblocked. */
  wake(): void {
    const { queue } = this.options;
    while (this.started && this.hasRoom) {
      const key = queue.takeDue();
      if (key === undefined) break;
      if (this.begunAtOnce++ === 0) setImmediate(() => this.goOn());
      void this.workOn(key);
    }
    this.waitForNext();
  }

  /** Other work of the process has had its turn. */
  private goOn(): void {
    const wasFull = this.begunAtOnce >= MOST_AT_ONCE;
    this.begunAtOnce = 0;
    if (wasFull) this.wake();
  }

  private get hasRoom(): boolean {
    const { concurrency, mostAtWork = concurrency } = this.options;
    if (this.begunAtOnce >= MOST_AT_ONCE) return false;
    return this.placed.size < concurrency && this.working.size < mostAtWork;
  }

  private waitForNext(): void {
    clearTimeout(this.timer);
    if (!this.started || !this.hasRoom) return;
    const { nextInMs } = this.options.queue;
    if (nextInMs === undefined) return;
    // Node's timers hold at most 2^31-1 milliseconds.
    this.timer = setTimeout(() => this.wake(), Math.min(Math.ceil(nextInMs), 2 ** 31 - 1));
  }

  private async workOn(key: string): Promise<void> {
    const { queue, work, onFault } = this.options;
    this.working.add(key);
    this.placed.add(key);
    const leave = () => {
      if (this.placed.delete(key)) this.wake();
    };
    let result: WorkResult;
    try {
      result = await work(key, queue.attemptOf(key), leave);
    } catch (error) {
      onFault(key, framesOf(error));
      result = { kind: "failed" };
    }
    this.placed.delete(key);
    this.working.delete(key);
    queue.finish(key, result);
    this.wake();
    if (this.working.size === 0) for (const resolve of this.onIdle.splice(0)) resolve();
  }
}

/** What an error is and where it was thrown, without its message, which may have values of Secrets. */
export function framesOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const frames = error.stack?.split("\n").filter((line) => /^ +at /.test(line)) ?? [];
  return [error.name, ...frames].join("\n");
}

/** A key of at most this length is never refused: the number of runs bounds how many such keys are in memory. */
const SMALL = 64 * 1024;
/** The bytes of heap for each character. A character takes ten bytes, and more if the object has very many small values. */
const HEAP_FOR_EACH = 20;
/** If a refused key has not come again for this long, it loses its turn and blocks no other. */
const PATIENCE_MS = 10_000;

/**
 * Limits how many keys are worked on at once by how much they have in memory: an object of megabytes takes ten times as much there,
 * and `concurrency` counts such an object like any other.
 *
 * Guarantees, each with a test in tests/unit/workers.test.ts:
 * - A small key is never refused.
 * - One key has room, however large it is.
 * - Keys that were refused get room in the order in which they came, the largest too.
 */
export class HeapBudget {
  /** The large keys that are worked on, with their lengths. */
  private readonly held = new Map<string, number>();
  private total = 0;
  /** Those that were refused, in their order, with the time at which each last came. */
  private readonly refused = new Map<string, { readonly load: number; readonly at: number }>();

  /**
   * @param onRoom called when a key that was refused has room
   * @param most how much may be in memory at once, in characters of JSON. @default a twentieth of the heap: 8 Mi of 160 MiB
   * @param now a monotonic clock, in milliseconds
   */
  constructor(
    private readonly onRoom: (key: string) => void,
    private readonly most = getHeapStatistics().heap_size_limit / HEAP_FOR_EACH,
    private readonly now = monotonicNow,
  ) {}

  /**
   * Work on a key begins.
   * @param length how much it has in memory, in characters of JSON
   * @returns false if there is no room: it is to come again later
   */
  acquire(key: string, length: number): boolean {
    if (length <= SMALL) {
      if (this.refused.delete(key)) this.callFirst();
      return true;
    }
    const load = Math.min(length, this.most);
    const [first = key] = this.firstRefused() ?? [];
    if (first !== key || !this.hasRoomFor(load)) {
      this.refused.set(key, { load, at: this.now() });
      return false;
    }
    this.refused.delete(key);
    this.held.set(key, load);
    this.total += load;
    // There may be room for the next one too.
    this.callFirst();
    return true;
  }

  /** Work on a key continues with this much in memory. 0: it has ended. */
  shrink(key: string, length: number): void {
    const before = this.held.get(key);
    if (before === undefined) return;
    const load = length <= SMALL ? 0 : Math.min(length, before);
    this.total += load - before;
    if (load > 0) this.held.set(key, load);
    else this.held.delete(key);
    this.callFirst();
  }

  private hasRoomFor(load: number): boolean {
    return this.total + load <= this.most;
  }

  private callFirst(): void {
    const [key, load = 0] = this.firstRefused() ?? [];
    if (key !== undefined && this.hasRoomFor(load)) this.onRoom(key);
  }

  private firstRefused(): [key: string, load: number] | undefined {
    for (const [key, { load, at }] of this.refused) {
      if (this.now() - at < PATIENCE_MS) return [key, load];
      this.refused.delete(key);
    }
    return undefined;
  }
}
