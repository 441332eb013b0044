/** Random numbers from a seed: the same on every machine and in every version of Node. */
export class Random {
  private state: number;

  /** @param seed a whole number; its lowest 32 bits count */
  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** At least 0 and below 1. Mulberry32, by Tommy Ettinger, in the public domain. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = this.state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number, at least 0 and below `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  /** True with this probability. */
  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** An element of the list. @throws Error if the list is empty */
  pick<Item>(list: readonly Item[]): Item {
    const index = this.below(list.length);
    if (index >= list.length) throw new Error("the list is empty");
    return list[index] as Item;
  }

  /** One of the keys, with the probabilities of their weights. */
  weighted<Key extends string>(weights: Readonly<Record<Key, number>>): Key {
    const entries = Object.entries<number>(weights) as [Key, number][];
    let rest = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [key, weight] of entries) {
      rest -= weight;
      if (rest < 0) return key;
    }
    return this.pick(entries)[0];
  }

  /** The list in another order. */
  shuffle<Item>(list: readonly Item[]): Item[] {
    const left = [...list];
    return list.map(() => left.splice(this.below(left.length), 1)[0] as Item);
  }
}
