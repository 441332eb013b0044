/**
 * Keeps the content of many holders within a total length. The content that was taken longest ago is dropped first. The newest
 * may be longer than the total by itself.
 */
export class Allowance<Holder> {
  private readonly lengths = new Map<Holder, number>();
  private total = 0;

  /**
   * @param most the total length, in characters
   * @param letGo called for each holder that must drop its content
   */
  constructor(
    private readonly most: number,
    private readonly letGo: (holder: Holder) => void,
  ) {}

  /** The holder holds this much now. */
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

  /** The holder no longer holds anything. */
  release(holder: Holder): void {
    this.total -= this.lengths.get(holder) ?? 0;
    this.lengths.delete(holder);
  }
}
