import { Agent, request } from "node:http";
import type { Hint } from "./hint";
import { FORWARDED_HEADER, HINT_PATH } from "./hintServer";

/** The pod that passes a hint on, and the address to which it does. */
export interface HintTarget {
  /** The leader's address, of IPv4 or IPv6. */
  readonly address: string;
  readonly port: number;
  /** The pod that passes it on. */
  readonly from: string;
}

/** Less than a Sensor waits for our answer. */
const TIMEOUT_MS = 2_000;

/**
 * Each hint has a connection of its own. A connection that is kept alive may be closed in the moment in which it is
 * used, and the hint would fail for no reason.
 */
const AGENT = new Agent({ keepAlive: false, maxSockets: 64 });

/**
 * Passes a hint on to the leader.
 * @returns whether the leader has taken it; never throws
 */
export function forwardHint(hint: Hint, { address, port, from }: HintTarget): Promise<boolean> {
  return new Promise((resolve) => {
    const body = JSON.stringify(hint);
    const outgoing = request(
      {
        agent: AGENT,
        host: address,
        port,
        path: HINT_PATH,
        method: "POST",
        signal: AbortSignal.timeout(TIMEOUT_MS),
        headers: {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(body),
          [FORWARDED_HEADER]: from,
        },
      },
      (response) => {
        response.resume();
        // The rest of the answer does not matter.
        response.on("error", () => {});
        resolve(response.statusCode === 204);
      },
    );
    outgoing.on("error", () => resolve(false));
    outgoing.end(body);
  });
}
