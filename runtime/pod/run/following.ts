import { Reflector, type ReflectorOptions } from "../../watch/reflector";

/**
 * Watches that a run opens while it waits. Each is opened when it is first needed, and stays open until the run ends.
 * So the API server is not asked again and again.
 */
export class Following {
  private readonly watches = new Map<string, Reflector>();
  private waiting: (() => void)[] = [];

  /** Begins to watch, unless a watch with that name is open. */
  open(name: string, options: Omit<ReflectorOptions, "onSynced" | "onInterruption">): void {
    if (this.watches.has(name)) return;
    const watch = new Reflector({ ...options, onSynced: () => this.wake() });
    this.watches.set(name, watch);
    watch.start();
  }

  /** Something has changed. */
  readonly wake = (): void => {
    for (const resolve of this.waiting.splice(0)) resolve();
  };

  /** Resolves when something has changed, after this many milliseconds, or when the signal aborts. */
  next(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener("abort", done);
      this.waiting.push(done);
    });
  }

  /** Ends every watch. */
  async stop(): Promise<void> {
    await Promise.all([...this.watches.values()].map((watch) => watch.stop()));
    this.watches.clear();
  }
}
