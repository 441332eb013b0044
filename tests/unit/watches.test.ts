import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { Watches } from "../../runtime/watches";
import { eventually } from "../support/eventually";
import { MANAGER, operator, WIDGETS } from "./support/objects";
import { json, TestApiServer } from "./support/testApiServer";

describe("Watches", () => {
  let api: TestApiServer;
  let client: KubernetesClient;
  let watches: Watches;
  /** Answers the question which kinds there are. */
  let discovered: (() => void)[];

  beforeEach(async () => {
    discovered = [];
    api = await TestApiServer.start((call, response) => {
      if (call.path === "/api/v1") {
        const resources = [{ name: "configmaps", kind: "ConfigMap", namespaced: true }];
        return void discovered.push(() => json(response, { resources }));
      }
      if (call.query.has("watch")) return void response.writeHead(200).flushHeaders();
      return json(response, { metadata: { resourceVersion: "5" }, items: [] });
    });
    client = api.client();
    watches = new Watches({
      client,
      operator: operator({
        children: [{ apiVersion: "v1", kind: "ConfigMap", update: "apply", plural: "configmaps" }],
      }),
      resource: WIDGETS,
      namespace: "argosy",
      fieldManager: MANAGER,
      managers: [MANAGER],
      onChange: () => {},
      onGone: () => {},
      onChild: () => {},
      onUsed: () => {},
      isActive: () => true,
      onSynced: () => {},
      onInterruption: () => {},
      onLost: () => {},
    });
  });
  afterEach(async () => {
    await watches.stop();
    client.close();
    await api.stop();
  });

  const lists = () => api.calls.filter(({ path }) => path.endsWith("/configmaps")).length;

  it("lists the children of a kind when the cluster says how it serves the kind", async () => {
    const started = watches.start(true);
    await eventually(() => assert.ok(discovered.length === 1, "it asks for the kind"));
    discovered[0]?.();
    await started;
    // The start waits for the first lists no longer than five seconds.
    await eventually(() => assert.equal(lists(), 1));
  });

  it("begins to watch nothing after it was stopped, even if the cluster answers then", async () => {
    const started = watches.start(true).catch((error: Error) => error.message);
    await eventually(() => assert.ok(discovered.length === 1, "it asks for the kind"));
    await watches.stop();
    discovered[0]?.();
    await started;
    await pause(200);
    assert.deepEqual([lists(), watches.childResources], [0, []]);
  });
});
