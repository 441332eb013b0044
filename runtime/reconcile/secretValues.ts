/** Shorter values are common words, such as "true", and would mask half of every message. */
export const SHORTEST_VALUE = 6;

/** Values that begin alike. */
interface Alike {
  /** How often each value was added. */
  readonly counts: Map<string, number>;
  /** In order. Undefined if values were added or removed since they were last put in order. */
  sorted: readonly Sorted[] | undefined;
}

/** How many characters may still be compared. It falls below 0 with the last comparison. */
export interface Comparing {
  left: number;
}

interface Sorted {
  readonly value: string;
  /** The longest other value that this one begins with. */
  readonly shorter: Sorted | undefined;
}

/**
 * Finds known values in a text.
 *
 * Guarantee (tests/unit/scrubber.test.ts): tens of thousands of values with the same beginning are neither slow to add nor slow
 * to look for. So the values are put in order when they are looked for, not when one is added.
 */
export class SecretValues {
  private readonly byBeginning = new Map<string, Alike>();

  get isEmpty(): boolean {
    return this.byBeginning.size === 0;
  }

  /** @param value of at least {@link SHORTEST_VALUE} characters */
  add(value: string): void {
    const beginning = beginningAt(value, 0);
    const alike = this.byBeginning.get(beginning) ?? { counts: new Map(), sorted: undefined };
    this.byBeginning.set(beginning, alike);
    const count = alike.counts.get(value) ?? 0;
    alike.counts.set(value, count + 1);
    if (count === 0) alike.sorted = undefined;
  }

  /** Takes back one {@link add}. */
  remove(value: string): void {
    const beginning = beginningAt(value, 0);
    const alike = this.byBeginning.get(beginning);
    const count = alike?.counts.get(value) ?? 0;
    if (!alike || count === 0) return;
    if (count > 1) {
      alike.counts.set(value, count - 1);
      return;
    }
    alike.counts.delete(value);
    alike.sorted = undefined;
    if (alike.counts.size === 0) this.byBeginning.delete(beginning);
  }

  /**
   * The length of the longest value that begins at `at` in a text, or of the part of a value that a cut at `end` has left. 0:
   * none.
   * @param comparing loses the characters that are compared
   */
  lengthAt(text: string, at: number, end: number, comparing: Comparing): number {
    const alike = this.byBeginning.get(beginningAt(text, at));
    if (!alike) return 0;
    alike.sorted ??= inOrder(alike.counts.keys());
    const rest = text.slice(at);
    // Each value with which the rest begins is the last value in order before the rest, or a beginning of that value.
    const before = alike.sorted[firstAbove(alike.sorted, rest) - 1];
    const common = before ? commonLength(before.value, rest) : 0;
    comparing.left -= common;
    let whole = before;
    while (whole && whole.value.length > common) whole = whole.shorter;
    const length = whole?.value.length ?? 0;
    const part = text.slice(at, end);
    if (part.length <= length) return length;
    const next = alike.sorted[firstAbove(alike.sorted, part)];
    const commonNext = next ? commonLength(next.value, part) : 0;
    comparing.left -= commonNext;
    return commonNext === part.length ? part.length : length;
  }
}

function beginningAt(text: string, at: number): string {
  return text.slice(at, at + SHORTEST_VALUE);
}

function inOrder(values: Iterable<string>): Sorted[] {
  let last: Sorted | undefined;
  // By code units, as `<` compares.
  return [...values].sort().map((value) => {
    while (last && !value.startsWith(last.value)) last = last.shorter;
    last = { value, shorter: last };
    return last;
  });
}

/** The index of the first value that comes after a text in order. */
function firstAbove(sorted: readonly Sorted[], text: string): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as Sorted).value > text) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** How many characters two texts have in common from their beginning on. */
function commonLength(one: string, other: string): number {
  const most = Math.min(one.length, other.length);
  let length = 0;
  while (length < most && one.charCodeAt(length) === other.charCodeAt(length)) length++;
  return length;
}
