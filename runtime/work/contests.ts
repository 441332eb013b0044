/** When {@link Contests} count an object as contested. */
export interface ContestsOptions {
  /** How many times in a row a drifted child is corrected at once. */
  readonly patience: number;
  /** The delay of the next correction, in milliseconds. It doubles with each further one. */
  readonly firstDelayMs: number;
  readonly longestDelayMs: number;
  /** Drift that comes later than this after our last change does not belong to a contest, in milliseconds. */
  readonly quietMs: number;
}

/** An object whose children we, or somebody else, have changed recently. */
interface Contest {
  /** When we last changed the object's children, on the monotonic clock. If that is unknown: when the first drift was seen. */
  changedAt: number;
  /** Whether a child has drifted since. */
  drifted: boolean;
  /** How many times in a row a child drifted soon after we changed it. */
  rounds: number;
}

/** When somebody counts as changing the children of an object back. */
export const CHILDREN_CHANGED_BACK: ContestsOptions = {
  patience: 5,
  firstDelayMs: 250,
  longestDelayMs: 10_000,
  quietMs: 60_000,
};

/**
 * Objects whose children somebody changes back each time that we apply them: another controller of the same fields. Neither
 * side can win, so we correct the child less and less often until the other side stops. Later drift is corrected at once
 * again.
 */
export class Contests {
  /** In the order of `changedAt`. */
  private readonly contests = new Map<string, Contest>();

  constructor(
    private readonly options: ContestsOptions,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** We have changed children of the object. @returns whether one had drifted since we did so last */
  changed(key: string): boolean {
    const { rounds = 0, drifted = false } = this.contests.get(key) ?? {};
    this.contests.delete(key);
    this.contests.set(key, { changedAt: this.now(), drifted: false, rounds });
    this.forgetOld();
    return drifted;
  }

  /**
   * A child of the object has drifted: somebody changed or deleted fields that we applied.
   * @returns whether this makes the object contested
   */
  drifted(key: string): boolean {
    const known = this.contests.get(key);
    const contest = known && !this.isOld(known) ? known : this.begin(key);
    // If several children drift together, that counts once.
    if (contest.drifted) return false;
    contest.rounds++;
    contest.drifted = true;
    return contest.rounds === this.options.patience + 1;
  }

  /** How long to wait before the object is reconciled, in milliseconds. 0 if nobody contests its children. */
  delayMs(key: string): number {
    const { patience, firstDelayMs, longestDelayMs } = this.options;
    const doublings = (this.contests.get(key)?.rounds ?? 0) - patience - 1;
    return doublings < 0 ? 0 : Math.min(firstDelayMs * 2 ** doublings, longestDelayMs);
  }

  /** Objects that are contested now. */
  get size(): number {
    this.forgetOld();
    let contested = 0;
    for (const { rounds } of this.contests.values()) if (rounds > this.options.patience) contested++;
    return contested;
  }

  /** We have changed nothing for a while, so no round precedes the drift. */
  private begin(key: string): Contest {
    const contest = { changedAt: this.now(), drifted: false, rounds: -1 };
    this.contests.delete(key);
    this.contests.set(key, contest);
    this.forgetOld();
    return contest;
  }

  private forgetOld(): void {
    for (const [key, contest] of this.contests) {
      if (!this.isOld(contest)) return;
      this.contests.delete(key);
    }
  }

  /** Whether drift from now on begins a new contest. A child that waits for its correction is part of the present one. */
  private isOld({ changedAt, drifted }: Contest): boolean {
    const { quietMs, longestDelayMs } = this.options;
    return this.now() - changedAt > quietMs + (drifted ? longestDelayMs + quietMs : 0);
  }
}
