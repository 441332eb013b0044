import assert from "node:assert/strict";
import { SCENARIOS } from "../../tools/chaos/kills/scenarios";
import type { MemoryAnswer, MemoryCall } from "./support/net/memoryApi";
import type { NetWorld } from "./support/net/netWorld";
import { runScenario } from "./support/net/runScenario";

/** For how long something other than the API server answers, in milliseconds. */
const LASTS_MS = 30_000;
/** How old what a cache shows is, in milliseconds. */
const OLD_MS = 60_000;

/** What answers a list with 200 in the API server's place. */
const ANSWERS: Readonly<Record<string, (call: MemoryCall, world: NetWorld) => unknown>> = {
  "a Status": () => ({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Success" }),
  "a single object": ({ url }, { api }) => {
    const { items, version } = api.list(url);
    return (
      items[0] ?? { kind: "Pod", apiVersion: "v1", metadata: { name: "x", resourceVersion: String(version) } }
    );
  },
  "a list of another kind": (_, { api }) => ({
    kind: "PodList",
    apiVersion: "v1",
    metadata: { resourceVersion: String(api.newest) },
    items: [],
  }),
  "a list without a version": ({ url }, { api }) => ({ ...listOf(url, api), metadata: {}, items: [] }),
  "a list without items": ({ url }, { api }) => {
    const { items: _, ...list } = listOf(url, api);
    return list;
  },
  "a page of a proxy": () => ({ message: "please log in", metadata: {} }),
  "a list of 60 s ago": ({ url }, { api }) => listOf(url, api, Date.now() - OLD_MS),
};

function listOf(url: URL, api: NetWorld["api"], time = Date.now()) {
  const until = api.log.findLast(({ at }) => at <= time)?.version ?? 100;
  const { version, items } = api.list(url, until);
  const kind = api.kindAt(url);
  return { kind: `${kind}List`, apiVersion: "v1", metadata: { resourceVersion: String(version) }, items };
}

/** Whether the request is a list, or looks at its version. */
function isList({ method, url }: MemoryCall, { api }: NetWorld): boolean {
  return method === "GET" && api.isCollection(url);
}

describe("for half a minute, lists are answered by", () => {
  for (const scenario of SCENARIOS) {
    let undisturbed: ReturnType<typeof runScenario> | undefined;
    for (const [what, answer] of Object.entries(ANSWERS)) {
      it(`${what}: ${scenario.name}`, async () => {
        undisturbed ??= runScenario(scenario);
        const { end: wanted } = await undisturbed;
        const { end, world } = await runScenario(scenario, {
          after: async (world) => {
            const stale = (call: MemoryCall): MemoryAnswer | undefined =>
              isList(call, world) ? { code: 200, body: answer(call, world) } : undefined;
            world.https.intermediary = { answer: stale };
            world.https.expire();
            // What watches are told from now on is as late.
            world.https.hold();
            await world.steady(world.ground.wait(LASTS_MS));
            world.https.intermediary = {};
            world.https.release();
            await world.resync();
          },
        });
        assert.deepEqual(end, wanted, world.notices.join("\n"));
      });
    }
  }
});
