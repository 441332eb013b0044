/**
 * Keeps what many holders hold within a length together: what was taken longest ago is let go first. What is newest may
 * be longer than that by itself.
 */
export class Allowance<Holder> {
  private readonly lengths = new Map<Holder, number>();
  private total = 0;

  /**
   * @param most the length that all of it may have, in characters
   * @param letGo told of each holder that has to let go of what it holds
   */
  constructor(
    private readonly most: number,
    private readonly letGo: (holder: Holder) => void,
  ) {}

  /** The holder holds so much now. */
  take(holder: Holder, length: number): void {
    this.release(holder);
    this.lengths.set(holder, length);
    this.total += length;
    for (const oldest of this.lengths.keys()) {
      if (this.total <= this.most || oldest === holder) return;
      this.release(oldest);
      this.letGo(oldest);
    }
  }

  /** The holder holds nothing any more. */
  release(holder: Holder): void {
    this.total -= this.lengths.get(holder) ?? 0;
    this.lengths.delete(holder);
  }
}
