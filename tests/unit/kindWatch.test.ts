import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import fc from "fast-check";
import type { KubernetesObject } from "../../runtime/base/objects";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { schemaHashOf } from "../../runtime/kubernetes/discovery";
import { KindWatch, MANY_OBJECTS, type NotSynced } from "../../runtime/observe/kindWatch";
import { Store } from "../../runtime/observe/store";
import { eventually } from "../support/eventually";
import { CLUSTER_ROLES, CONFIG_MAPS } from "./support/objects";
import { item } from "./support/reflectorBench";
import { type ApiCall, json, refuse, TestApiServer } from "./support/testApiServer";

const [SHOP, OTHER] = ["/api/v1/namespaces/shop/configmaps", "/api/v1/namespaces/other/configmaps"];
const ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

describe("KindWatch", () => {
  let api: TestApiServer;
  let client: KubernetesClient;
  let watch: KindWatch;
  /** What is refused: the code by the path of the collection. */
  let refused: Map<string, number>;
  /** Lists that are not answered yet, by the path of the collection. */
  let held: Map<string, () => void>;
  /** The paths whose lists wait for the test. */
  let slow: Set<string>;
  /** How often a namespace was listed for the first time, or again after a refusal. */
  let synced: number;
  /** Where the kind was listed. */
  let where: (string | undefined)[];
  let interrupted: number;

  beforeEach(async () => {
    [refused, held, slow, synced, interrupted, where] = [new Map(), new Map(), new Set(), 0, 0, []];
    api = await TestApiServer.start((call, response) => {
      const code = refused.get(call.path);
      if (code !== undefined) return refuse(response, code);
      if (call.query.has("watch")) return void response.writeHead(200).flushHeaders();
      if (slow.has(call.path)) return void held.set(call.path, () => list(response));
      return list(response);
    });
    client = api.client();
  });
  afterEach(async () => {
    for (const answer of held.values()) answer();
    await watch.stopWatching();
    await api.stop();
  });

  function list(response: ServerResponse): void {
    json(response, { metadata: { resourceVersion: "5" }, items: [] });
  }

  function watching(namespaces: "all" | readonly string[], resource = CONFIG_MAPS): void {
    const sink = { listing: () => {}, set: () => {}, listed: () => {}, remove: () => {} };
    watch = new KindWatch({
      client,
      resource,
      namespaces,
      labelSelector: "child-of=argosy.shop",
      sink: () => sink,
      onSynced: (namespace) => {
        synced++;
        where.push(namespace);
      },
      onInterruption: () => void interrupted++,
    });
    watch.startWatching();
  }

  const named = (notSynced: NotSynced[]) =>
    notSynced.map(({ resource, namespace, problem }) =>
      [resource.kind, namespace ?? "everywhere", ...(problem ? ["refused"] : [])].join(" "),
    );
  const lists = (path?: string): ApiCall[] =>
    api.calls.filter((call) => !call.query.has("watch") && (path === undefined || call.path === path));

  const paths = () => lists().map(({ path }) => path);

  it("lists a kind in few namespaces at once, so that other requests leave if every list hangs", async () => {
    const namespaces = Array.from({ length: 100 }, (_, at) => `n${at}`);
    slow = new Set(namespaces.map((name) => `/api/v1/namespaces/${name}/configmaps`));
    watching(namespaces);
    await eventually(() => assert.equal(held.size, 16));
    const { path } = await client.read<{ path: string }>("/version").then(() => api.calls.at(-1) as ApiCall);
    assert.deepEqual([path, held.size], ["/version", 16]);
  });

  it("watches a kind in the namespaces that are listed", async () => {
    watching(["shop", "other"]);
    await watch.whenListed();
    assert.deepEqual(paths(), [SHOP, OTHER]);
    assert.ok(lists().every(({ query }) => query.get("labelSelector") === "child-of=argosy.shop"));
    assert.equal(synced, 2);
    assert.deepEqual(where.toSorted(), ["other", "shop"]);
    assert.deepEqual(watch.notSynced(undefined), []);
  });

  it("watches a kind once if it has no namespaces, or all of them count", async () => {
    watching(["shop", "other"], CLUSTER_ROLES);
    await watch.whenListed();
    await watch.stopWatching();
    watching("all");
    await watch.whenListed();
    assert.deepEqual(paths(), [ROLES, "/api/v1/configmaps"]);
  });

  it("says where a kind is still listed, and for whom that counts", async () => {
    slow.add(OTHER);
    watching(["shop", "other"]);
    await eventually(() => assert.ok(synced === 1, "the rest is listed"));
    assert.deepEqual(named(watch.notSynced(undefined)), ["ConfigMap other"]);
    assert.deepEqual(named(watch.notSynced("other")), ["ConfigMap other"]);
    assert.deepEqual(named(watch.notSynced("shop")), []);
  });

  it("counts a kind without namespaces for every object", async () => {
    slow.add(ROLES);
    watching(["shop"], CLUSTER_ROLES);
    assert.deepEqual(named(watch.notSynced("shop")), ["ClusterRole everywhere"]);
  });

  it("serves the rest if a namespace may not be read, says why, and says when it may be", async () => {
    refused.set(OTHER, 403);
    watching(["shop", "other"]);
    await eventually(() => assert.ok(synced === 1, "the rest is listed"));
    await eventually(() => assert.ok(interrupted > 0, "it is refused"));
    assert.deepEqual(named(watch.notSynced("other")), ["ConfigMap other refused"]);
    assert.deepEqual(named(watch.notSynced("shop")), []);
    refused.clear();
    await eventually(() => assert.ok(synced === 2, "it is listed"));
    assert.deepEqual(watch.notSynced(undefined), []);
  });

  it("lists again what can be listed, and waits for nothing else", async () => {
    refused.set(OTHER, 404);
    watching(["shop", "other"]);
    await eventually(() => assert.ok(synced + interrupted >= 2, "one is listed, the other refused"));
    const before = lists(SHOP).length;
    assert.equal(await watch.relist(), true, "nothing is known of what was never listed");
    assert.equal(lists(SHOP).length, before + 1);
  });

  it("knows a part of what was never listed to its end: that may be outdated", async () => {
    const items = [{ metadata: { name: "a", namespace: "shop", uid: "a-uid", resourceVersion: "1" } }];
    api.answer = (call, response) =>
      call.query.has("continue")
        ? refuse(response, 403)
        : json(response, { metadata: { resourceVersion: "5", continue: "more" }, items });
    watching(["shop"]);
    await eventually(() => assert.ok(interrupted > 0, "it is refused"));
    assert.equal(await watch.relist(), false);
  });

  it("lists again at once what was refused until now: what is known of it may be outdated", async () => {
    watching(["shop"]);
    await watch.whenListed();
    refused.set(SHOP, 403);
    assert.equal(await watch.relist(), false, "what is known of it may be outdated");
    refused.clear();
    const before = lists(SHOP).length;
    const relisted = watch.relist();
    assert.equal(await relisted, true);
    assert.equal(lists(SHOP).length, before + 1);
  });

  it("lists once more what is being listed for the first time: that list may be older than the question", async () => {
    slow.add(SHOP);
    watching(["shop"]);
    await eventually(() => assert.ok(held.size === 1, "it is asked for"));
    let isListed = false;
    const relisted = watch.relist().then((isComplete) => {
      isListed = true;
      return isComplete;
    });
    slow.clear();
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(isListed, false);
    held.get(SHOP)?.();
    held.clear();
    assert.equal(await relisted, true);
    assert.equal(lists(SHOP).length, 2);
  });

  it("lists the rest again if a namespace may no longer be read, although its watch is still open", async () => {
    watching(["shop", "other"]);
    await eventually(() => assert.ok(synced === 2, "both are listed"));
    refused.set(OTHER, 403);
    const before = lists(SHOP).length;
    assert.equal(await watch.relist(), false);
    assert.equal(lists(SHOP).length, before + 1);
    assert.deepEqual(named(watch.notSynced(undefined)), ["ConfigMap other refused"]);
  });

  it("says whether the API server lists any of them now, by one object of what it listed before", async () => {
    const { signal } = new AbortController();
    refused.set(SHOP, 403);
    watching(["shop", "other"]);
    assert.equal(await watch.answers(signal), false);
    await watch.whenListed();
    const before = lists(OTHER).length;
    assert.equal(await watch.answers(signal), true);
    const asked = lists(OTHER).slice(before);
    assert.deepEqual(
      asked.map(({ query }) => [query.get("limit"), query.get("labelSelector")]),
      [["1", "child-of=argosy.shop"]],
    );
    refused.set(OTHER, 503);
    assert.equal(await watch.answers(signal), false);
  });

  it("waits for nothing more when it is stopped", async () => {
    slow.add(SHOP);
    watching(["shop"]);
    const listed = watch.whenListed();
    await eventually(() => assert.ok(held.size === 1, "it is asked for"));
    await watch.stopWatching();
    await listed;
  });

  it("holds up exactly the objects that need what is missing, whatever that is", async () => {
    const namespaces = ["shop", "other", "third"];
    const all = namespaces.map((namespace) => `/api/v1/namespaces/${namespace}/configmaps`);
    await fc.assert(
      fc.asyncProperty(fc.subarray(all), fc.constantFrom(403, 404), async (missing, code) => {
        [synced, interrupted] = [0, 0];
        refused = new Map(missing.map((path) => [path, code]));
        watching(namespaces);
        await eventually(() => assert.ok(synced === all.length - missing.length, "all were tried"));
        await eventually(() =>
          assert.ok(
            watch.notSynced(undefined).every(({ problem }) => problem),
            "all were refused",
          ),
        );
        for (const namespace of namespaces) {
          const expected = missing.filter((path) => path.includes(`/${namespace}/`)).length;
          assert.equal(watch.notSynced(namespace).length, expected);
        }
        assert.equal(watch.notSynced(undefined).length, missing.length);
        await watch.stopWatching();
      }),
      { numRuns: 15 },
    );
  });
});

const HOUR_MS = 3_600_000;
const LIST = "/api/v1/configmaps";

describe("a kind in a resync", function () {
  this.timeout(30_000);
  let api: TestApiServer;
  let client: KubernetesClient;
  let watch: KindWatch;
  let store: Store<string>;
  let now: number;
  /** What the API server has, by name. */
  let there: Map<string, KubernetesObject>;
  /** The hash of the schema. Undefined: it may not be read. */
  let schema: string | undefined;

  beforeEach(async () => {
    [now, schema, there] = [1, "A", new Map()];
    api = await TestApiServer.start((call, response) => {
      if (call.path === "/openapi/v3") {
        const serverRelativeURL = `/openapi/v3/api/v1?hash=${schema}`;
        return schema
          ? json(response, { paths: { "api/v1": { serverRelativeURL } } })
          : refuse(response, 403);
      }
      if (call.query.has("watch")) return void response.writeHead(200).flushHeaders();
      if (call.path !== LIST) {
        const object = there.get(call.path.split("/").at(-1) ?? "");
        return object ? json(response, object) : refuse(response, 404);
      }
      const items = [...there.values()].map((object) => (isOfMetadata(call) ? metadataOf(object) : object));
      json(response, { metadata: { resourceVersion: "90" }, items });
    });
    client = api.client();
    store = new Store<string>({
      client,
      factsOf: ({ data }) => JSON.stringify(data),
      onChange: () => {},
    });
  });
  afterEach(async () => {
    await watch.stopWatching();
    await api.stop();
  });

  const isOfMetadata = ({ headers }: ApiCall) => headers.accept?.includes("PartialObjectMetadataList");
  const metadataOf = ({ metadata }: KubernetesObject) => ({ metadata });
  const factsOf = (name: string) => store.find(CONFIG_MAPS, { namespace: "shop", name })?.facts;

  async function begin(size: number): Promise<void> {
    for (let at = 0; at < size; at++) there.set(`a-${at}`, item(`a-${at}`, "5"));
    watch = new KindWatch({
      client,
      resource: CONFIG_MAPS,
      namespaces: "all",
      sink: (namespace) => store.sink(CONFIG_MAPS, namespace),
      onSynced: () => {},
      onInterruption: (error) => assert.fail(error),
      now: () => now,
    });
    watch.startWatching();
    await watch.whenListed();
    assert.equal(store.size, size);
  }

  /** What a resync asks for: "whole", "metadata", or the name of an object. */
  async function resync(list = () => watch.resync()): Promise<string[]> {
    const before = api.calls.length;
    assert.equal(await list(), true);
    return api.calls
      .slice(before)
      .filter(({ path, query }) => path !== "/openapi/v3" && !query.has("watch"))
      .map((call) =>
        call.path !== LIST ? (call.path.split("/").at(-1) ?? "") : isOfMetadata(call) ? "metadata" : "whole",
      );
  }

  it("is listed as a whole each time if it has few objects, and nothing is asked about its schema", async () => {
    await begin(MANY_OBJECTS);
    for (let round = 0; round < 2; round++) assert.deepEqual(await resync(), ["whole"]);
    assert.ok(api.calls.every(({ path }) => path !== "/openapi/v3"));
  });

  for (const [size, asked] of [
    [MANY_OBJECTS, ["whole"]],
    [MANY_OBJECTS + 1, ["metadata", "a-1"]],
  ] as const)
    it(`is listed at the beginning of a term with ${size} objects: ${asked}`, async () => {
      await begin(size);
      there.set("a-1", item("a-1", "80", "changed"));
      assert.deepEqual(await resync(() => watch.refresh()), asked);
      assert.equal(factsOf("a-1"), '{"data":"changed"}');
    });

  it("is listed once an hour if it has many, and at once when its schema may be another one", async () => {
    await begin(MANY_OBJECTS + 1);
    assert.deepEqual(await resync(), ["whole"], "its schema at the beginning is not known");
    assert.deepEqual(await resync(), []);
    schema = "B";
    assert.deepEqual([await resync(), await resync()], [["whole"], []]);
    now += HOUR_MS;
    assert.deepEqual([await resync(), await resync()], [["metadata"], []]);
    schema = undefined;
    assert.deepEqual([await resync(), await resync()], [["whole"], ["whole"]]);
  });

  it("shows by its metadata what no watch has reported, and only that is read", async () => {
    await begin(MANY_OBJECTS + 4);
    await resync();
    there.set("a-1", item("a-1", "80", "changed"));
    there.set("new", item("new", "81", "new"));
    there.delete("a-2");
    const again = item("a-3", "82", "again");
    there.set("a-3", { ...again, metadata: { ...again.metadata, uid: "another" } });
    now += HOUR_MS;
    assert.deepEqual(await resync(), ["metadata", "a-1", "a-3", "new"]);
    assert.deepEqual(["a-1", "new", "a-2", "a-3"].map(factsOf), [
      '{"data":"changed"}',
      '{"data":"new"}',
      undefined,
      '{"data":"again"}',
    ]);
    assert.equal(store.size, MANY_OBJECTS + 4);
  });

  it("is listed as a whole if its metadata show many changes", async () => {
    await begin(MANY_OBJECTS + 1);
    await resync();
    for (let at = 0; at < 101; at++) there.set(`a-${at}`, item(`a-${at}`, "80", "changed"));
    now += HOUR_MS;
    assert.deepEqual(await resync(), ["metadata", "whole"]);
    assert.equal(factsOf("a-100"), '{"data":"changed"}');
  });

  it("is listed as a whole if it has become empty", async () => {
    await begin(MANY_OBJECTS + 1);
    await resync();
    there.clear();
    now += HOUR_MS;
    assert.deepEqual(await resync(), ["metadata", "whole"]);
    assert.equal(store.size, 0);
  });
});

describe("the hash of a schema", () => {
  it("is that of its API version in the API server's index, if it has one", async () => {
    const paths = {
      "apis/shop.example.com/v1": { serverRelativeURL: "/openapi/v3/apis/shop.example.com/v1?hash=A1B2" },
      "api/v1": { serverRelativeURL: "/openapi/v3/api/v1" },
    };
    const read = (answer: unknown) => ({ read: async () => answer as never });
    assert.equal(await schemaHashOf(read({ paths }), "shop.example.com/v1"), "A1B2");
    for (const [answer, apiVersion] of [
      [{ paths }, "v1"],
      [{ paths }, "v2"],
      [{}, "v1"],
    ] as const)
      assert.equal(await schemaHashOf(read(answer), apiVersion), undefined);
  });
});
