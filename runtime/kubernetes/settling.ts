import { ApiError, isRightMissing } from "./errors";

/** How long it may take until an API server that has just started knows its roles, in milliseconds. */
const SETTLING_MS = 5_000;
const ASK_AGAIN_SECONDS = 1;

/**
 * Knows whether the API server was away a moment ago. An API server that has just started answers before it has read its roles,
 * and refuses everything (kubernetes, plugin/pkg/auth/authorizer/rbac: nothing waits for the informers; only /readyz says so).
 */
export class Settling {
  private awayAt = Number.NEGATIVE_INFINITY;

  /** @param now a monotonic clock, in milliseconds */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /** The API server was not reached. */
  wasAway(): void {
    this.awayAt = this.now();
  }

  /**
   * The error that stands for a refusal. If a right is missing soon after the server was away, the error says that the server is
   * busy (503).
   */
  taken(error: ApiError): ApiError {
    const isSettling = this.now() - this.awayAt < SETTLING_MS;
    if (!isSettling || !isRightMissing(error)) return error;
    const message = `the API server has just started, and may not know its roles yet: ${error.message}`;
    return new ApiError(503, { message, details: { retryAfterSeconds: ASK_AGAIN_SECONDS } }, error.request);
  }
}
