import { monotonicNow } from "../base/clock";
import { dropOldest } from "../base/limits";
import { formatName, type ObjectName } from "../base/objects";
import { kindKey, type TypeMeta } from "../base/resource";
import type { Cause } from "../base/turn";

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

/** An object whose children we or another client have changed recently. */
interface Contest {
  /** When we last changed the object's children, on the monotonic clock. If that is unknown: when the first drift was seen. */
  changedAt: number;
  /** Whether a child has drifted since. */
  drifted: boolean;
  /** How many times in a row a child drifted soon after we changed it. */
  rounds: number;
}

/** When another client counts as changing the children of an object back. */
export const CHILDREN_CHANGED_BACK: ContestsOptions = {
  patience: 5,
  firstDelayMs: 250,
  longestDelayMs: 10_000,
  quietMs: 60_000,
};

/**
 * An object is in a cycle if its own changes come back to it by an object that it uses: soon after each change, this many times
 * in a row. From then on it reacts less and less often.
 */
export const CYCLE: ContestsOptions = {
  patience: 5,
  firstDelayMs: 1_000,
  longestDelayMs: 60_000,
  quietMs: 5_000,
};

/**
 * Objects whose children another controller of the same fields changes back each time that we apply them. Neither side can win, so
 * we correct the child less and less often until the other side stops. Later drift is corrected at once again.
 */
export class Contests {
  /** In the order of `changedAt`. */
  private readonly contests = new Map<string, Contest>();

  constructor(
    private readonly options: ContestsOptions,
    private readonly now: () => number = monotonicNow,
  ) {}

  /** We have changed children of the object. @returns whether one had drifted since we did so last */
  changed(key: string): boolean {
    const { rounds = 0, drifted = false } = this.contests.get(key) ?? {};
    this.begin(key, rounds);
    return drifted;
  }

  /**
   * A child of the object has drifted: another client changed or deleted fields that we applied.
   * @returns whether this makes the object contested
   */
  drifted(key: string): boolean {
    const known = this.contests.get(key);
    // If we have changed nothing for a while, no round precedes the drift.
    const contest = known && !this.isOld(known) ? known : this.begin(key, -1);
    // If several children drift together, that counts once.
    if (contest.drifted) return false;
    contest.rounds++;
    contest.drifted = true;
    return contest.rounds === this.options.patience + 1;
  }

  /** How long to wait before the object is reconciled, in milliseconds. 0 if its children are not contested. */
  delayMs(key: string): number {
    const { patience, firstDelayMs, longestDelayMs } = this.options;
    const contest = this.contests.get(key);
    const doublings = (contest && !this.isOld(contest) ? contest.rounds : 0) - patience - 1;
    return doublings < 0 ? 0 : Math.min(firstDelayMs * 2 ** doublings, longestDelayMs);
  }

  /** Objects that are contested now. */
  get size(): number {
    this.forgetOld();
    let contested = 0;
    for (const { rounds } of this.contests.values()) if (rounds > this.options.patience) contested++;
    return contested;
  }

  private begin(key: string, rounds: number): Contest {
    const contest = { changedAt: this.now(), drifted: false, rounds };
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

/**
 * This many rounds may be well founded: a handler may lead its children step by step, or answer in one child how many replicas of
 * another one are ready.
 */
const MOST_ROUNDS = 20;
/** After this many more rounds they are reported again, because Kubernetes keeps Events for an hour. */
const REPEAT_ROUNDS = 1_000;
/** The most objects that are counted. If there are more, those that were reconciled last count. */
const MOST_COUNTED = 10_000;

/** An object whose last reconciles all changed children without a reason, and the children that the last one changed. */
interface Count {
  readonly changed: ReadonlySet<string>;
  readonly rounds: number;
}

/**
 * Counts how often in a row a handler has answered different children although only the object's own children had changed: perhaps it
 * puts the time into a child. Each answer changes a child, the child reports that, and so the handler is asked again, without end.
 */
export class DifferingAnswers {
  private readonly counts = new Map<string, Count>();

  /**
   * A reconcile of the object has ended.
   * @param cause why it began
   * @param changes of its children
   * @param isUndoing whether another client had changed a child
   * @param waits whether a child waits for another. Such children are changed one after another, although the handler answers the same
   * @returns how many rounds there were, if that is to be reported now
   */
  ended(
    key: string,
    cause: Cause | undefined,
    changes: readonly (TypeMeta & ObjectName)[],
    isUndoing: boolean,
    waits: boolean,
  ): number | undefined {
    const last = this.counts.get(key);
    this.counts.delete(key);
    if (cause !== "child" || changes.length === 0 || isUndoing) return undefined;
    const changed = new Set(changes.map((each) => `${kindKey(each)} ${formatName(each)}`));
    const isNext = waits && ![...changed].some((each) => last?.changed.has(each));
    const rounds = isNext ? 1 : (last?.rounds ?? 0) + 1;
    this.counts.set(key, { rounds, changed });
    dropOldest(this.counts, MOST_COUNTED);
    return rounds === MOST_ROUNDS || rounds % REPEAT_ROUNDS === 0 ? rounds : undefined;
  }
}
