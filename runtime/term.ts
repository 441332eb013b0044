/** A write was about to be made by a process that may not make it. */
export class NotLeadingError extends Error {
  constructor() {
    super("not the leader any more");
    this.name = "NotLeadingError";
  }
}

/**
 * One term of leadership. Every write of it asks {@link assert} when it leaves. A term that has ended never begins again: a
 * process that leads again has a new one.
 */
export class Term {
  private ended = false;
  /** Set by a handover: what may still be written. */
  private keys: ReadonlySet<string> | undefined;

  /**
   * @param now the monotonic clock, in milliseconds
   * @param until when the term ends if it is not extended, by that clock
   * @param isBlocked whether another process finishes a run of the key
   */
  constructor(
    private readonly now: () => number,
    private until: number,
    private readonly isBlocked: (key: string) => boolean,
  ) {}

  /**
   * Asks whether the process may write now.
   * @param key of the custom resource that is written, or whose children are. After a handover only those may be whose runs had
   *   not ended
   * @throws NotLeadingError where it may not, and ever after where the term has ended
   */
  assert(key?: string): void {
    if (this.hasEnded || !this.allows(key)) throw new NotLeadingError();
  }

  /** Whether nothing of this term may be written any more. */
  get hasEnded(): boolean {
    if (this.now() >= this.until) this.ended = true;
    return this.ended;
  }

  /** How long it goes on if it is not extended, in milliseconds. */
  get remainingMs(): number {
    return this.hasEnded ? 0 : this.until - this.now();
  }

  /** Lets it go on until then, unless it has ended. */
  extend(until: number): void {
    if (!this.hasEnded) this.until = Math.max(this.until, until);
  }

  /** Allows nothing from now on but these keys, of those that it has allowed. */
  narrow(keys: readonly string[]): void {
    const { keys: before } = this;
    this.keys = new Set(before ? keys.filter((key) => before.has(key)) : keys);
  }

  /** Ends it for ever. */
  end(): void {
    this.ended = true;
  }

  private allows(key: string | undefined): boolean {
    if (this.keys) return key !== undefined && this.keys.has(key);
    return key === undefined || !this.isBlocked(key);
  }
}
