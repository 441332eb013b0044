// Hints: the server that accepts them, who acts on them, and how long none has come.
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { monotonicNow } from "../../base/clock";
import { type HttpListener, type ListenAddress, listen } from "../../base/http/listen";
import { readBody } from "../../base/http/readBody";
import { isRecord } from "../../base/json";
import { isDnsName, isNewer, type ObjectName } from "../../base/objects";
import type { Engine } from "../../engine/engine";
import type { HintResult } from "../../engine/metrics";
import type { Operator } from "../../operator/definition";
import { ABSENT, tellRunner, WAKE_PATH } from "../wakeRequest";

/** The parts of an operator that say about which objects hints are accepted. */
type HintedObjects = Pick<Operator, "customResource" | "namespaces">;

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
 * Answers a hint, `POST /hints`, with 204 and no body when its object is going to be reconciled, here or by the leader. A Sensor
 * reads no body, and so a body would cost it the connection (argo-events, pkg/sensors/triggers/http). If another try may help, the
 * answer is 503: too many objects wait, or no process leads. If it does not help, the answer is 400, 404, 405 or 413. The intake
 * wakes objects in the same form, with `POST /wake`, and gets 410 for one that does not exist.
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

/** Less than a Sensor, or the intake, waits for our answer. */
const TIMEOUT_MS = 2_000;

/**
 * Passes a hint on to the leader. Never throws.
 * @param to the leader's address, of IPv4 or IPv6. `from`: the pod that passes the hint on
 * @returns the leader's result
 */
export async function forwardHint(
  { isWake, ...hint }: Hint,
  { from, ...to }: { readonly host: string; readonly port: number; readonly from: string },
): Promise<HintResult> {
  const path = isWake ? WAKE_PATH : HINT_PATH;
  const headers = { [FORWARDED_HEADER]: from };
  const result = await tellRunner(hint, { ...to, path, headers, timeoutMs: TIMEOUT_MS });
  // The leader has another definition than this process, and one of the two is about to end.
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
  if (namespaces !== "all" && !namespaces.includes(namespace))
    throw new HintError("namespace is not one of this operator's");
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

/** The parts with which {@link takeHint} decides. */
export interface HintParts {
  readonly engine: Engine;
  readonly silence: PathSilence;
  /** Passes a hint on to the leader at this address. @returns its result */
  readonly forward: (hint: Hint, address: string) => Promise<HintResult>;
}

/**
 * Decides what to do with a hint: the leader accepts it, and a standby passes it on once.
 * @param forwarded whether another replica has passed it on to us
 */
export async function takeHint(
  { engine, silence, forward }: HintParts,
  hint: Hint,
  forwarded: boolean,
): Promise<HintResult> {
  // The events from outside have a path of their own, which says nothing about that of changes.
  if (!hint.isWake) silence.hinted(hint.resourceVersion);
  if (engine.isLeading && hint.isWake) return engine.wake(hint);
  if (engine.isLeading) {
    // In a storm all hints come late, and do not justify another read of the object. A hint that is ahead of the watch does: the
    // watch may be silent.
    if (engine.knows(hint, hint.resourceVersion)) return "known";
    return engine.hint(hint) ? "queued" : "full";
  }
  // Otherwise two replicas that each take the other one for the leader would send the hint back and forth.
  const address = forwarded || engine.leader === undefined ? undefined : addressIn(engine.leader);
  return address === undefined ? "leaderless" : forward(hint, address);
}

/**
 * For how long objects have been changing without any hint. The watch reports each change too, so nothing else shows that the event path
 * is dead.
 *
 * Guarantees, each with a test in tests/unit/podHintServer.test.ts:
 * - A path that brings hints is never silent, however late they come: in a storm that may be minutes.
 * - One change without a hint, and a time without changes, are no silence.
 */
export class PathSilence {
  /** The latest version that a hint has named. */
  private reached = "";
  /** When the first and the last change came after the last hint. Undefined: none came. */
  private changes: { readonly first: number; readonly last: number } | undefined;

  /** @param now a monotonic clock, in milliseconds */
  constructor(private readonly now = monotonicNow) {}

  /** The watch reported a change that the event path reports too, with that version of the object. */
  changed(resourceVersion: string): void {
    if (!isNewer(resourceVersion, this.reached)) return;
    const now = this.now();
    this.changes = { first: this.changes?.first ?? now, last: now };
  }

  /** A hint came. @param resourceVersion the version that it names, if it names one */
  hinted(resourceVersion = ""): void {
    this.changes = undefined;
    if (isNewer(resourceVersion, this.reached)) this.reached = resourceVersion;
  }

  /** From the first to the last change since the last hint. */
  get seconds(): number {
    const { first, last } = this.changes ?? { first: 0, last: 0 };
    return (last - first) / 1000;
  }
}

/**
 * The identity of a runner in the Lease: `<pod>_<address>_<uuid>`. Neither a pod's name nor an address can have an underscore.
 * The address is for the standby, which may read the Lease but no pods. The uuid distinguishes a container from the one that it
 * replaced in the same pod.
 */
export function runnerIdentityOf(pod: string, address: string): string {
  return `${pod}_${address}_${randomUUID()}`;
}

/** The address of the runner with this identity. Undefined if it is not one that {@link runnerIdentityOf} made. */
export function addressIn(identity: string): string | undefined {
  const [, address, unique, ...more] = identity.split("_");
  return address && unique && more.length === 0 ? address : undefined;
}
