import { ROLE_REMEDY } from "../base/failure";
import { isRecord } from "../base/json";
import { SENTENCES } from "./sentences";

/** One of the causes of a refusal (`metav1.StatusCause`). */
interface StatusCause {
  reason?: string;
  message?: string;
  field?: string;
}

/** The `Status` object with which the API server answers a request that it refuses. */
export interface ApiStatus {
  /** "Status", in every answer of the API server itself. */
  kind?: string;
  reason?: string;
  message?: string;
  code?: number;
  /** `continue`: for the pages that are left of a list whose version is too old. */
  metadata?: { continue?: string };
  details?: {
    name?: string;
    kind?: string;
    retryAfterSeconds?: number;
    causes?: StatusCause[];
  };
}

/**
 * The API server answered, and refused.
 * @see https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#http-status-codes
 */
export class ApiError extends Error {
  constructor(
    /** HTTP status code, or the code inside a watch's ERROR event. */
    readonly code: number,
    readonly status: ApiStatus,
    /** The request, as "PATCH /apis/apps/v1/…". */
    readonly request: string,
  ) {
    super(status.message ?? `${request}: HTTP ${code}`);
    this.name = "ApiError";
  }

  /** The server's reason, such as "NotFound", "Conflict", "Invalid", "Expired". */
  get reason(): string {
    return this.status.reason ?? "Unknown";
  }

  /** The causes of the refusal. A proxy before the API server may write anything there, so what is no cause is left out. */
  get causes(): readonly StatusCause[] {
    const causes: unknown = this.status.details?.causes;
    return Array.isArray(causes) ? causes.filter(isCause) : [];
  }
}

function isCause(value: unknown): value is StatusCause {
  const isTextIfAny = (text: unknown) => text === undefined || typeof text === "string";
  return isRecord(value) && [value["reason"], value["message"], value["field"]].every(isTextIfAny);
}

/** A denial with one of these codes is treated like a refusal by the API server itself. */
const PLAIN_DENIALS = [400, 409, 413, 422];

const GONE_VERSION_REMEDY =
  "metadata.managedFields still names this version, which the CustomResourceDefinition has no longer. Annotate the object by kubectl: the API server then forgets it";

/**
 * The API server's message about the denial of a request, with the name of the webhook or the policy and without its message.
 * Undefined if the message of a refusal is about anything else.
 */
export function denialIn(message: string): string | undefined {
  return SENTENCES.denial.exec(message)?.[1];
}

/**
 * What the API server answered, as an error. A webhook chooses the code and the details of its denial. Its 404 does not mean that
 * an object is gone, nor its 429 or 503 that the API server is busy: any such denial counts as forbidden, and its reason and
 * details are dropped. A policy that could not be applied says nothing about the object. That counts as a failure of the API
 * server, with the code that it uses if it cannot call a webhook.
 */
export function apiErrorOf(code: number, status: ApiStatus, request: string): ApiError {
  const { message = "" } = status;
  if (SENTENCES.goneVersion.test(message))
    return new ApiError(code, { ...status, message: `${message}: ${GONE_VERSION_REMEDY}` }, request);
  const isUnapplied = SENTENCES.unappliedPolicy.test(message);
  const isForbidden = denialIn(message) !== undefined && !PLAIN_DENIALS.includes(code);
  if (!isUnapplied && !isForbidden) return new ApiError(code, status, request);
  const { details: _d, reason: _r, ...denial } = status;
  const meant = isUnapplied ? 500 : 403;
  return new ApiError(meant, { ...denial, code: meant }, request);
}

/**
 * Whether an apply was refused because what is stored does not fit the schema of its kind: the schema now gives a field another
 * type.
 */
export function isMisfit(error: unknown): error is ApiError {
  return error instanceof ApiError && SENTENCES.misfit.test(error.message);
}

/** Whether the account has no right to what it asks for. */
export function isRightMissing(error: unknown): error is ApiError {
  return isApiError(error, 403) && SENTENCES.missingRight.test(error.message);
}

/** The message of an error. If a right is missing, with what to do. */
export function withRemedy(error: Error): string {
  return isRightMissing(error) ? `${error.message}. ${ROLE_REMEDY}` : error.message;
}

/** How long it may take until an API server that has just started knows its roles, in milliseconds. */
const SETTLING_MS = 5_000;

/**
 * The error for a refusal. An API server that has just started answers before it has read its roles, and refuses everything
 * (kubernetes, plugin/pkg/auth/authorizer/rbac: nothing waits for the informers; only /readyz says so). If a right is missing
 * then, the error says that the server is busy (503).
 * @param sinceAwayMs how long ago the API server was not reached, in milliseconds
 */
export function settled(error: ApiError, sinceAwayMs: number): ApiError {
  if (sinceAwayMs >= SETTLING_MS || !isRightMissing(error)) return error;
  const message = `the API server has just started, and may not know its roles yet: ${error.message}`;
  return new ApiError(503, { message, details: { retryAfterSeconds: 1 } }, error.request);
}

/**
 * There was no answer: the connection failed or broke, the answer took too long, or our own credentials cannot be read. A request that
 * was sent may have been done.
 */
export class ApiUnreachableError extends Error {
  /** @param isSent false if there was no connection by which the request could be sent. @default true */
  constructor(
    readonly request: string,
    override readonly cause: Error,
    readonly isSent = true,
  ) {
    super(`${request}: ${cause.message}`);
    this.name = "ApiUnreachableError";
  }
}

/** Whether `error` is the API server's refusal with this HTTP code. */
export function isApiError(error: unknown, code: number): error is ApiError {
  return error instanceof ApiError && error.code === code;
}

/**
 * Whether there is no object with the name in the request. A 404 that names no object says that nothing is served at the path: the CRD of
 * the kind is being changed, or one of several API servers does not know it yet. The object may well exist.
 * @see https://github.com/kubernetes/apimachinery/blob/master/pkg/api/errors/errors.go, NewNotFound
 */
export function isNotFound(error: unknown): error is ApiError {
  return isApiError(error, 404) && error.status.details?.name !== undefined;
}

/**
 * For the `catch` of a request: the API server's refusal with this HTTP code counts as an answer.
 * @param answer that answer
 */
export function ifRefused<T>(code: number, answer: T): (error: unknown) => T {
  return (error) => {
    if (isApiError(error, code)) return answer;
    throw error;
  };
}

/** The longest wait that counts. A page of maintenance before the API server may ask for a day, and be gone after a second. */
const LONGEST_RETRY_AFTER_MS = 60_000;

/**
 * How long the API server asks to wait (`Retry-After`), in milliseconds, but at most a minute. If it asks for more, the wait is
 * between half a minute and a minute, so that not all clients come back at the same moment. Undefined if it does not ask.
 */
export function retryAfterMs(error: unknown): number | undefined {
  const seconds = error instanceof ApiError ? error.status.details?.retryAfterSeconds : undefined;
  // A gateway before the API server may write anything there.
  if (typeof seconds !== "number" || !(seconds >= 0)) return undefined;
  const isTooLong = seconds * 1000 > LONGEST_RETRY_AFTER_MS;
  return isTooLong ? LONGEST_RETRY_AFTER_MS * (0.5 + Math.random() / 2) : seconds * 1000;
}

/** Whether the object is larger than the API server or etcd accepts. */
export function isTooLarge({ code, message }: ApiError): boolean {
  return code === 413 || SENTENCES.tooLarge.test(message);
}

/**
 * Whether the API server, or a proxy before it, or etcd behind it, is too busy at the moment, or is starting or stopping. The
 * same request may succeed later: see {@link retryAfterMs}. An API server that was not reached is another case: see {@link
 * ApiUnreachableError}.
 */
export function isBusy(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  const { code, message } = error;
  // The API server authenticates no client at the moment, or a proxy before it redirects us. No object is at fault.
  if (code === 401 || (code >= 300 && code < 400)) return true;
  // An eviction is refused with 429 too.
  if (code === 429) return !hasCause(error, "DisruptionBudget");
  if (code === 502 || code === 503 || code === 504) return true;
  // A refusal of an object is a Status. An API server that fails itself answers in plain text.
  const isFault = retryAfterMs(error) !== undefined || error.status.kind !== "Status";
  return code >= 500 && (isFault || SENTENCES.etcdTrouble.test(message));
}

/**
 * Whether the API server cannot fill its cache with a kind, for instance because the kind's conversion webhook is down. Then this
 * kind cannot be listed, although the answer (429) says that there are too many requests.
 */
export function isUncached(error: unknown): boolean {
  return isApiError(error, 429) && SENTENCES.uncached.test(error.message);
}

/** Whether the API server cannot call a webhook that must allow the request, or cannot apply a policy that must: see {@link apiErrorOf}. */
function isUnasked(error: unknown): boolean {
  if (!isApiError(error, 500)) return false;
  const { message } = error;
  return SENTENCES.unansweredWebhook.test(message) || SENTENCES.unappliedPolicy.test(message);
}

/**
 * Whether the request was neither allowed nor refused: the API server is busy, or cannot call a webhook or apply a policy that
 * must allow the request.
 */
export function isUndecided(error: unknown): boolean {
  return isBusy(error) || isUnasked(error);
}

/** Whether other objects hold what an object needs: the room of a quota, a port, an address or a host. */
export function isTaken(error: unknown): boolean {
  return error instanceof ApiError && SENTENCES.taken.test(error.message);
}

/** Whether nothing can be created because the namespace is being deleted. */
export function isNamespaceTerminating(error: unknown): boolean {
  return isApiError(error, 403) && hasCause(error, "NamespaceTerminating");
}

/**
 * Whether the namespace with that name does not exist. Objects in it went with it, or never existed.
 *
 * @param namespace undefined for an object that is in no namespace
 */
export function isNamespaceMissing(error: unknown, namespace: string | undefined): boolean {
  if (!isApiError(error, 404) || namespace === undefined) return false;
  // kubernetes, plugin/pkg/admission/namespace/lifecycle: NewNotFound(v1.Resource("namespaces"), ...)
  const { kind, name } = error.status.details ?? {};
  return kind === "namespaces" && name === namespace;
}

function hasCause({ causes }: ApiError, reason: string): boolean {
  return causes.some((cause) => cause.reason === reason);
}

/**
 * The API server refuses a write with 409 again and again, although no other client has written the object since it was read. This
 * is not a race: a webhook or a proxy refuses the write.
 */
export class PersistentConflictError extends ApiError {
  constructor({ code, status, request }: ApiError) {
    super(code, status, request);
    this.name = "PersistentConflictError";
  }
}

/** Whether a write failed because another client has written the object since it was read. Another try may succeed. */
export function isRace(error: unknown): error is ApiError {
  return isApiError(error, 409) && !(error instanceof PersistentConflictError);
}

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
  return SENTENCES.policy.test(refusal.message) ? refusal : undefined;
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
   * Notes that a try was refused with 409. Returns if another try makes sense.
   * @param sent the version onto which we wrote. Undefined: no object was expected
   * @param found the version that exists now. Undefined: there is no object
   * @throws PersistentConflictError if no other client has written since the last three tries; otherwise the refusal itself, if
   *   there were enough tries
   */
  met(refusal: ApiError, sent: string | undefined, found: string | undefined): void {
    // Two writes in one namespace race for its ResourceQuota too (kubernetes, plugin/pkg/admission/resourcequota).
    const isAboutQuota = refusal.status.details?.kind === "resourcequotas";
    this.standing = sent === found && !isAboutQuota ? this.standing + 1 : 0;
    if (this.standing === MOST_STANDING) throw new PersistentConflictError(refusal);
    if (++this.tries >= this.mostTries) throw refusal;
  }
}
