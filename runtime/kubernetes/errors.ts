import { isRecord } from "../json/json";

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

  /** The server's reason in one word, such as "NotFound", "Conflict", "Invalid", "Expired". */
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

/**
 * How the API server says that an admission webhook or a policy denies a request (kubernetes,
 * staging/src/k8s.io/apiserver/pkg/admission/plugin: webhook/errors/statuserror.go, policy/validating/dispatcher.go,
 * policy/generic/policy_dispatcher.go).
 */
const DENIAL =
  /^(?:\S+ (?:"[^"]*" )?is forbidden: )?((?:admission webhook|ValidatingAdmissionPolicy|policy) (?:"[^"]*"|'[^']*')(?: with binding '[^']*')? denied (?:the )?request)\b/;
/**
 * How the API server words that it could not apply a policy, or one of its bindings, at all, for example because its parameters are
 * missing or not read yet (policy/generic/policy_dispatcher.go, addConfigError). A webhook's own words follow "denied the request".
 */
const UNAPPLIED_POLICY = new RegExp(
  `${DENIAL.source}(?<= denied request): failed to configure (?:policy|binding): `,
);
/** A denial with one of these codes is treated like a refusal by the API server itself. */
const PLAIN_DENIALS = [400, 409, 413, 422];

/**
 * How the API server refuses to apply to a custom resource if one of its field managers wrote it in a version that the CRD has no
 * longer (https://github.com/kubernetes/kubernetes/issues/111937). An update forgets such entries; seen with 1.34.
 */
const GONE_VERSION = /^request to convert CR to an invalid group\/version: \S+$/;
const GONE_VERSION_REMEDY =
  "metadata.managedFields still names this version, which the CustomResourceDefinition has no longer. Annotate the object by kubectl: the API server then forgets it";

/**
 * The API server's words for the denial of a request, with the name of the webhook or the policy and without its message. Undefined
 * if the message of a refusal is about anything else.
 */
export function denialIn(message: string): string | undefined {
  return DENIAL.exec(message)?.[1];
}

/**
 * What the API server answered, as an error. A webhook chooses the code and the details of its denial. But with 404 nothing is gone,
 * and with 429 or 503 nobody is busy: any such denial counts as forbidden, and its reason and details are not believed. A policy that
 * could not be applied says nothing about the object: that counts as a failure of the API server, with the code that it uses if it
 * cannot call a webhook.
 */
export function apiErrorOf(code: number, status: ApiStatus, request: string): ApiError {
  const { message = "" } = status;
  if (GONE_VERSION.test(message))
    return new ApiError(code, { ...status, message: `${message}: ${GONE_VERSION_REMEDY}` }, request);
  const isUnapplied = UNAPPLIED_POLICY.test(message);
  const isForbidden = denialIn(message) !== undefined && !PLAIN_DENIALS.includes(code);
  if (!isUnapplied && !isForbidden) return new ApiError(code, status, request);
  const { details: _d, reason: _r, ...denial } = status;
  const meant = isUnapplied ? 500 : 403;
  return new ApiError(meant, { ...denial, code: meant }, request);
}

/**
 * Whether an apply was refused because what is stored does not fit the schema of its kind: somebody gave a field another type
 * (kubernetes, staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal/structuredmerge.go).
 */
export function isMisfit(error: unknown): error is ApiError {
  return (
    error instanceof ApiError &&
    /^failed to (create typed live object|create manager for existing fields)/.test(error.message)
  );
}

/** Whether the account has no right to what it asks for. A policy or a webhook that refuses with 403 says something else. */
export function isRightMissing(error: unknown): error is ApiError {
  return isApiError(error, 403) && /\bcannot \w+ (resource|path)\b/.test(error.message);
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
  return code === 413 || message.includes("etcdserver: request is too large");
}

/**
 * The message of etcd while it has no leader, is too slow or is full. If an object is too large, the object is at fault.
 * @see https://github.com/etcd-io/etcd/blob/main/api/v3rpc/rpctypes/error.go
 */
const ETCD_TROUBLE = /etcdserver: (?!request is too large)|rpc error: code = Unavailable/;

/**
 * Whether the API server, or a proxy before it, or etcd behind it, is too busy at the moment, or is starting or stopping. The
 * same request may succeed later: see {@link retryAfterMs}. An API server that was not reached is another case: see {@link
 * ApiUnreachableError}.
 */
export function isBusy(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  const { code, message } = error;
  // The API server recognizes nobody at the moment, or a proxy before it sends us elsewhere. No object is at fault.
  if (code === 401 || (code >= 300 && code < 400)) return true;
  // An eviction is refused with 429 too.
  if (code === 429) return !hasCause(error, "DisruptionBudget");
  if (code === 502 || code === 503 || code === 504) return true;
  // A refusal of an object is a Status. An API server that fails itself answers in plain text.
  const isFault = retryAfterMs(error) !== undefined || error.status.kind !== "Status";
  return code >= 500 && (isFault || ETCD_TROUBLE.test(message));
}

/**
 * Whether the API server cannot fill its cache with a kind, for instance because the kind's conversion webhook is down (kubernetes,
 * staging/src/k8s.io/apiserver/pkg/storage/cacher/ready.go). Then this kind cannot be listed, and nobody asks too much.
 */
export function isUncached(error: unknown): boolean {
  return isApiError(error, 429) && /^storage is \(re\)initializing/.test(error.message);
}

/**
 * Whether the API server cannot call a webhook that must allow the request (kubernetes,
 * staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/validating/dispatcher.go), or cannot apply a policy that must: see {@link
 * apiErrorOf}.
 */
function isUnasked(error: unknown): boolean {
  if (!isApiError(error, 500)) return false;
  const { message } = error;
  return /^Internal error occurred: failed calling webhook /.test(message) || UNAPPLIED_POLICY.test(message);
}

/**
 * Whether nobody has decided about the request: the API server is busy, or cannot call a webhook or apply a policy that must allow
 * the request.
 */
export function isUndecided(error: unknown): boolean {
  return isBusy(error) || isUnasked(error);
}

/**
 * Whether other objects hold what an object needs: the room of a ResourceQuota (kubernetes,
 * staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota), a port of the nodes or an address (pkg/registry/core/service), or
 * something of which a webhook allows only one, such as the host of an Ingress.
 */
export function isTaken(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  return / exceeded quota: |\balready (allocated|defined|in use|marked)\b/.test(error.message);
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
