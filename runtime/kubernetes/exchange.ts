import type { IncomingMessage } from "node:http";
import { readBody } from "../base/http/readBody";
import { readJson } from "../base/json";
import { cut } from "../base/text";
import { type ApiError, type ApiStatus, ApiUnreachableError, apiErrorOf } from "./errors";
import type { RequestTraits } from "./gate";

/** One request to the API server, and how it passes the gate. */
export interface ApiRequest extends RequestTraits {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path with its query, "/api/v1/namespaces?limit=5". */
  readonly path: string;
  readonly body?: unknown;
  /** @default "application/json" */
  readonly contentType?: string;
  /** @default "application/json" */
  readonly accept?: string;
  /** The longest answer, in bytes. A longer answer is not read to its end. @default any length */
  readonly longestAnswer?: number;
}

/** An answer with success. */
export interface ApiAnswer<T> {
  /** HTTP status code. */
  readonly code: number;
  /** What the answer's JSON says. */
  readonly body: T;
  /** The length of that JSON, in characters. */
  readonly length: number;
}

/** An answer was longer than {@link ApiRequest.longestAnswer}. */
export class AnswerTooLongError extends Error {
  constructor(request: string, longest: number) {
    super(`${request}: the answer is longer than ${longest} bytes`);
    this.name = "AnswerTooLongError";
  }
}

/**
 * What an answer with success says.
 * @throws ApiUnreachableError if it is no JSON: it does not come from the API server, but from a proxy or a login page before it
 */
export function decode<T>(text: string, request: ApiRequest): T {
  try {
    return readJson(text) as T;
  } catch (error) {
    throw new ApiUnreachableError(requestText(request), error as Error);
  }
}

/**
 * The error for an answer that is JSON and not what was asked for: it does not come from the API server, but from a proxy before it.
 * @param wanted what was asked for: "an object"
 */
export function answerOfAnother(request: ApiRequest, wanted: string): ApiUnreachableError {
  const cause = new Error(`the answer is not ${wanted}: something other than the API server answered`);
  return new ApiUnreachableError(requestText(request), cause);
}

/** The error for an answer without success. @param text of the answer */
export function toApiError(response: IncomingMessage, text: string, request: ApiRequest): ApiError {
  const code = response.statusCode ?? 0;
  let status: ApiStatus;
  try {
    status = (JSON.parse(text) ?? {}) as ApiStatus;
  } catch {
    status = { message: cut(text.trim(), 500) || `HTTP ${code}` };
  }
  const retryAfter = Number(response.headers["retry-after"]);
  if (retryAfter >= 0) status = { ...status, details: { ...status.details, retryAfterSeconds: retryAfter } };
  return apiErrorOf(code, status, requestText(request));
}

/** The text of an answer. @throws AnswerTooLongError. The connection is closed then */
export async function readAll(response: IncomingMessage, request: ApiRequest): Promise<string> {
  const { longestAnswer = Number.POSITIVE_INFINITY } = request;
  const text = await readBody(response, longestAnswer);
  if (text === undefined) throw new AnswerTooLongError(requestText(request), longestAnswer);
  return text;
}

/** A request as errors name it: "PATCH /apis/apps/v1/…", without its query. */
export function requestText({ method, path }: ApiRequest): string {
  return `${method} ${path.split("?")[0]}`;
}
