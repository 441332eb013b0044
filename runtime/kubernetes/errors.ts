/** The `Status` object with which the API server answers a request that it refuses. */
export interface ApiStatus {
  reason?: string;
  message?: string;
  code?: number;
  details?: {
    name?: string;
    kind?: string;
    retryAfterSeconds?: number;
    causes?: { reason?: string; message?: string; field?: string }[];
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

  /** The server's word for why, such as "NotFound", "Conflict", "Invalid", "Expired". */
  get reason(): string {
    return this.status.reason ?? "Unknown";
  }
}

/** No answer came: the connection failed, broke, or the answer took too long. The request may have been done. */
export class ApiUnreachableError extends Error {
  constructor(
    readonly request: string,
    override readonly cause: Error,
  ) {
    super(`${request}: ${cause.message}`);
    this.name = "ApiUnreachableError";
  }
}

/** Whether `error` is the API server's refusal with this HTTP code. */
export function isApiError(error: unknown, code: number): error is ApiError {
  return error instanceof ApiError && error.code === code;
}
