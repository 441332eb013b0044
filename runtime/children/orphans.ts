import { setTimeout as pause } from "node:timers/promises";
import type { ChildIndex } from "./childIndex";
import type { ChildWriter } from "./childWriter";

/** What {@link Leftovers} works with. */
export interface LeftoversOptions {
  readonly index: ChildIndex;
  readonly children: ChildWriter;
  /** Resolves when what can wait since then, on the monotonic clock, has its turn. @default at once */
  readonly turn?: (since: number) => Promise<void>;
}

/** How long the garbage collector is given for the children of an object. */
const GRACE_MS = 1_000;

/**
 * Deletes the children of objects that have been deleted, where the garbage collector has not. It never does where the
 * kind of their owner came and went between two of its looks for new kinds, which are 30 seconds apart: it cannot ask for an
 * owner of a kind that it does not know (kubernetes, pkg/controller/garbagecollector/garbagecollector.go, getObject; seen
 * with 1.34: "unable to get REST mapping").
 */
export class Leftovers {
  /** The deleted objects that are waited for, by uid, and since when, on the monotonic clock. */
  private readonly waiting = new Map<string, number>();
  private readonly ending = new AbortController();
  private working: Promise<void> | undefined;

  constructor(private readonly options: LeftoversOptions) {}

  /** The object with that uid has been deleted: the watch told so, it was not only missing in a list. */
  add(ownerUid: string): void {
    this.waiting.set(ownerUid, performance.now());
    this.working ??= this.work();
  }

  /** Gives no more time to anybody. Resolves when nothing is left to be done. */
  async end(): Promise<void> {
    this.ending.abort();
    await this.working;
  }

  private async work(): Promise<void> {
    const { index, turn } = this.options;
    for (const [uid, since] of this.waiting) {
      await this.pause(since + GRACE_MS - performance.now());
      if (index.of(uid).length > 0) await turn?.(since);
      await this.deleteChildren(uid);
      this.waiting.delete(uid);
    }
    this.working = undefined;
  }

  private async deleteChildren(ownerUid: string): Promise<void> {
    const { index, children } = this.options;
    const left = index.of(ownerUid).filter(({ deleting }) => !deleting);
    // What fails is the garbage collector's as before: nobody is there any more to be told.
    await Promise.allSettled(left.map((record) => children.deleteLeftover(record)));
  }

  private async pause(ms: number): Promise<void> {
    if (ms > 0) await pause(ms, undefined, { signal: this.ending.signal, ref: false }).catch(() => {});
  }
}
