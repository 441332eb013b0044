import assert from "node:assert/strict";
import { SCENARIOS } from "../../tools/chaos/kills/scenarios";
import type { MemoryAnswer } from "./support/net/memoryApi";
import { CUT } from "./support/net/memoryHttps";
import { killable, runScenario, type Trouble } from "./support/net/runScenario";

/** For how long a write is refused, in milliseconds. */
const LASTS_MS = 40_000;
/** The next try, and a resync, come within this time, in milliseconds. */
const OVER_MS = 160_000;

/** How an API server, and what it must ask, refuse a write. */
interface Refusal extends MemoryAnswer {
  /** For how long it lasts until the object must say it, in milliseconds. */
  readonly toldAfterMs: number;
}

/** A deliberate refusal: the object may not be so. */
const MEANT = 0;
/** The API server answers all other requests. */
const LASTING = 21_000;
/** We may ask too much. */
const BUSY = Number.POSITIVE_INFINITY;

const REFUSALS: Readonly<Record<string, Refusal>> = {
  "a webhook with 403": denied(403, "Forbidden"),
  "a webhook with 409": denied(409, "Conflict"),
  "a webhook with 404": denied(404, "NotFound"),
  "a webhook with 429": denied(429, "TooManyRequests"),
  "an API server that finds it invalid": status(422, "Invalid", "it is invalid", MEANT),
  "an account without the right": status(
    403,
    "Forbidden",
    'User "system:serviceaccount:argosy:shop" cannot patch resource "x"',
    MEANT,
  ),
  "a webhook that does not answer": status(
    500,
    "InternalError",
    'Internal error occurred: failed calling webhook "w"',
    LASTING,
  ),
  "an API server that is busy": {
    ...status(429, "TooManyRequests", "busy", BUSY),
    headers: { "retry-after": "1" },
  },
  "a proxy without an API server": { code: 503, body: "no server", toldAfterMs: LASTING },
  "an API server that panics and cuts the connection": { ...CUT, toldAfterMs: LASTING },
  "an API server that starts": status(401, "Unauthorized", "Unauthorized", BUSY),
};
const NAMES = Object.keys(REFUSALS);
/** In how many ways each write is refused. The next write is refused in others. */
const WAYS = 2;

function status(code: number, reason: string, message: string, toldAfterMs: number): Refusal {
  return {
    code,
    body: { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message },
    toldAfterMs,
  };
}

function denied(code: number, reason: string): Refusal {
  return status(code, reason, 'admission webhook "w.example.com" denied the request: not now', MEANT);
}

/** A write, and its later tries, are refused for a while. */
function refused(write: string, refusal: Refusal): Trouble & { readonly lastedMs: () => number } {
  const what = write.replace(/ #\d+$/, "");
  let until: number | undefined;
  let isBegun = false;
  let lastedMs = 0;
  return {
    lastedMs: () => lastedMs,
    begin: (world) => {
      world.https.intermediary = {
        refuse: (name) => {
          isBegun ||= name === write;
          if (!isBegun || !name.startsWith(`${what} #`)) return undefined;
          const now = performance.now();
          until ??= now + LASTS_MS;
          if (now >= until) return undefined;
          lastedMs = now - until + LASTS_MS;
          return refusal;
        },
      };
    },
    after: async (world) => {
      await world.steady(world.ground.wait(OVER_MS));
      await world.rest();
    },
  };
}

describe("a write is refused for 40 s by", () => {
  for (const scenario of SCENARIOS) {
    it(`one of ${NAMES.length} others: ${scenario.name}`, async () => {
      const patient = { ...scenario, isPatient: true };
      const { writes, end: wanted } = await runScenario(patient, refused("none", { ...CUT, toldAfterMs: 0 }));
      const tried = killable(writes).filter((each) => each.endsWith("#1") && !each.includes("events"));
      for (const [index, write] of tried.entries()) {
        for (let way = 0; way < WAYS; way++) {
          const by = NAMES[(index * WAYS + way) % NAMES.length] ?? "";
          const refusal = REFUSALS[by] as Refusal;
          const trouble = refused(write, refusal);
          const { end, world } = await runScenario(patient, trouble);
          assert.deepEqual(end, wanted, `${write}: ${by}`);
          const warned = world.api.log.some(
            ({ after }) => after?.kind === "Event" && after["type"] === "Warning",
          );
          if (trouble.lastedMs() >= refusal.toldAfterMs)
            assert.ok(warned || world.notices.length > 1, `${write}: ${by}: nothing was said`);
        }
      }
    });
  }
});
