/** A timer that has not fired. */
interface Timer {
  readonly at: number;
  readonly action: () => void;
}

/**
 * Stands in for `setTimeout`, `clearTimeout` and `performance.now`, so that a test of minutes takes no time and
 * depends on none. Timers of one time fire in the order in which they were set.
 */
export class FakeClock {
  private now = 0;
  private lastId = 0;
  private readonly timers = new Map<number, Timer>();
  private readonly real = { setTimeout, clearTimeout };

  /** Takes the real clock's place until {@link uninstall}. */
  static install(): FakeClock {
    const clock = new FakeClock();
    const set = (action: () => void, ms = 0) => clock.set(action, ms);
    globalThis.setTimeout = set as unknown as typeof setTimeout;
    globalThis.clearTimeout = ((id: number) => clock.timers.delete(id)) as unknown as typeof clearTimeout;
    Object.defineProperty(performance, "now", { configurable: true, value: () => clock.now });
    return clock;
  }

  /** Gives the real clock its place back. */
  uninstall(): void {
    Object.assign(globalThis, this.real);
    Reflect.deleteProperty(performance, "now");
  }

  /** Timers that are set and have not fired. */
  get pending(): number {
    return this.timers.size;
  }

  /** The time until the next timer fires; undefined where none is set. */
  get nextInMs(): number | undefined {
    const [first] = [...this.timers.values()].sort((a, b) => a.at - b.at);
    return first && first.at - this.now;
  }

  /** Lets the time pass, fires what is due, and lets every promise go on that can. */
  async tick(ms = 0): Promise<void> {
    const until = this.now + ms;
    await settled();
    for (;;) {
      const due = [...this.timers].filter(([, { at }]) => at <= until).sort(([, a], [, b]) => a.at - b.at)[0];
      if (!due) break;
      const [id, { at, action }] = due;
      this.timers.delete(id);
      this.now = Math.max(this.now, at);
      action();
      await settled();
    }
    this.now = until;
  }

  private set(action: () => void, ms: number): number {
    this.timers.set(++this.lastId, { at: this.now + ms, action });
    return this.lastId;
  }
}

/** Resolves when the promises that are ready, and those that follow from them, have gone on. */
async function settled(): Promise<void> {
  // A turn of the event loop begins when no promise can go on any more, however many follow from one.
  await new Promise((resolve) => setImmediate(resolve));
}
