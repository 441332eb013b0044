import {
  type Outcome,
  type Priority,
  ReconcileQueue,
  type ReconcileQueueOptions,
} from "../../../runtime/queue";
import type { FakeClock } from "./fakeClock";

/**
 * A queue whose runs end when the test says so, and which notes whatever it must never do. Keys that are added by
 * {@link add} and {@link addAfter} are owed a run, until {@link forget}.
 */
export class WatchedQueue {
  readonly queue: ReconcileQueue;
  /** Every run's key and attempt, in the order of their starts. */
  readonly starts: string[] = [];
  readonly attempts: number[] = [];
  readonly running = new Map<string, (outcome: Outcome) => void>();
  /** Runs that have stepped aside, and the keys of those that have gone on, in that order. */
  readonly aside = new Map<string, (outcome: Outcome) => void>();
  readonly wentOn: string[] = [];
  readonly violations: string[] = [];
  private readonly owed = new Set<string>();

  constructor(options: Omit<ReconcileQueueOptions, "work">) {
    this.queue = new ReconcileQueue({
      ...options,
      work: (key, attempt) => {
        this.starts.push(key);
        this.attempts.push(attempt);
        this.owed.delete(key);
        if (this.running.has(key) || this.aside.has(key)) this.violations.push(`${key} runs twice at once`);
        if (this.running.size >= options.concurrency) this.violations.push(`${key} is one run too many`);
        return new Promise((resolve) => this.running.set(key, resolve));
      },
    });
  }

  /** Lets the run of a key step aside, where it runs. */
  stepAside(key: string): void {
    const resolve = this.running.get(key);
    if (!resolve) return;
    this.running.delete(key);
    this.aside.set(key, resolve);
    void this.queue.stepAside().then(() => {
      this.aside.delete(key);
      this.wentOn.push(key);
      this.running.set(key, resolve);
    });
  }

  /** Adds a key, which must then run after now. */
  add(key: string, priority: Priority): void {
    this.owed.add(key);
    this.queue.add(key, priority);
  }

  /** Adds a key after a delay, which must then run after now. */
  addAfter(key: string, delayMs: number, priority: Priority): void {
    this.owed.add(key);
    this.queue.addAfter(key, delayMs, priority);
  }

  /** Forgets a key, which needs no run then. */
  forget(key: string): void {
    this.owed.delete(key);
    this.queue.forget(key);
  }

  /** Ends the run of a key, where it runs. */
  finish(key: string, outcome: Outcome): void {
    const resolve = this.running.get(key);
    this.running.delete(key);
    resolve?.(outcome);
  }

  /** Ends the run that began first. */
  finishAny(outcome: Outcome): void {
    const [first] = this.running.keys();
    if (first !== undefined) this.finish(first, outcome);
  }

  /** Lets every run succeed and the time pass, until there is quiet. */
  async finishAll(clock: FakeClock): Promise<void> {
    await clock.tick();
    for (let round = 0; round < 1_000 && (this.running.size > 0 || clock.pending > 0); round++) {
      for (const key of [...this.running.keys()]) this.finish(key, { done: true });
      await clock.tick(clock.nextInMs ?? 0);
    }
  }

  /** Keys that were added after their last start and have not run since. */
  leftUnrun(): string[] {
    return [...this.owed];
  }
}

/** A started queue, of one run at once where nothing else is said. */
export function started(options: Partial<ReconcileQueueOptions> = {}): WatchedQueue {
  const watched = new WatchedQueue({ concurrency: 1, ...options });
  watched.queue.start();
  return watched;
}
