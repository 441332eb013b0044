import { ReconcileFailure } from "../failure";
import { ApiError, ApiUnreachableError, isBusy } from "../kubernetes/errors";
import { cut } from "../text/cut";
import type { WriteScope } from "./childApplier";

/** Nothing is concluded from failing writes of a child for this long, in milliseconds: an API server may be busy for as long. */
const PATIENCE_MS = 20_000;
const FEWEST_FAILURES = 3;
/** A child that cannot be written for so long is tried again this often. */
const RETRY = { retryAfterSeconds: 10 };
/** A child that nobody has tried to write for this long is forgotten. */
const FORGOTTEN_AFTER_MS = 600_000;
const LONGEST_SAID = 600;

/**
 * How the API server says that it cannot call a webhook that must allow the write (kubernetes,
 * staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/validating/dispatcher.go).
 */
const UNASKED = /^Internal error occurred: failed calling webhook /;

interface Outage {
  /** In milliseconds since 1970. */
  readonly since: number;
  /** On the monotonic clock. */
  readonly begin: number;
  last: number;
  failures: number;
}

/**
 * Distinguishes a busy API server from one that answers but cannot write a child: the API that serves the kind is down, or a
 * webhook that the API server must ask. The first is nobody's fault. Neither is the second for a while, and then the object
 * reports it.
 *
 * Guarantee (tests/unit/outages.test.ts): nothing is reported about a child as long as the API server does not answer for its
 * owner.
 */
export class Outages {
  /** By what was tried; the one that failed last is at the end. */
  private readonly outages = new Map<string, Outage>();

  /** @param now a monotonic clock, in milliseconds */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /** The child was written, or is as it should be, or its write was refused for another reason. @param key as for {@link met} */
  ended(key: string): void {
    this.outages.delete(key);
  }

  /**
   * What to throw for a failed write of a child.
   * @param key of what is tried again and again: the same for each try
   * @param child its kind and name, for people
   * @returns undefined if the error is not such an outage; a `ReconcileFailure` if the outage lasts; otherwise an error that is
   *   nobody's fault, or the one that the owner could not be read with
   */
  async met(
    error: unknown,
    key: string,
    child: string,
    { confirmOwner, masked }: Pick<WriteScope, "confirmOwner" | "masked">,
  ): Promise<unknown> {
    if (!isOutage(error)) {
      this.ended(key);
      return undefined;
    }
    const { since, begin, failures } = this.failed(key);
    const busy = new ApiError(503, error.status, error.request);
    if (failures < FEWEST_FAILURES || this.now() - begin < PATIENCE_MS) return busy;
    try {
      await confirmOwner();
    } catch (problem) {
      return isBusy(problem) || problem instanceof ApiUnreachableError ? busy : problem;
    }
    const time = `${new Date(since).toISOString().slice(0, 19)}Z`;
    const said = cut(masked(error.message), LONGEST_SAID);
    const message = `since ${time} the API server has failed to write ${child}, although it answers other requests: ${said}. Repair what serves this kind, or the webhook that must allow it: the child is tried again every ${RETRY.retryAfterSeconds} seconds.`;
    return new ReconcileFailure("ChildRefused", message, { ...RETRY, cause: error });
  }

  private failed(key: string): Outage {
    const now = this.now();
    for (const [other, { last }] of this.outages) {
      if (now - last < FORGOTTEN_AFTER_MS) break;
      this.outages.delete(other);
    }
    const outage = this.outages.get(key) ?? { since: Date.now(), begin: now, last: now, failures: 0 };
    this.outages.delete(key);
    this.outages.set(key, outage);
    outage.last = now;
    outage.failures++;
    return outage;
  }
}

/** Whether it may be an outage. Too many requests (429) or an account that nobody knows (401) say nothing about the child. */
function isOutage(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code >= 500 && (isBusy(error) || UNASKED.test(error.message));
}
