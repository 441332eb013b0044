import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { setTimeout as pause, setImmediate as turn } from "node:timers/promises";
import type { KubernetesObject } from "../../runtime/base/objects";
import { Watches } from "../../runtime/engine/watches";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { ownedManifest } from "../../runtime/observe/marks";
import type { Operator } from "../../runtime/operator/definition";
import { eventually } from "../support/eventually";
import { FakeClock } from "./support/fakeClock";
import {
  CONFIG_MAPS,
  configMap,
  entryOf,
  MANAGER,
  observed,
  operator,
  WIDGETS,
  widget,
} from "./support/objects";
import { json, refuse, sendEvent, TestApiServer } from "./support/testApiServer";

describe("Watches", () => {
  let api: TestApiServer;
  let client: KubernetesClient;
  let watches: Watches;
  /** Answer the question which kinds there are. */
  let discovered: ((resources?: typeof RESOURCES) => void)[];
  /** The children in the cluster. Undefined: it does not serve their kind. */
  let children: KubernetesObject[] | undefined;
  /** The watches of children that are open. */
  let open: ServerResponse[];
  /** The names of the owners that were told that a kind is not served, for each time. */
  let unserved: string[][];
  let synced: number;
  /** What was told of interrupted watches. */
  let told: string[];
  const RESOURCES = [{ name: "configmaps", kind: "ConfigMap", namespaced: true }];

  beforeEach(async () => {
    [discovered, children, open, unserved, synced, told] = [[], [], [], [], 0, []];
    api = await TestApiServer.start((call, response) => {
      if (call.path === "/api/v1")
        return void discovered.push((resources = RESOURCES) => json(response, { resources }));
      const isOfChildren = call.path.endsWith("/configmaps");
      if (isOfChildren && !children) return refuse(response, 404);
      if (!call.query.has("watch"))
        return json(response, { metadata: { resourceVersion: "5" }, items: isOfChildren ? children : [] });
      if (isOfChildren) open.push(response);
      sendEvent(response, "BOOKMARK", { metadata: { resourceVersion: "5" } });
    });
    client = api.client();
    watches = watchesOf(client);
  });
  afterEach(async () => {
    await watches.stopWatching();
    client.close();
    await api.stop();
  });

  function watchesOf(of: KubernetesClient, more: Partial<Operator> = {}): Watches {
    return new Watches({
      client: of,
      operator: operator({
        children: [{ apiVersion: "v1", kind: "ConfigMap", update: "apply", plural: "configmaps" }],
        ...more,
      }),
      resource: WIDGETS,
      namespace: "argosy",
      emit: (news) => {
        if (news.kind === "kind listed") synced++;
        if (news.kind === "children unserved") unserved.push(news.owners.map(({ name }) => name));
      },
      isActive: () => true,
      onInterruption: (_, { message }) => void told.push(message),
    });
  }

  const lists = () => api.calls.filter(({ path }) => path.endsWith("/configmaps")).length;

  it("lists the children of a kind when the cluster says how it serves the kind", async () => {
    const started = watches.startWatching();
    await eventually(() => assert.ok(discovered.length === 1, "it asks for the kind"));
    discovered[0]?.();
    await started;
    // The start waits for the first lists no longer than five seconds.
    await eventually(() => assert.equal(lists(), 1));
  });

  it("starts without a kind that the cluster does not serve, says which definition declares it, and takes it up later", async () => {
    const started = watches.startWatching();
    await eventually(() => assert.ok(discovered.length === 1, "it asks for the kind"));
    const before = performance.now();
    discovered[0]?.([]);
    await started;
    assert.ok(performance.now() - before < 4_000, "it waits for no list of that kind");
    assert.match(
      told.join(),
      /^operator\.yaml declares ConfigMap \(v1\) under "children", but the cluster does not serve/,
    );
    await eventually(() => assert.ok(discovered.length === 2, "it asks again"));
    discovered[1]?.();
    await eventually(() => assert.ok(lists() > 0, "it lists the kind"));
  });

  it("begins to watch nothing after it was stopped, even if the cluster answers then", async () => {
    const started = watches.startWatching().catch((error: Error) => error.message);
    await eventually(() => assert.ok(discovered.length === 1, "it asks for the kind"));
    await watches.stopWatching();
    discovered[0]?.();
    await started;
    await pause(200);
    assert.deepEqual([lists(), watches.childResources], [0, []]);
  });

  it("tells the owners of a kind's children once each time that the cluster no longer serves that kind", async () => {
    children = [childOf("first"), childOf("second")];
    const started = watches.startWatching();
    await eventually(() => assert.ok(discovered.length === 1, "it asks for the kind"));
    discovered[0]?.();
    await started;
    // Of children and of objects.
    await eventually(() => assert.deepEqual([synced, open.length], [2, 1]));
    for (const time of [1, 2]) {
      const served: KubernetesObject[] | undefined = children;
      const before = lists();
      children = undefined;
      for (const response of open.splice(0)) response.end();
      await eventually(() => assert.ok(lists() >= before + 3, "it tries again and again"));
      assert.deepEqual(unserved, Array(time).fill(["first", "second"]));
      children = served;
      await eventually(() => assert.deepEqual([synced, open.length], [2 + time, 1]));
    }
  });

  for (const [what, endless] of [
    ["the objects", "widgets"],
    ["a kind of children", "configmaps"],
  ] as const)
    it(`lists everything else again, though the list of ${what} does not end`, async () => {
      children = [];
      const use = { apiVersion: "v1", kind: "Pod", plural: "pods", name: "spec.pod" };
      watches = watchesOf(client, { uses: { pod: use } });
      const started = watches.startWatching();
      await eventually(() => assert.equal(discovered.length, 2, "it asks for both kinds"));
      const pods = { name: "pods", kind: "Pod", namespaced: true };
      for (const answer of discovered) answer([...RESOURCES, pods]);
      await started;
      const listsOf = () =>
        ["widgets", "configmaps", "pods"].map(
          (plural) =>
            api.calls.filter(({ path, query }) => path.endsWith(`/${plural}`) && !query.has("watch")).length,
        );
      assert.deepEqual(listsOf(), [1, 1, 1]);
      const { answer } = api;
      api.answer = (call, response) => {
        if (!call.path.endsWith(`/${endless}`)) return answer(call, response);
      };
      void watches.resync().catch(() => {});
      await eventually(() => assert.deepEqual(listsOf(), [2, 2, 2]));
    });

  /** A child as the API server has it after we applied it. */
  function childOf(name: string): KubernetesObject {
    const owner = widget({ name, uid: `${name}-uid` });
    const manifest = ownedManifest(configMap({ name }), owner, CONFIG_MAPS, "argosy.shop");
    const more = { uid: `child-${name}`, resourceVersion: "1", managedFields: [entryOf(manifest, MANAGER)] };
    return { ...manifest, metadata: { ...manifest.metadata, ...more } };
  }

  it("has each object read again if they cannot be listed again, and each time as long as no watch shows it", async () => {
    const object = widget({ resourceVersion: "4" });
    let refused: "nothing" | "lists" | "lists and watches" = "nothing";
    api.answer = (call, response) => {
      if (call.path === "/api/v1") return json(response, { resources: RESOURCES });
      if (call.path.endsWith("/widgets/widget")) return json(response, object);
      const isOfWidgets = call.path.endsWith("/widgets");
      const isWatch = call.query.has("watch");
      if (isOfWidgets && (isWatch ? refused === "lists and watches" : refused !== "nothing"))
        return refuse(response, 403);
      const items = isOfWidgets ? [object] : [];
      if (!isWatch) return json(response, { metadata: { resourceVersion: "5" }, items });
      sendEvent(response, "BOOKMARK", { metadata: { resourceVersion: "5" } });
    };
    watches = watchesOf(client, { children: [] });
    const name = { namespace: "shop", name: "widget" };
    const reads = async () => {
      const before = api.calls.length;
      await watches.objects.readToReconcile(name);
      return api.calls.slice(before).filter(({ path }) => path.endsWith("/widgets/widget")).length;
    };
    await watches.startWatching();
    await watches.refreshObjects();
    await eventually(() => assert.ok(watches.wouldShow(name), "it is watched"));
    assert.equal(await reads(), 0);
    refused = "lists";
    await watches.resync();
    assert.deepEqual([watches.wouldShow(name), await reads(), await reads()], [true, 1, 0]);
    refused = "lists and watches";
    await watches.resync();
    assert.deepEqual([watches.wouldShow(name), await reads(), await reads()], [false, 1, 1]);
    refused = "nothing";
    await watches.resync();
    await eventually(() => assert.ok(watches.wouldShow(name), "it is watched"));
    assert.equal(await reads(), 0);
  });

  it("waits for a list of the objects as long as its pages come, and reads no object by itself", async () => {
    const pages = Array.from({ length: 4 }, (_, at) => widget({ name: `widget-${at}`, uid: `uid-${at}` }));
    let isSlow = false;
    const held: (() => void)[] = [];
    api.answer = (call, response) => {
      if (call.path === "/api/v1") return json(response, { resources: RESOURCES });
      if (call.query.has("watch"))
        return sendEvent(response, "BOOKMARK", { metadata: { resourceVersion: "5" } });
      const page = Number(call.query.get("continue") ?? 0);
      const isLast = !call.path.endsWith("/widgets") || page + 1 === pages.length;
      const items = call.path.endsWith("/widgets") ? [pages[page]] : [];
      const metadata = { resourceVersion: "5", ...(!isLast && { continue: String(page + 1) }) };
      const answer = () => json(response, { metadata, items });
      if (isSlow && call.path.endsWith("/widgets")) held.push(answer);
      else answer();
    };
    watches = watchesOf(client, { children: [] });
    await watches.startWatching();
    const clock = FakeClock.install();
    try {
      isSlow = true;
      const refreshed = watches.refreshObjects();
      for (const _ of pages) {
        while (held.length === 0) await turn();
        await clock.tick(8_000);
        held.shift()?.();
      }
      await refreshed;
      const before = api.calls.length;
      await watches.objects.readToReconcile({ namespace: "shop", name: "widget-0" });
      assert.equal(api.calls.length, before);
    } finally {
      clock.uninstall();
    }
  });

  const findings: [string, () => void][] = [
    ["it", () => watches.invalidate({ namespace: "shop", name: "widget" })],
    ["anything", () => watches.invalidateAll()],
  ];
  for (const [what, invalidate] of findings)
    it(`read the memory of an object of others again if another process may have written ${what}, even if no watch has shown that`, async () => {
      const object = observed(
        "Widget",
        { apiVersion: WIDGETS.apiVersion },
        { name: "widget", uid: "widget-uid" },
      );
      const name = { namespace: "shop", name: "widget" };
      const metadata = {
        name: "argosy.shop.widget-uid",
        namespace: "argosy",
        uid: "m1",
        resourceVersion: "9",
      };
      const { apiVersion, kind } = object;
      const memory = {
        ...{ apiVersion: "argosy.dev/v1", kind: "Memory" },
        ...{ metadata, object: { apiVersion, kind, ...name }, memory: {} },
      };
      api.answer = (call, response) => {
        if (call.path === "/api/v1") return json(response, { resources: RESOURCES });
        if (call.path.endsWith("/memories/argosy.shop.widget-uid")) return json(response, memory);
        const items = call.path.endsWith("/widgets") ? [object] : [];
        if (!call.query.has("watch")) return json(response, { metadata: { resourceVersion: "5" }, items });
        sendEvent(response, "BOOKMARK", { metadata: { resourceVersion: "5" } });
      };
      watches = watchesOf(client, { watch: { labels: {}, on: ["spec"] } });
      await watches.startWatching();
      assert.deepEqual(await watches.memories?.read("widget-uid"), []);
      invalidate();
      assert.deepEqual(await watches.memories?.read("widget-uid"), [memory]);
    });
});
