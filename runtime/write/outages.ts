import { monotonicNow } from "../base/clock";
import { type FailureReason, ReconcileFailure } from "../base/failure";
import { Recent } from "../base/limits";
import { cut } from "../base/text";
import { ApiError, ApiUnreachableError, isBusy, isUncached, isUndecided } from "../kubernetes/errors";

/** Nothing is concluded from failing requests for this long, in milliseconds: an API server may be busy for as long. */
const PATIENCE_MS = 20_000;
/** The same after too many requests (429), an unknown account (401) or a redirect (3xx), which say little about what was asked for. */
const LONG_PATIENCE_MS = 120_000;
const FEWEST_FAILURES = 3;
/** What has failed for so long is tried again this often. */
const RETRY = { retryAfterSeconds: 10 };
/** A request that was not tried for this long is forgotten. */
const FORGOTTEN_AFTER_MS = 600_000;
const LONGEST_SAID = 600;
const REMEDY =
  "Repair what serves this kind or stores it, the webhook or the policy that must allow the request, or the limit or the proxy that stops it";
const CUT_REMEDY =
  "Perhaps the API server panics at what it is sent, as its log then says, or a proxy before it lets no large request pass";

/** The object for which a request was sent. */
export interface RequestOwner {
  /** Reads the object from the API server. @throws ObjectGoneError if it is gone or being deleted */
  readonly confirmOwner: () => Promise<void>;
  /** A text without the values of Secrets. Mask a text before it is shortened, because half of a value is not recognised. */
  readonly masked: (text: string) => string;
}

interface Outage {
  /** In milliseconds since 1970. */
  readonly since: number;
  /** On the monotonic clock. */
  readonly begin: number;
  failures: number;
}

/**
 * Distinguishes a busy API server from one that fails only certain requests. The API that serves a kind or a required webhook is
 * down, a policy cannot be applied, the content makes the API server panic, or a proxy cuts each connection with a large request.
 * A busy API server is not reported. The other failures are reported only if they last.
 *
 * Guarantee (tests/unit/childWriterRefusals.test.ts): nothing is reported as long as the API server does not answer for the object.
 */
export class Outages {
  /** By what was tried. */
  private readonly outages: Recent<Outage>;

  /**
   * @param reason of the failures
   * @param now a monotonic clock, in milliseconds
   */
  constructor(
    private readonly reason: FailureReason,
    private readonly now: () => number = monotonicNow,
  ) {
    this.outages = new Recent({ keptMs: FORGOTTEN_AFTER_MS, now });
  }

  /**
   * The outage is over: the request succeeded, is no longer needed, or was refused for another reason.
   * @param key as for {@link met}
   */
  ended(key: string): void {
    this.outages.delete(key);
  }

  /**
   * What to throw for a failed request.
   * @param key of what is tried again and again: the same for each try
   * @param what the API server has failed to do, for the message. @default to answer the request
   * @returns undefined if the error is no outage. A `ReconcileFailure` if the outage lasts. Otherwise an error that is no fault of
   *   the object, or the error with which the owner could not be read
   */
  async met(
    error: unknown,
    key: string,
    { confirmOwner, masked }: RequestOwner,
    what?: string,
  ): Promise<unknown> {
    if (!isOutage(error)) {
      this.ended(key);
      return undefined;
    }
    const { since, begin, failures } = this.failed(key);
    const isCut = error instanceof ApiUnreachableError;
    const busy = isCut || isBusy(error) ? error : new ApiError(503, error.status, error.request);
    // Such an error is mostly about who asks and how often, and not about what is asked for.
    const isOfClient = !isCut && error.code < 500 && !isUncached(error);
    const patienceMs = isOfClient ? LONG_PATIENCE_MS : PATIENCE_MS;
    if (failures < FEWEST_FAILURES || this.now() - begin < patienceMs) return busy;
    try {
      await confirmOwner();
    } catch (problem) {
      if (!isBusy(problem) && !(problem instanceof ApiUnreachableError)) return problem;
      // What failed until now failed because the API server was away.
      this.ended(key);
      return busy;
    }
    const time = `${new Date(since).toISOString().slice(0, 19)}Z`;
    const said = cut(masked(error.message), LONGEST_SAID);
    const message = `since ${time} the API server has failed to ${what ?? `answer ${error.request}`}, although it answers other requests: ${said}. ${isCut ? CUT_REMEDY : REMEDY}: this is tried again every ${RETRY.retryAfterSeconds} seconds.`;
    return new ReconcileFailure(this.reason, message, { ...RETRY, cause: error });
  }

  private failed(key: string): Outage {
    const outage = this.outages.get(key) ?? { since: Date.now(), begin: this.now(), failures: 0 };
    outage.failures++;
    this.outages.set(key, outage);
    return outage;
  }
}

/** Whether it may be an outage: a request that could not even be sent says nothing about what was asked for. */
function isOutage(error: unknown): error is ApiError | ApiUnreachableError {
  if (error instanceof ApiUnreachableError) return error.isSent;
  return error instanceof ApiError && isUndecided(error);
}
