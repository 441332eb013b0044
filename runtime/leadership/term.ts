// One term: every write asks it.
import { setMaxListeners } from "node:events";

/** A process was about to write something that it may not write. */
export class NotLeadingError extends Error {
  /** @param message why it may not. @default it does not lead any more */
  constructor(message = "not the leader any more") {
    super(message);
    this.name = "NotLeadingError";
  }
}

/**
 * One term of leadership. Every write asks {@link assert} when it leaves. A term that has ended never begins again. A process
 * that leads again has a new term.
 */
export class Term {
  private ended = false;
  private readonly ending = new AbortController();
  /**
   * Ends the term's requests that are on their way. It is aborted by {@link end}, with the error of {@link assert} as its reason. A
   * term may end before that, by its time alone, so every write asks {@link assert} too.
   */
  readonly signal = this.ending.signal;
  /** The keys that may still be written after a handover. Undefined: every key. */
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
  ) {
    // Many requests may wait at once until they are repeated.
    setMaxListeners(0, this.signal);
  }

  /**
   * Asks whether the process may write now.
   * @param key the key of the custom resource that is written, or whose children are written. After a handover only keys are
   *   allowed whose runs had not ended
   * @throws NotLeadingError if it may not, and always after the term has ended
   */
  assert(key?: string): void {
    const isAllowed = this.keys
      ? key !== undefined && this.keys.has(key)
      : key === undefined || !this.isBlocked(key);
    if (this.hasEnded || !isAllowed) throw new NotLeadingError();
  }

  /** Whether the term has ended, so that nothing more may be written in it. */
  get hasEnded(): boolean {
    if (this.now() >= this.until) this.ended = true;
    return this.ended;
  }

  /** The time until the term ends if it is not extended, in milliseconds. */
  get remainingMs(): number {
    return this.hasEnded ? 0 : this.until - this.now();
  }

  /** Extends the term until then, unless it has ended. */
  extend(until: number): void {
    if (!this.hasEnded) this.until = Math.max(this.until, until);
  }

  /** From now on allows only these keys, if it allowed them before. */
  narrow(keys: readonly string[]): void {
    const { keys: before } = this;
    this.keys = new Set(before ? keys.filter((key) => before.has(key)) : keys);
  }

  /** Ends the term, and its requests that are on their way. It cannot be extended any more. */
  end(): void {
    this.ended = true;
    this.ending.abort(new NotLeadingError());
  }
}
