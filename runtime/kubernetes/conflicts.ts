import { ApiError, isApiError, isBusy } from "./errors";

/**
 * The API server refuses a write with 409 again and again, though nobody has written the object meanwhile. This is not a race: a
 * webhook or a proxy refuses the write.
 */
export class PersistentConflictError extends ApiError {
  constructor({ code, status, request }: ApiError) {
    super(code, status, request);
    this.name = "PersistentConflictError";
  }
}

/** Whether a write failed because somebody else has written the object meanwhile. Another try may succeed. */
export function isRace(error: unknown): error is ApiError {
  return isApiError(error, 409) && !(error instanceof PersistentConflictError);
}

/** How the API server names a policy or a webhook that refuses a write, or that does not answer. */
const POLICY = /admission webhook|failed calling webhook|ValidatingAdmissionPolicy/;

/**
 * The refusal by a policy of the cluster, or by its rules of access. Those may change, so another try makes sense. If a write is
 * wrong by itself, it is always refused.
 *
 * @param error such a refusal, or an error that was caused by one
 */
export function policyRefusalIn(error: unknown): ApiError | undefined {
  const refusal = error instanceof ApiError ? error : (error as Error | undefined)?.cause;
  if (!(refusal instanceof ApiError) || isBusy(refusal)) return undefined;
  if (refusal.code === 403 || refusal instanceof PersistentConflictError) return refusal;
  return POLICY.test(refusal.message) ? refusal : undefined;
}

/** If the object changed this often, another try at once makes no sense. */
const MOST_TRIES = 5;
/** This many conflicts in a row, with no write in between, are a refusal and not a race. */
const MOST_STANDING = 3;

/** The conflicts that the tries of one write meet. After a race there is another try. After a refusal there is none. */
export class Conflicts {
  private tries = 0;
  private standing = 0;

  /** @param mostTries how often the write is tried in all. @default 5 */
  constructor(private readonly mostTries = MOST_TRIES) {}

  /**
   * Takes in that a try was refused with 409. Returns if another try makes sense.
   * @param sent the version onto which we wrote. Undefined: no object was expected
   * @param found the version that exists now. Undefined: there is no object
   * @throws PersistentConflictError if nobody else has written since the last three tries; otherwise the refusal itself, if
   *   there were enough tries
   */
  met(refusal: ApiError, sent: string | undefined, found: string | undefined): void {
    this.standing = sent === found && !isAboutQuota(refusal) ? this.standing + 1 : 0;
    if (this.standing === MOST_STANDING) throw new PersistentConflictError(refusal);
    if (++this.tries >= this.mostTries) throw refusal;
  }
}

/** Two writes in one namespace race for its ResourceQuota too (kubernetes, plugin/pkg/admission/resourcequota). */
function isAboutQuota({ status }: ApiError): boolean {
  return status.details?.kind === "resourcequotas";
}
