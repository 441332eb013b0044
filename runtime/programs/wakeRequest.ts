import { Agent } from "node:http";
import { postJson } from "../base/http/postJson";
import type { ObjectName } from "../base/objects";
import type { HintResult } from "../engine/metrics";

/** The path of a runner at which an event from outside wakes an object, at the same port as hints. */
export const WAKE_PATH = "/wake";

/** The status with which a runner answers that no object has this name. 404 would be that of an older runner without this path. */
export const ABSENT = 410;

/**
 * Each request has a connection of its own. A connection that is kept alive may be closed in the moment in which it is
 * used, and the request would fail for no reason.
 */
const AGENT = new Agent({ keepAlive: false, maxSockets: 64 });

/** Where a runner takes hints, and what they are sent with. */
export interface RunnerAddress {
  /** A name, or an address of IPv4 or IPv6. */
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** How long the answer may take, in milliseconds. */
  readonly timeoutMs: number;
}

/**
 * Sends a runner what it is to look at.
 * @returns the result as the sender knows it: "forwarded" is accepted, and "leaderless" may be tried again. Never throws
 */
export async function tellRunner(
  about: ObjectName,
  { timeoutMs, ...to }: RunnerAddress,
): Promise<Extract<HintResult, "forwarded" | "absent" | "invalid" | "leaderless">> {
  try {
    const code = await postJson({ agent: AGENT, ...to }, JSON.stringify(about), timeoutMs);
    if (code === 204) return "forwarded";
    if (code === ABSENT) return "absent";
    return code === 400 ? "invalid" : "leaderless";
  } catch {
    return "leaderless";
  }
}
