interface Due {
  readonly key: string;
  readonly at: number;
}

/** How many more outdated entries than keys are held at most. */
const SPARE = 50;

/** Keys with the times at which they are due. A binary heap gives the earliest. */
export class DueTimes {
  /** May hold outdated entries. Only the time in {@link times} counts. */
  private readonly heap: Due[] = [];
  private readonly times = new Map<string, number>();

  /** The key is due at this time, and at no other. */
  set(key: string, at: number): void {
    this.times.set(key, at);
    this.push({ key, at });
    this.dropOutdated();
  }

  /** The key is not due at any time. */
  delete(key: string): void {
    this.times.delete(key);
    this.dropOutdated();
  }

  /** No key is due at any time. */
  clear(): void {
    this.times.clear();
    this.heap.length = 0;
  }

  /** When the key is due. Undefined: never. */
  of(key: string): number | undefined {
    return this.times.get(key);
  }

  /** How many entries are held, including outdated ones. */
  get held(): number {
    return this.heap.length;
  }

  /** The key that is due first. */
  get first(): Due | undefined {
    for (let [top] = this.heap; top; [top] = this.heap) {
      if (this.times.get(top.key) === top.at) return top;
      this.pop();
    }
    return undefined;
  }

  /** A key whose time changes often leaves outdated entries, which would stay until their time comes. */
  private dropOutdated(): void {
    if (this.heap.length <= SPARE + 2 * this.times.size) return;
    this.heap.length = 0;
    for (const [key, at] of this.times) this.push({ key, at });
  }

  private push(due: Due): void {
    let index = this.heap.push(due) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (this.at(parent) <= this.at(index)) break;
      this.swap(parent, index);
      index = parent;
    }
  }

  private pop(): void {
    const last = this.heap.pop();
    if (last === undefined || this.heap.length === 0) return;
    this.heap[0] = last;
    for (let index = 0; ; ) {
      const [left, right] = [2 * index + 1, 2 * index + 2];
      let least = index;
      if (this.at(left) < this.at(least)) least = left;
      if (this.at(right) < this.at(least)) least = right;
      if (least === index) return;
      this.swap(index, least);
      index = least;
    }
  }

  private at(index: number): number {
    return this.heap[index]?.at ?? Number.POSITIVE_INFINITY;
  }

  private swap(a: number, b: number): void {
    const [one, other] = [this.heap[a], this.heap[b]];
    if (!one || !other) return;
    this.heap[a] = other;
    this.heap[b] = one;
  }
}

/** How long a step of the clock can go unnoticed, in milliseconds. */
const LONGEST_SLEEP_MS = 60_000;

/**
 * Keys with instants of the wall clock. A timer counts only the time that has passed for this process. After the machine slept or
 * the clock was set, a timer would be late or early by hours. So the alarms look at the clock every minute.
 */
export class Alarms {
  private readonly times = new DueTimes();
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;

  /**
   * @param onDue called once for each key whose time has come
   * @param now the wall clock, in milliseconds since 1970
   */
  constructor(
    private readonly onDue: (key: string) => void,
    private readonly now: () => number = Date.now,
  ) {}

  /** The key is due at this instant, and at no other. @param at in milliseconds since 1970. Undefined: never */
  set(key: string, at: number | undefined): void {
    if (this.isClosed || this.times.of(key) === at) return;
    if (at === undefined) this.times.delete(key);
    else this.times.set(key, at);
    this.sleep();
  }

  /** When the key is due, in milliseconds from now. Undefined: never. */
  dueInMs(key: string): number | undefined {
    const at = this.times.of(key);
    return at === undefined ? undefined : Math.max(0, at - this.now());
  }

  /** Forgets everything, for ever: work that still goes on sets no more alarms. */
  end(): void {
    this.isClosed = true;
    this.times.clear();
    this.sleep();
  }

  private look(): void {
    const due: string[] = [];
    for (let { first } = this.times; first && first.at <= this.now(); first = this.times.first) {
      this.times.delete(first.key);
      due.push(first.key);
    }
    this.sleep();
    for (const key of due) this.onDue(key);
  }

  private sleep(): void {
    clearTimeout(this.timer);
    const { first } = this.times;
    if (!first) return;
    const ms = Math.min(Math.max(0, first.at - this.now()), LONGEST_SLEEP_MS);
    this.timer = setTimeout(() => this.look(), ms);
  }
}
