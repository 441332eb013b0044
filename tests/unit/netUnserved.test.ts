import assert from "node:assert/strict";
import { SCENARIOS } from "../../tools/chaos/kills/scenarios";
import type { MemoryAnswer, MemoryCall } from "./support/net/memoryApi";
import type { NetWorld } from "./support/net/netWorld";
import { runScenario, type Trouble } from "./support/net/runScenario";

/** What an API server answers that does not serve the kind yet, or no longer. It does not say that there is no such object. */
const UNSERVED: MemoryAnswer = { code: 404, body: "404 page not found\n" };

/** The read of one object with this number is answered so. Counts the reads. */
function unserved(number: number): Trouble & { readonly reads: () => number } {
  let reads = 0;
  const isRead = ({ method, url }: MemoryCall, { api }: NetWorld) =>
    method === "GET" && !api.isCollection(url) && !url.pathname.includes("/leases/");
  return {
    reads: () => reads,
    begin: (world) => {
      const answer = (call: MemoryCall) => (isRead(call, world) && ++reads === number ? UNSERVED : undefined);
      world.https.intermediary = { answer };
    },
    after: (world) => world.resync(),
  };
}

describe("nothing is served at the path of one read, and no object counts as gone for that:", () => {
  for (const scenario of SCENARIOS) {
    it(scenario.name, async () => {
      const undisturbed = unserved(0);
      const { end: wanted } = await runScenario(scenario, undisturbed);
      for (let number = 1; number <= undisturbed.reads(); number++) {
        const { end } = await runScenario(scenario, unserved(number));
        assert.deepEqual(end, wanted, `read ${number}`);
      }
    });
  }
});
