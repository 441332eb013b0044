import { Reflector, type ReflectorOptions } from "../../watch/reflector";

/**
 * Watches that a run opens while it waits. Each is opened when it is first needed, and stays open until the run ends.
 * So the API server is not asked again and again.
 */
export class Following {
  private readonly watches = new Map<string, Reflector>();
  private readonly waiting = new Set<() => void>();
  /** Whether something has changed since the last wait. */
  private isNews = false;

  /** Begins to watch, unless a watch with that name is open. */
  open(name: string, options: Omit<ReflectorOptions, "onSynced" | "onInterruption">): void {
    if (this.watches.has(name)) return;
    const watch = new Reflector({ ...options, onSynced: () => this.wake() });
    this.watches.set(name, watch);
    watch.start();
  }

  /** Something has changed. */
  readonly wake = (): void => {
    this.isNews = true;
    for (const end of this.waiting) end();
  };

  /** Resolves when something has changed since the last wait, after this many milliseconds, or when the signal aborts. */
  next(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        this.waiting.delete(end);
        this.isNews = false;
        resolve();
      };
      const timer = setTimeout(end, ms);
      if (this.isNews || signal?.aborted) return end();
      signal?.addEventListener("abort", end);
      this.waiting.add(end);
    });
  }

  /** Ends every watch. */
  async stop(): Promise<void> {
    await Promise.all([...this.watches.values()].map((watch) => watch.stop()));
    this.watches.clear();
  }
}
