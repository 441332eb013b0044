import type { IncomingMessage, ServerResponse } from "node:http";
import { type HttpListener, type ListenAddress, listen } from "../../../base/http/listen";
import { readBody } from "../../../base/http/readBody";
import { isRecord } from "../../../base/json";
import { isDnsName, type ObjectName } from "../../../base/objects";
import type { HintResult } from "../../../engine/metrics";
import type { CustomResourceKind, Operator } from "../../../operator/definition";
import { ABSENT, tellRunner, WAKE_PATH } from "../../wakeRequest";

/** The objects about which hints are taken. */
export interface HintedObjects {
  readonly customResource: CustomResourceKind;
  readonly namespaces: Operator["namespaces"];
}

/** How a hint server handles requests. */
export interface HintServerOptions extends ListenAddress {
  readonly operator: HintedObjects;
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
 * is 400, 404, 405 or 413. The intake wakes objects in the same form, with `POST /wake`, and gets 410 for one that is not there.
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
  const isWake = request.url === WAKE_PATH;
  if (request.url !== HINT_PATH && !isWake)
    return refuse(response, 404, `the only paths are ${HINT_PATH} and ${WAKE_PATH}`);
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
    const hint = { ...parseHint(body, operator), ...(isWake && { isWake }) };
    const result = await take(hint, request.headers[FORWARDED_HEADER] !== undefined);
    onResult(result);
    if (result === "absent") return refuse(response, ABSENT, "there is no such object");
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

/** The pod that passes a hint on, and the address to which it does. */
export interface HintTarget {
  /** The leader's address, of IPv4 or IPv6. */
  readonly address: string;
  readonly port: number;
  /** The pod that passes it on. */
  readonly from: string;
}

/** Less than a Sensor, or the intake, waits for our answer. */
const TIMEOUT_MS = 2_000;

/** Passes a hint on to the leader. @returns what the leader has made of it; never throws */
export async function forwardHint(
  { isWake, ...hint }: Hint,
  { address, port, from }: HintTarget,
): Promise<HintResult> {
  const path = isWake ? WAKE_PATH : HINT_PATH;
  const to = { host: address, port, path, headers: { [FORWARDED_HEADER]: from }, timeoutMs: TIMEOUT_MS };
  const result = await tellRunner(hint, to);
  // The leader has another definition than we do, and one of us is about to go.
  return result === "invalid" ? "leaderless" : result;
}

/** Says that an object may have changed. */
export interface Hint extends ObjectName {
  /** The object's uid, if the Sensor names it: an address by which hints can be divided among runners. Nothing else depends on it. */
  readonly uid?: string;
  /** The version of the object that the event is about, if the Sensor names it. */
  readonly resourceVersion?: string;
  /** Whether it comes of an event from outside, and so the handler is asked in any case. @default false */
  readonly isWake?: boolean;
}

/** The body is not a hint for this operator. The message goes back to the sender. */
export class HintError extends Error {
  override readonly name = "HintError";
}

/** A version as the API server writes it: an integer of 64 bits without a sign. */
const RESOURCE_VERSION = /^[1-9][0-9]{0,19}$/;

/** A uid as the API server gives it: a UUID. */
const UID = /^[-0-9a-f]{36}$/;

/**
 * Reads a hint: `{"namespace":"shop","name":"sessions","uid":"8c5e2f0a-1b1c-4c8e-9c39-2f8f6f1c2f11","resourceVersion":"7"}`. For a
 * kind of cluster scope, the namespace is "" or missing. Uid and version may be missing. Other fields are ignored.
 * @throws HintError
 */
export function parseHint(body: string, { customResource, namespaces }: HintedObjects): Hint {
  const { namespace = "", name, uid, resourceVersion } = parseObject(body);
  const more = {
    ...(typeof uid === "string" && UID.test(uid) && { uid }),
    ...(typeof resourceVersion === "string" && RESOURCE_VERSION.test(resourceVersion) && { resourceVersion }),
  };
  if (!isName(name)) throw new HintError("name is not the name of an object");
  if (!customResource.namespaced) {
    if (namespace !== "") throw new HintError(`${customResource.kind} has no namespaces`);
    return { name, ...more };
  }
  if (!isName(namespace)) throw new HintError("namespace is not the name of a namespace");
  // We have no right to read there.
  if (namespaces !== "all" && !namespaces.includes(namespace)) {
    throw new HintError("namespace is not one of this operator's");
  }
  return { namespace, name, ...more };
}

function parseObject(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body);
    if (isRecord(value)) return value;
  } catch {
    // The error below says so.
  }
  throw new HintError("the body is not a JSON object");
}

/** A namespace's name may have some of these characters. */
function isName(value: unknown): value is string {
  return typeof value === "string" && isDnsName(value);
}
