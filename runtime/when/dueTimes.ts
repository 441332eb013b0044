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
