import type { IncomingMessage, ServerResponse } from "node:http";
import type { Operator } from "../../definition/definition";
import type { HintResult } from "../../engine/metrics";
import { type HttpListener, type ListenAddress, listen } from "../../http/listen";
import { readBody } from "../../http/readBody";
import { type Hint, HintError, parseHint } from "./hint";

/** How a hint server handles requests. */
export interface HintServerOptions extends ListenAddress {
  readonly operator: Pick<Operator, "customResource" | "namespaces">;
  /**
   * Takes a hint.
   * @param forwarded whether another replica has passed it on: it must not be passed on again
   */
  readonly take: (hint: Hint, forwarded: boolean) => HintResult | Promise<HintResult>;
  /** Called for each request that was answered, except those to another path or with another method. */
  readonly onResult: (result: HintResult) => void;
}

/** The path to which hints are sent. */
export const HINT_PATH = "/hints";
/** Says that another replica has passed the hint on, and which. */
export const FORWARDED_HEADER = "argosy-forwarded-by";

/** The longest hint, in bytes. A hint is two names, and a Sensor adds little. */
const MOST_BYTES = 64 * 1024;

const OPTIONS = {
  // Longer than Go's clients keep an idle connection (net/http, DefaultTransport: 90 s). So the sender closes the
  // connection, and no hint is sent on a connection that is just being closed.
  keepAliveTimeout: 120_000,
};

/**
 * Answers a hint, `POST /hints`, with 204 and no body when its object is going to be reconciled, here or by the
 * leader. A Sensor reads no body, and so a body would cost it the connection (argo-events, pkg/sensors/triggers/http).
 * If another try may help, the answer is 503: too many objects wait, or nobody leads. If it does not help, the answer
 * is 400, 404, 405 or 413.
 * @throws Error if the address cannot be had
 */
export function startHintServer(options: HintServerOptions): Promise<HttpListener> {
  return listen(options, (request, response) => void answer(request, response, options), OPTIONS);
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { operator, take, onResult }: HintServerOptions,
): Promise<void> {
  if (request.url !== HINT_PATH) return refuse(response, 404, `the only path is ${HINT_PATH}`);
  if (request.method !== "POST") {
    response.setHeader("allow", "POST");
    return refuse(response, 405, "a hint must be a POST");
  }
  const isTooLong = Number(request.headers["content-length"]) > MOST_BYTES;
  try {
    const body = isTooLong ? undefined : await readBody(request, MOST_BYTES);
    if (body === undefined) {
      onResult("invalid");
      return refuse(response, 413, `a hint may have at most ${MOST_BYTES} bytes`);
    }
    const result = await take(parseHint(body, operator), request.headers[FORWARDED_HEADER] !== undefined);
    onResult(result);
    if (result === "full") return refuse(response, 503, "too many objects wait");
    if (result === "leaderless") return refuse(response, 503, "no leader takes it");
    response.writeHead(204).end();
  } catch (error) {
    if (error instanceof HintError) {
      onResult("invalid");
      return refuse(response, 400, error.message);
    }
    // The sender closed the connection before the end of the body.
    if (!response.headersSent) refuse(response, 500, (error as Error).message);
  }
}

function refuse(response: ServerResponse, code: number, why: string): void {
  // The rest of the body is not read.
  const headers = { "content-type": "text/plain", ...(code === 413 && { connection: "close" }) };
  response.writeHead(code, headers).end(`${why}\n`);
}
