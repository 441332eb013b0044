import type { WorkResult } from "./backoff";
import type { WorkQueue } from "./workQueue";

/** What {@link Workers} do, and how much at once. */
export interface WorkersOptions {
  readonly queue: WorkQueue;
  /** How many keys have a place at once. A key has one from the beginning of its work, until `leave` is called or it ends. */
  readonly concurrency: number;
  /** How many keys are worked on at once, with a place or without. @default `concurrency` */
  readonly mostAtWork?: number;
  /** Works on one key. It must not throw. `leave` gives the key's place to the next one, while the work goes on. */
  readonly work: (key: string, attempt: number, leave: () => void) => Promise<WorkResult>;
}

/**
 * Works on the keys of a queue while it is started, on a limited number at once.
 *
 * Guarantees, each with a test in tests/unit/workers.test.ts:
 * - No key is worked on twice at once, even across pauses.
 * - A key that left its place is still worked on: it is not given out again before its end.
 * - A pause ends no work. After a new start, work from before the pause keeps its place until it ends, and so does its key.
 */
export class Workers {
  private readonly working = new Set<string>();
  /** The keys that have a place. */
  private readonly placed = new Set<string>();
  private started = false;
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
      const key = queue.take();
      if (key === undefined) break;
      void this.run(key);
    }
    this.waitForNext();
  }

  private get hasRoom(): boolean {
    const { concurrency, mostAtWork = concurrency } = this.options;
    return this.placed.size < concurrency && this.working.size < mostAtWork;
  }

  private waitForNext(): void {
    clearTimeout(this.timer);
    const { nextInMs } = this.options.queue;
    if (!this.started || nextInMs === undefined || !this.hasRoom) return;
    // Node's timers hold at most 2^31-1 milliseconds.
    this.timer = setTimeout(() => this.wake(), Math.min(Math.ceil(nextInMs), 2 ** 31 - 1));
  }

  private async run(key: string): Promise<void> {
    const { queue, work } = this.options;
    this.working.add(key);
    this.placed.add(key);
    const leave = () => {
      if (this.placed.delete(key)) this.wake();
    };
    const result = await work(key, queue.attemptOf(key), leave);
    this.placed.delete(key);
    this.working.delete(key);
    queue.finish(key, result);
    this.wake();
    if (this.working.size === 0) for (const resolve of this.onIdle.splice(0)) resolve();
  }
}
