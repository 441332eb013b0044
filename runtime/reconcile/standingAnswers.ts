// Which questions need not be asked again.

/** The most objects that a mark may except. If there are more, there is no mark. */
const MOST_EXCEPTIONS = 1_000;
/** How many characters of a uid name an object in a mark. If two objects share them, the handler is asked about both. */
const PART_OF_UID = 8;

/** The looks of a term in which the digests that objects remember may be of another program's questions. */
interface Sweep {
  /** The keys of the objects at which this term has not looked yet. */
  readonly waiting: Set<string>;
  /** The uids of those that remember a digest of which nothing is proved. */
  readonly exceptions: Set<string>;
}

/**
 * The questions to a pure handler whose answers stand: the handler was asked, and what it answered was applied. As long as an
 * object's question has the same digest, a routine look does not ask the handler.
 *
 * An object remembers a digest too, for the next process. It counts only if this very program has asked that question. The mark on
 * the Lease says whether the program before was the same, and for which objects it does not count. A sweep of a new program looks
 * at every object. It then proves the digests of all objects of which it met the same question, without a write.
 *
 * Guarantees, each with a test in tests/unit/askOnce.test.ts
 * - A digest that another program left does not count, also after a return to an earlier program.
 * - An object of which nothing is proved is asked again by the next process.
 */
export class StandingAnswers {
  /** By the keys of the objects about which this process has asked. Undefined: no answer stands. */
  private readonly digests = new Map<string, string | undefined>();
  /** What the mark excepts. Undefined: what objects remember does not count. */
  private excepted: ReadonlySet<string> | undefined;
  private sweep: Sweep | undefined;

  /** @param onSwept called when this program has looked at every object, with the exceptions for the mark */
  constructor(private readonly onSwept: (exceptions: readonly string[]) => void) {}

  /**
   * A term begins.
   * @param exceptions of the mark, if it is this program's own
   * @param keys of every object. Undefined: they are not all known, and it is called again when they are
   */
  beginTerm(exceptions: readonly string[] | undefined, keys: readonly string[] | undefined): void {
    this.excepted = exceptions && new Set(exceptions);
    this.sweep = exceptions || !keys ? undefined : { waiting: new Set(keys), exceptions: new Set() };
    this.endSweep();
  }

  /** The handler is another one from now on. */
  renew(): void {
    this.digests.clear();
    this.excepted = this.sweep = undefined;
  }

  /** Whether the answer to a question stands. @param remembered the digest that the object remembers */
  stands(key: string, uid: string, digest: string, remembered: string | undefined): boolean {
    if (this.digests.has(key)) return this.digests.get(key) === digest;
    return digest === remembered && this.excepted?.has(uid.slice(0, PART_OF_UID)) === false;
  }

  /** The handler is asked about an object: the former answer no longer stands. */
  asked(key: string): void {
    this.digests.set(key, undefined);
  }

  /**
   * A look at an object has ended, whatever its result.
   * @param digest of the question whose answer stands
   * @param remembered the digest that the object remembers
   */
  looked(key: string, uid: string, digest: string | undefined, remembered: string | undefined): void {
    if (digest !== undefined) this.digests.set(key, digest);
    if (remembered === undefined || digest === remembered) this.sweep?.exceptions.delete(uid);
    else this.sweep?.exceptions.add(uid);
    this.done(key);
  }

  /** An object is gone. */
  forget(key: string): void {
    this.digests.delete(key);
    this.done(key);
  }

  private done(key: string): void {
    this.sweep?.waiting.delete(key);
    this.endSweep();
  }

  private endSweep(): void {
    const { sweep } = this;
    if (!sweep || sweep.waiting.size > 0) return;
    this.sweep = undefined;
    if (sweep.exceptions.size > MOST_EXCEPTIONS) return;
    this.onSwept([...sweep.exceptions].map((uid) => uid.slice(0, PART_OF_UID)).sort());
  }
}
