// How many runs there are at once.
import type { LiveRun } from "./liveRun";
import type { Need } from "./needs";

/** What {@link Places} are given to. */
export interface PlacesOptions {
  /** The most runs at once. */
  readonly most: number;
  /** The runs of ours that have a place now. A run that does not end by itself has none. */
  readonly live: () => Iterable<LiveRun>;
  /** Called for an object that waited and may have a place now. */
  readonly onFree: (key: string) => void;
}

/** The runs that give way to others. */
function yields(need: string | undefined): boolean {
  return need !== "urgent";
}

/**
 * The places of runs. Runs for changes of objects come first. All others together have at most half of the places that the first
 * leave free, and at least one place.
 */
export class Places {
  /** The objects that wait, in the order in which they came. */
  private readonly waiting = new Map<string, Need>();
  /** The objects whose runs are being created. */
  private readonly beginning = new Map<string, Need>();

  constructor(private readonly options: PlacesOptions) {}

  /** How many objects wait. */
  get depth(): number {
    return this.waiting.size;
  }

  /**
   * Begins a run of the object if there is a place for it. If not, the object waits for one.
   * @param begin resolves when the run counts as live
   */
  async take(key: string, need: Need, begin: () => Promise<void>): Promise<void> {
    if (this.roomFor(need) <= 0) {
      if (this.waiting.get(key) !== need) this.waiting.set(key, need);
      return;
    }
    this.waiting.delete(key);
    this.beginning.set(key, need);
    await begin().finally(() => this.beginning.delete(key));
  }

  /** The object needs no run any more. */
  leave(key: string): void {
    this.waiting.delete(key);
  }

  /** A run has ended: calls the objects that may have its place, those with changes first. */
  freed(): void {
    for (const isRoutine of [false, true]) {
      const next = [...this.waiting].filter(([, need]) => yields(need) === isRoutine);
      const room = next[0] ? this.roomFor(next[0][1]) : 0;
      for (const [key] of next.slice(0, Math.max(0, room))) this.options.onFree(key);
    }
  }

  clear(): void {
    this.waiting.clear();
  }

  private roomFor(need: Need): number {
    const { most, live } = this.options;
    const needs = [...[...live()].map(({ mark }) => needIn(mark)), ...this.beginning.values()];
    const room = most - needs.length;
    if (!yields(need)) return room;
    const routine = needs.filter(yields).length;
    const half = Math.max(1, Math.floor((most - (needs.length - routine)) / 2));
    return Math.min(room, half - routine);
  }
}

/** The mark of a run: the need, and what makes it unique. */
export function markOf(need: Need, unique: string): string {
  return `${need}-${unique}`;
}

/** The need in a mark. */
export function needIn(mark: string | undefined): string | undefined {
  return mark?.split("-")[0];
}
