import { getHeapStatistics } from "node:v8";

/** How large a {@link HeapBudget} is, and the callback that it calls. */
export interface HeapBudgetOptions {
  /** A key that was refused has room now. */
  readonly onRoom: (key: string) => void;
  /** How much may be in memory at once, in characters of JSON. @default a twentieth of the heap: 8 Mi of 160 MiB */
  readonly most?: number | undefined;
  /** A monotonic clock, in milliseconds. @default performance.now */
  readonly now?: () => number;
}

/** A key of at most this length is never refused: the number of runs bounds how many such keys are in memory. */
const SMALL = 64 * 1024;
/** The bytes of heap for each character. A character takes ten bytes, and more if the object has very many small values. */
const HEAP_FOR_EACH = 20;
/** If a refused key has not come again for this long, it loses its turn and blocks nobody. */
const PATIENCE_MS = 10_000;

/**
 * Limits how many keys are worked on at once by how much they have in memory: an object of megabytes takes ten times as much there,
 * and `concurrency` counts such an object like any other.
 *
 * Guarantees, each with a test in tests/unit/heapBudget.test.ts:
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
  private readonly now: () => number;
  private readonly most: number;

  constructor(private readonly options: HeapBudgetOptions) {
    this.most = options.most ?? getHeapStatistics().heap_size_limit / HEAP_FOR_EACH;
    this.now = options.now ?? (() => performance.now());
  }

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
    // The next one may have room beside it.
    this.callFirst();
    return true;
  }

  /** Work on a key goes on with so much in memory. 0: it has ended. */
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
    if (key !== undefined && this.hasRoomFor(load)) this.options.onRoom(key);
  }

  private firstRefused(): [key: string, load: number] | undefined {
    for (const [key, { load, at }] of this.refused) {
      if (this.now() - at < PATIENCE_MS) return [key, load];
      this.refused.delete(key);
    }
    return undefined;
  }
}
