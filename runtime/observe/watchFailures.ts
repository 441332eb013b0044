import { ApiError, ApiUnreachableError, isApiError, isUncached } from "../kubernetes/errors";

/** What a reflector does: it lists, unless it can continue where it was, and then it watches. */
export type Step = "list" | "watch";

/** What a reflector does after a list or a watch has failed. */
type Consequence =
  /** It continues where it was. */
  | "retry"
  /** It lists. If that happens again and again, it lists less and less often. */
  | "relist"
  /** It reports that, and lists until it is no longer refused. No caller waits for that. */
  | "refused";

/** Whether the API server answers lists of another kind. If not, a list that fails says nothing about its kind. */
export type AnswersOthers = (signal: AbortSignal) => Promise<boolean>;

/** The kind does not exist (404), or we may not list it (403). That will not change for a while. */
const REFUSAL_CODES = [403, 404];
/** The kind can be listed, but we may not watch it (403), or it cannot be watched (405). */
const UNWATCHED_CODES = [403, 405];
/** The lists of a kind may fail for this long before this counts against the kind, in milliseconds: the API server may be away. */
export const LISTING_PATIENCE_MS = 10_000;
/** The same if the kind was listed before. Then the known objects are outdated, and are still served. */
const STALE_AFTER_MS = 120_000;
const FEWEST_FAILURES = 3;

/**
 * The one table of what goes wrong between a reflector and the API server. The first line that fits counts.
 *
 * | error | of a list | of a watch |
 * | --- | --- | --- |
 * | 403: not allowed | refused | relist: the next list is refused too, if that is not allowed either |
 * | 404: there is no such kind | refused | refused |
 * | 405: the kind cannot be watched | lasting | relist |
 * | 410: the version is too old | relist, lasting | relist |
 * | 429: we ask too much | retry | lasting |
 * | 429: the API server cannot fill its cache with the kind | lasting | lasting |
 * | 504 "Timeout": the version is newer than any, as after a restore of etcd | relist, lasting | relist |
 * | any other answer | lasting | lasting |
 * | no answer, or none that can be read | lasting | retry |
 * | the request could not be sent | retry | retry |
 *
 * "lasting" means: retry at first. If a list goes on failing while the API server answers others, it is refused. If a watch goes on
 * failing, relist.
 */
export class WatchFailures {
  /** How many lists in a row failed other than by a refusal. */
  private lists = { count: 0, since: 0 };
  /** Since when watches have failed, with no report of one in between. */
  private watchFailingSince: number | undefined;

  /**
   * @param now a monotonic clock, in milliseconds
   */
  constructor(
    private readonly answersOthers: AnswersOthers | undefined,
    private readonly now: () => number,
  ) {}

  /** A list is complete. */
  listed(): void {
    this.lists.count = 0;
  }

  /** A watch has reported something. */
  watched(): void {
    this.watchFailingSince = undefined;
  }

  /**
   * A list or a watch has failed.
   * @param step the one that failed
   * @param wasListed whether the kind was listed before
   */
  async afterFailure(
    error: Error,
    step: Step,
    wasListed: boolean,
    signal: AbortSignal,
  ): Promise<Consequence> {
    if (step === "watch") return this.afterWatch(error);
    if (error instanceof ApiError && REFUSAL_CODES.includes(error.code)) return "refused";
    if (await this.isListAtFault(error, wasListed, signal)) return "refused";
    return isVersionUseless(error) ? "relist" : "retry";
  }

  private afterWatch(error: Error): Consequence {
    if (!(error instanceof ApiError)) return "retry";
    if (UNWATCHED_CODES.includes(error.code)) return "relist";
    if (REFUSAL_CODES.includes(error.code)) return "refused";
    return this.isWatchLasting() || isVersionUseless(error) ? "relist" : "retry";
  }

  /** Whether lists of this kind have failed for a while, although the API server answers others. */
  private async isListAtFault(error: Error, wasListed: boolean, signal: AbortSignal): Promise<boolean> {
    const isUnsent = error instanceof ApiUnreachableError && !error.isSent;
    // The API server was away. What failed until now says nothing about the kind.
    if (isUnsent) this.lists.count = 0;
    // That we ask too much says nothing about the kind either.
    const isThrottled = isApiError(error, 429) && !isUncached(error);
    if (isUnsent || isThrottled || !this.isListLasting(wasListed)) return false;
    const isAtFault = (await this.answersOthers?.(signal)) ?? false;
    if (!isAtFault) this.lists.count = 0;
    return isAtFault;
  }

  /** Whether watches have failed for a while, now that another one has. */
  private isWatchLasting(): boolean {
    const now = this.now();
    this.watchFailingSince ??= now;
    if (now - this.watchFailingSince < STALE_AFTER_MS) return false;
    this.watchFailingSince = undefined;
    return true;
  }

  /** Whether lists have failed for a while, now that another one has. */
  private isListLasting(wasListed: boolean): boolean {
    const { lists } = this;
    const now = this.now();
    if (lists.count === 0) lists.since = now;
    lists.count++;
    const patienceMs = wasListed ? STALE_AFTER_MS : LISTING_PATIENCE_MS;
    return lists.count >= FEWEST_FAILURES && now - lists.since >= patienceMs;
  }
}

/**
 * Whether only a new list helps: the version is too old (410), or newer than any existing version (504 "Too large resource
 * version", of which the reason is Timeout), as after a restore of etcd. A gateway in front of a busy API server also answers
 * 504. In that case a list would only add to the load.
 */
function isVersionUseless(error: Error): boolean {
  return isApiError(error, 410) || (isApiError(error, 504) && error.reason === "Timeout");
}

/** The first of the waits, in milliseconds. */
export const FIRST_PAUSE_MS = 200;

/** Waits between tries, each twice as long as the one before, until a success ends the row. */
export class GrowingPause {
  private ms = FIRST_PAUSE_MS;

  /** @param longestMs the longest wait, in milliseconds */
  constructor(private readonly longestMs: number) {}

  /**
   * How long to wait this time, in milliseconds: between half of the wait and one and a half of it, so that many watches do not try
   * again at once.
   */
  next(): number {
    const { ms } = this;
    this.ms = Math.min(ms * 2, this.longestMs);
    return ms * (0.5 + Math.random());
  }

  /** The row of tries has ended. */
  reset(): void {
    this.ms = FIRST_PAUSE_MS;
  }
}
