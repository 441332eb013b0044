import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type HttpListener, type ListenAddress, listen } from "../../base/http/listen";
import { readBody } from "../../base/http/readBody";
import { isRecord, readJson } from "../../base/json";
import type { Intake, IntakeResult } from "./intake";
import { INTAKE_PATH, SUBJECT_HEADER, TOKEN_HEADER } from "./intakeFile";

/** The largest event, in bytes, with what Argo adds to it. A webhook accepts a body of as many bytes by default. */
export const MOST_EVENT_BYTES = 2 ** 20;
/** How many events are in memory at once. A sensor sends an event again if it is not accepted. */
const MOST_AT_ONCE = 8;

const OPTIONS = {
  // Longer than Go's clients keep an idle connection (net/http, DefaultTransport: 90 s).
  keepAliveTimeout: 120_000,
  requestTimeout: 20_000,
};

/** What an intake's server works with. */
export interface IntakeServerOptions extends ListenAddress {
  readonly intake: Intake;
  /** The token that a sensor must know. It is read for each request, so a new token needs no restart. */
  readonly token: () => string;
}

/**
 * Answers an event, `POST /events` with `{"data": ...}`. 204: the event has its object or its Warning, or does not count. 401:
 * the token is missing. 503: the event must be sent again. No answer has a body: a Sensor reads none, and a body would cost it
 * the connection (argo-events, pkg/sensors/triggers/http).
 * @throws Error if the address cannot be had
 */
export function startIntakeServer(options: IntakeServerOptions): Promise<HttpListener> {
  const inWork = new Set<string>();
  return listen(options, (request, response) => void serve(request, response, options, inWork), OPTIONS);
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  options: IntakeServerOptions,
  inWork: Set<string>,
): Promise<void> {
  const end = (code: number) => {
    // An unread rest of the body would be taken for the next request.
    if (!request.complete) response.setHeader("connection", "close");
    response.writeHead(code).end();
  };
  if (request.url !== INTAKE_PATH) return end(404);
  if (request.method !== "POST") return end(405);
  if (!isAllowed(request, options)) return end(401);
  const subject = String(request.headers[SUBJECT_HEADER.toLowerCase()] ?? "");
  const why = whyWait(subject, inWork);
  if (why !== undefined) {
    await options.intake.postpone(subject, why);
    return end(503);
  }
  inWork.add(subject);
  try {
    end((await takeBody(request, subject, options.intake, sentBySensor)) === "postponed" ? 503 : 204);
  } catch {
    // The sender closed the connection before the end of the body.
    if (!response.headersSent) end(503);
  } finally {
    inWork.delete(subject);
  }
}

/**
 * Why an event must be sent again later. A sensor sends one event of each name at a time. But if a creation hangs, the sensor gives up
 * before the API server does, and sends the event again. So one event of each name is handled at a time, and a name whose creations
 * hang leaves the places to the others. The creation goes on without the sensor: if it succeeds, the event is known at its next try.
 */
function whyWait(subject: string, inWork: ReadonlySet<string>): string | undefined {
  if (inWork.has(subject)) return "an earlier event of this name is still being handled";
  return inWork.size >= MOST_AT_ONCE ? `events of ${MOST_AT_ONCE} other names are being handled` : undefined;
}

/**
 * Takes the event in the body of a request.
 * @param dataOf the event in the body. Undefined: there is none
 * @throws the connection's error if it ends before the body
 */
export async function takeBody(
  request: IncomingMessage,
  subject: string,
  intake: Intake,
  dataOf: (sent: unknown) => { readonly data: unknown } | undefined,
): Promise<IntakeResult> {
  // The sender waits until its event was read, however long it is.
  const body = await readBody(request, MOST_EVENT_BYTES, true);
  const refuse = (complaint: string) => intake.refuse(subject, { field: "the event", complaint });
  if (body === undefined) return refuse(`has more than ${MOST_EVENT_BYTES} bytes`);
  let sent: unknown;
  try {
    sent = readJson(body);
  } catch {
    return refuse("is no JSON");
  }
  const found = dataOf(sent);
  return found ? intake.take(subject, found.data) : refuse("is not what a sensor sends");
}

/** The event in what a sensor sends. */
function sentBySensor(sent: unknown): { readonly data: unknown } | undefined {
  return isRecord(sent) ? { data: sent["data"] } : undefined;
}

function isAllowed({ headers }: IncomingMessage, { token }: IntakeServerOptions): boolean {
  let wanted: string;
  try {
    wanted = token();
  } catch {
    return false;
  }
  const given = String(headers[TOKEN_HEADER.toLowerCase()] ?? "");
  const hash = (text: string) => createHash("sha256").update(text).digest();
  return wanted !== "" && timingSafeEqual(hash(given), hash(wanted));
}
