import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { readBody } from "../http/readBody";
import { isRecord } from "../json/json";

/** The result of a request to a collector. */
export type Posted =
  /** @property rejected how many of the spans it has refused although it took the request */
  | { readonly kind: "taken"; readonly rejected: number }
  | {
      readonly kind: "refused";
      /** Why it failed, without any text that the collector wrote or was sent. */
      readonly why: string;
      /** Whether another try may succeed. */
      readonly isTemporary: boolean;
      readonly retryAfterMs?: number | undefined;
    };

/** Codes at which another try may succeed (https://opentelemetry.io/docs/specs/otlp/#retryable-response-codes). */
const TEMPORARY = [429, 502, 503, 504];
/** The longest answer that is read, in bytes. The only content is how many spans were refused. */
const MOST_BYTES = 64 * 1024;

/** Posts spans to a collector. Never throws, and ends after `timeoutMs` whatever the collector does. Follows no redirection. */
export function post(
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: string,
  timeoutMs: number,
): Promise<Posted> {
  return new Promise((resolve) => {
    const refuse = (error: NodeJS.ErrnoException) => {
      const isLate = error.name === "AbortError" || error.name === "TimeoutError";
      const why = isLate
        ? `the collector gave no answer within ${timeoutMs / 1000} s`
        : `the collector cannot be reached (${error.code ?? "no code"})`;
      resolve({ kind: "refused", why, isTemporary: true });
    };
    try {
      const request = (url.protocol === "https:" ? requestHttps : requestHttp)(
        url,
        {
          method: "POST",
          agent: false,
          signal: AbortSignal.timeout(timeoutMs),
          headers: {
            ...headers,
            "content-type": "application/json",
            "content-length": Buffer.byteLength(body),
          },
        },
        (response) =>
          void readBody(response, MOST_BYTES).then((text = "") => resolve(outcome(response, text)), refuse),
      );
      request.on("error", refuse);
      request.end(body);
    } catch (error) {
      refuse(error as NodeJS.ErrnoException);
    }
  });
}

function outcome({ statusCode = 0, headers }: IncomingMessage, text: string): Posted {
  if (statusCode >= 200 && statusCode < 300) return { kind: "taken", rejected: rejectedIn(text) };
  const why = `the collector answered ${statusCode}`;
  const isTemporary = TEMPORARY.includes(statusCode);
  return { kind: "refused", why, isTemporary, ...(isTemporary && { retryAfterMs: retryAfterIn(headers) }) };
}

function rejectedIn(text: string): number {
  try {
    const answer: unknown = JSON.parse(text);
    const partial = isRecord(answer) ? answer["partialSuccess"] : undefined;
    const rejected = isRecord(partial) ? Number(partial["rejectedSpans"]) : 0;
    return Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0;
  } catch {
    return 0;
  }
}

/** A header of seconds, or of a date. */
function retryAfterIn({ "retry-after": after }: IncomingHttpHeaders): number | undefined {
  if (after === undefined) return undefined;
  const ms = /^\d+$/.test(after) ? Number(after) * 1_000 : Date.parse(after) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
