import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import type { KubernetesClient } from "../../../runtime/kubernetes/client";
import { Reflector } from "../../../runtime/observe/reflector";
import { Store } from "../../../runtime/observe/store";
import { fuzz } from "../support/fuzz";
import { ModelApi } from "../support/modelApi";
import { CONFIG_MAPS } from "../support/objects";

/** Longer than any pause of the reflector and any list, in turns of the event loop. */
const LONG = 400;

describe("fuzz: a store that a reflector keeps in step", () => {
  const name = fc.constantFrom("a", "b", "c");
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ set: name }) },
    { weight: 2, arbitrary: fc.record({ delete: name }) },
    { weight: 4, arbitrary: fc.record({ turns: fc.nat(6) }) },
    {
      weight: 3,
      arbitrary: fc.constantFrom(
        ...(["bookmark", "end", "cut", "compact", "relist", "down", "up", "refuse", "allow"] as const),
        ...(["fail", "save", "restore"] as const),
      ),
    },
  );

  fuzz(
    "has in the end what the API server has, whatever happened to it",
    fc.record({ steps: fc.array(step, { minLength: 10, maxLength: 80 }), seed: fc.nat() }),
    async ({ steps, seed }) => {
      const api = new ModelApi(randomFrom(seed));
      // The store never reads, and the reflector does nothing else.
      const client = api.client as KubernetesClient;
      const store = new Store({ client, factsOf: () => "", onChange: () => {} });
      const reflector = new Reflector({
        client,
        resource: CONFIG_MAPS,
        sink: store.sink(CONFIG_MAPS, undefined),
        pause: async (_, signal) => {
          await turn();
          signal.throwIfAborted();
        },
        now: () => 0,
      });
      const known = () => [...store.values()].map((each) => `${each.name} ${each.resourceVersion}`).sort();
      const settle = async () => {
        for (let turns = 0; turns < LONG; turns++) {
          await turn();
          if (turns > LONG / 8 && reflector.isSynced && known().join() === api.all.sort().join()) return;
        }
      };
      reflector.startWatching();
      for (const each of steps) {
        if (typeof each === "object") {
          if ("turns" in each) for (let turns = 0; turns < each.turns; turns++) await turn();
          else if ("set" in each) !api.isDown && api.set(each.set);
          else !api.isDown && api.delete(each.delete);
        } else if (each === "bookmark") api.bookmark();
        else if (each === "end" || each === "cut") api.end(each === "cut");
        else if (each === "compact") api.compact();
        else if (each === "relist") void reflector.relist();
        else if (each === "down" || each === "up") {
          api.isDown = each === "down";
          if (api.isDown) api.end(true);
        } else if (each === "refuse" || each === "allow") api.isRefusing = each === "refuse";
        else if (each === "fail") api.failures = 2;
        else if (each === "save") api.save();
        else await api.restore();
      }
      api.isDown = api.isRefusing = false;
      api.failures = 0;
      await settle();
      // After a restore, what was not written since is found by the next resync.
      if (api.wasRestored) void reflector.relist();
      await settle();
      await reflector.stopWatching();
      assert.deepEqual(known(), api.all.sort());
    },
  );
});

/** The same numbers from 0 to 1 for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
