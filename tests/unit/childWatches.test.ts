import assert from "node:assert/strict";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { ChildWatches } from "../../runtime/observe/childWatches";
import { eventually } from "../support/eventually";
import { operator, WIDGETS } from "./support/objects";
import { json, refuse, sendEvent, TestApiServer } from "./support/testApiServer";

const API_VERSION = "demo.example.com/v1";

describe("ChildWatches", () => {
  let api: TestApiServer;
  let client: KubernetesClient;
  let watches: ChildWatches;
  /** The plurals of the kinds that the cluster serves. */
  let plurals: Record<string, string>;
  let isNamespaced: boolean;
  /** Whether nothing is at the paths of the kinds. */
  let isAway: boolean;

  beforeEach(async () => {
    plurals = { First: "firsts", Second: "seconds" };
    [isNamespaced, isAway] = [true, false];
    api = await TestApiServer.start((call, response) => {
      if (call.path === `/apis/${API_VERSION}`) {
        const kinds = Object.entries(plurals).map(([kind, name]) => ({
          name,
          kind,
          namespaced: isNamespaced,
        }));
        return json(response, { resources: kinds });
      }
      if (isAway || isNamespaced !== call.path.includes("/namespaces/")) return refuse(response, 404);
      const version = { metadata: { resourceVersion: "5" } };
      if (call.query.has("watch")) sendEvent(response, "BOOKMARK", version);
      else json(response, { ...version, items: [] });
    });
    client = api.client();
    watches = new ChildWatches({
      client,
      operator: operator({
        namespaces: ["shop", "office"],
        children: Object.entries(plurals).map(([kind, plural]) => ({
          apiVersion: API_VERSION,
          kind,
          plural,
          update: "apply",
        })),
      }),
      ownerKind: WIDGETS,
      answersOthers: async () => true,
      emit: () => {},
      onInterruption: () => {},
    });
    await watches.startWatching();
  });
  afterEach(async () => {
    await watches.stopWatching();
    client.close();
    await api.stop();
  });

  const known = () => watches.resources.map(({ plural }) => plural).sort();

  it("follows a kind to another path once, even if two looks that were held up find it there together", async () => {
    assert.deepEqual(known(), ["firsts", "seconds"]);
    plurals["First"] = "others";
    await Promise.all([watches.resync(), watches.resync()]);
    assert.deepEqual(known(), ["others", "seconds"]);
  });

  it("follows a kind that is no longer in its namespaces, and later is again, before the next full list", async () => {
    for (const now of [false, true]) {
      isNamespaced = now;
      api.cut();
      await eventually(() => {
        assert.deepEqual(
          watches.resources.map(({ namespaced }) => namespaced),
          [now, now],
        );
        assert.deepEqual(watches.notSynced(undefined), []);
      });
    }
  });

  it("follows a kind that was gone for a while before, and was at the same place then", async () => {
    isAway = true;
    api.cut();
    await eventually(() => assert.equal(watches.notSynced(undefined).length, 4));
    isAway = false;
    await eventually(() => assert.deepEqual(watches.notSynced(undefined), []));
    isNamespaced = false;
    api.cut();
    await eventually(() => assert.ok(watches.resources.every(({ namespaced }) => !namespaced)));
  });
});
