import timers from "node:timers/promises";

/** A timer that has not fired. */
interface Timer {
  readonly at: number;
  readonly action: () => void;
  /** Whether it outlives the processes that end: see {@link FakeClock.drop}. */
  readonly isOfTheWorld: boolean;
}

/**
 * Stands in for `setTimeout`, `clearTimeout` and `performance.now`, so that a test of minutes takes no time and
 * depends on none. Timers of one time fire in the order in which they were set. With a date it also stands in for `Date` and for
 * the timers of `node:timers/promises`, so that a whole engine lives by it.
 */
export class FakeClock {
  /** Of all clocks: what an earlier test still clears must be no timer of this one. */
  private static lastId = 0;
  private now = 0;
  private readonly timers = new Map<number, Timer>();
  private readonly real = { setTimeout, clearTimeout, setImmediate, Date };
  /** How many calls wait for the next turn of the event loop. */
  private immediates = 0;
  private readonly realPause = timers.setTimeout;

  /** Takes the real clock's place until {@link uninstall}. @param date when it begins, in milliseconds since 1970 */
  static install(date?: number): FakeClock {
    const clock = new FakeClock();
    const set = (action: () => void, ms = 0) => clock.set(action, ms);
    globalThis.setTimeout = set as unknown as typeof setTimeout;
    globalThis.clearTimeout = ((id: number) => clock.timers.delete(id)) as unknown as typeof clearTimeout;
    globalThis.setImmediate = ((action: () => void) => clock.soon(action)) as unknown as typeof setImmediate;
    Object.defineProperty(performance, "now", { configurable: true, value: () => clock.now });
    if (date !== undefined) clock.installDate(date);
    return clock;
  }

  /** Gives the real clock its place back. */
  uninstall(): void {
    Object.assign(globalThis, this.real);
    timers.setTimeout = this.realPause;
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
    await this.settled();
    for (;;) {
      const due = [...this.timers].filter(([, { at }]) => at <= until).sort(([, a], [, b]) => a.at - b.at)[0];
      if (!due) break;
      const [id, { at, action }] = due;
      this.timers.delete(id);
      this.now = Math.max(this.now, at);
      action();
      await this.settled();
    }
    this.now = until;
  }

  /** Sets a timer of the world around the processes: see {@link drop}. */
  after(ms: number, action: () => void): void {
    this.set(action, ms, true);
  }

  /** The processes have ended: their timers never fire. */
  drop(): void {
    for (const [id, { isOfTheWorld }] of this.timers) if (!isOfTheWorld) this.timers.delete(id);
  }

  private set(action: () => void, ms = 0, isOfTheWorld = false): number {
    this.timers.set(++FakeClock.lastId, { at: this.now + ms, action, isOfTheWorld });
    return FakeClock.lastId;
  }

  private soon(action: () => void): NodeJS.Immediate {
    this.immediates++;
    return this.real.setImmediate(() => {
      this.immediates--;
      action();
    });
  }

  /** Resolves when the promises that are ready, and those that follow from them, have gone on. */
  private async settled(): Promise<void> {
    // A turn of the event loop begins when no promise can go on any more, however many follow from one.
    do await new Promise((resolve) => this.real.setImmediate(resolve));
    while (this.immediates > 0);
  }

  private installDate(began: number): void {
    const RealDate = this.real.Date;
    const now = () => began + this.now;
    globalThis.Date = class extends RealDate {
      constructor(...given: [] | [string]) {
        super(...((given.length > 0 ? given : [now()]) as [string]));
      }
      static override now(): number {
        return now();
      }
    } as DateConstructor;
    timers.setTimeout = (<T>(ms?: number, value?: T, { signal }: { signal?: AbortSignal } = {}) =>
      new Promise<T>((resolve, reject) => {
        const aborted = () => {
          this.timers.delete(id);
          reject(signal?.reason ?? new Error("aborted"));
        };
        const id = this.set(() => {
          signal?.removeEventListener("abort", aborted);
          resolve(value as T);
        }, ms);
        if (signal?.aborted) aborted();
        else signal?.addEventListener("abort", aborted, { once: true });
      })) as typeof timers.setTimeout;
  }
}
