/** How a {@link Contests} judges. */
export interface ContestsOptions {
  /** So many times in a row what was undone is mended at once. @default 5 */
  readonly patience?: number;
  /** How long the first time after that is put off, in milliseconds; it doubles with each further one. @default 250 */
  readonly firstDelayMs?: number;
  /** @default 10000 */
  readonly longestDelayMs?: number;
  /** What is undone later than this after it was applied is no part of a contest, in milliseconds. @default 60000 */
  readonly quietMs?: number;
}

/** What is remembered of an object whose children we have changed of late. */
interface Contest {
  /** When we changed them last, on the monotonic clock. */
  changedAt: number;
  /** Whether that has been undone. */
  undone: boolean;
  /** How many times in a row it was, soon after. */
  rounds: number;
}

const DEFAULTS: Required<ContestsOptions> = {
  patience: 5,
  firstDelayMs: 250,
  longestDelayMs: 10_000,
  quietMs: 60_000,
};

/**
 * Objects whose children somebody changes back each time that we have applied them: another controller of the same
 * fields. Neither can win, so what it undid is mended less and less often, until it lets go. Where it has, what is undone
 * later is mended at once again.
 */
export class Contests {
  private readonly options: Required<ContestsOptions>;
  /** In the order of `changedAt`. */
  private readonly contests = new Map<string, Contest>();

  constructor(
    options: ContestsOptions = {},
    private readonly now: () => number = () => performance.now(),
  ) {
    this.options = { ...DEFAULTS, ...options };
  }

  /** We have changed children of the object. */
  changed(key: string): void {
    const rounds = this.contests.get(key)?.rounds ?? 0;
    this.contests.delete(key);
    this.contests.set(key, { changedAt: this.now(), undone: false, rounds });
    this.forgetOld();
  }

  /**
   * Somebody undid what we had applied.
   * @returns whether the object has become contested by that
   */
  undone(key: string): boolean {
    const contest = this.contests.get(key);
    // Of several children that are undone together, one counts.
    if (!contest || contest.undone) return false;
    contest.rounds = this.isOld(contest) ? 0 : contest.rounds + 1;
    contest.undone = true;
    return contest.rounds === this.options.patience + 1;
  }

  /** How long to wait before the object's children are looked at again, in milliseconds; 0 where nobody contests them. */
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

  private forgetOld(): void {
    for (const [key, contest] of this.contests) {
      if (!this.isOld(contest)) return;
      this.contests.delete(key);
    }
  }

  /** Whether whatever is undone from now on begins anew. What waits to be mended is not over yet. */
  private isOld({ changedAt, undone }: Contest): boolean {
    const { quietMs, longestDelayMs } = this.options;
    return this.now() - changedAt > quietMs + (undone ? longestDelayMs + quietMs : 0);
  }
}
