import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import fc from "fast-check";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import type { Resource } from "../../runtime/kubernetes/resource";
import { type NotSynced, Scopes } from "../../runtime/watch/scopes";
import { eventually } from "../support/eventually";
import { CLUSTER_ROLES, CONFIG_MAPS } from "./support/objects";
import { type ApiCall, json, refuse, TestApiServer } from "./support/testApiServer";

const SECRETS: Resource = { apiVersion: "v1", kind: "Secret", plural: "secrets", namespaced: true };
const [SHOP, OTHER] = ["/api/v1/namespaces/shop/configmaps", "/api/v1/namespaces/other/configmaps"];

describe("Scopes", () => {
  let api: TestApiServer;
  let client: KubernetesClient;
  let scopes: Scopes;
  /** What is refused: the code by the path of the collection. */
  let refused: Map<string, number>;
  /** Lists that are not answered yet, by the path of the collection. */
  let held: Map<string, () => void>;
  /** The paths whose lists wait for the test. */
  let slow: Set<string>;
  /** "ConfigMap shop" of each kind and namespace that was listed for the first time, or again after a refusal. */
  let synced: string[];
  let interrupted: string[];

  beforeEach(async () => {
    [refused, held, slow, synced, interrupted] = [new Map(), new Map(), new Set(), [], []];
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
    await scopes.stop();
    client.close();
    await api.stop();
  });

  function list(response: ServerResponse): void {
    json(response, { metadata: { resourceVersion: "5" }, items: [] });
  }

  function watching(namespaces: "all" | readonly string[], ...kinds: Resource[]): void {
    const sink = { listing: () => {}, set: () => {}, listed: () => {}, remove: () => {} };
    scopes = new Scopes({
      client,
      namespaces,
      labelSelector: "child-of=argosy.shop",
      sink: () => sink,
      onSynced: ({ kind }, namespace) => void synced.push(`${kind} ${namespace ?? "everywhere"}`),
      onInterruption: ({ kind }) => void interrupted.push(kind),
    });
    for (const kind of kinds) scopes.add(kind);
  }

  const named = (notSynced: NotSynced[]) =>
    notSynced.map(({ resource, namespace, problem }) =>
      [resource.kind, namespace ?? "everywhere", ...(problem ? ["refused"] : [])].join(" "),
    );
  const lists = (path?: string): ApiCall[] =>
    api.calls.filter((call) => !call.query.has("watch") && (path === undefined || call.path === path));

  it("list a kind in few namespaces at once, so that other requests leave if every list hangs", async () => {
    const namespaces = Array.from({ length: 100 }, (_, at) => `n${at}`);
    slow = new Set(namespaces.map((name) => `/api/v1/namespaces/${name}/configmaps`));
    watching(namespaces, CONFIG_MAPS);
    await eventually(() => assert.equal(held.size, 16));
    const { path } = await client.read<{ path: string }>("/version").then(() => api.calls.at(-1) as ApiCall);
    assert.deepEqual([path, held.size], ["/version", 16]);
  });

  it("watch each kind in the namespaces that are listed, and kinds without namespaces once", async () => {
    watching(["shop", "other"], CONFIG_MAPS, CLUSTER_ROLES);
    await scopes.whenListed();
    assert.deepEqual(
      lists().map(({ path }) => path),
      [SHOP, OTHER, "/apis/rbac.authorization.k8s.io/v1/clusterroles"],
    );
    assert.ok(lists().every(({ query }) => query.get("labelSelector") === "child-of=argosy.shop"));
    assert.deepEqual(synced.sort(), ["ClusterRole everywhere", "ConfigMap other", "ConfigMap shop"]);
    assert.deepEqual(scopes.notSynced(undefined), []);
  });

  it("watch each kind once if all namespaces count", async () => {
    watching("all", CONFIG_MAPS, SECRETS);
    await scopes.whenListed();
    assert.deepEqual(
      lists().map(({ path }) => path),
      ["/api/v1/configmaps", "/api/v1/secrets"],
    );
  });

  it("say which kind is still listed where, and for whom that counts", async () => {
    slow.add(OTHER);
    watching(["shop", "other"], CONFIG_MAPS, CLUSTER_ROLES);
    await eventually(() => assert.ok(synced.length === 2, "the rest is listed"));
    assert.deepEqual(named(scopes.notSynced(undefined)), ["ConfigMap other"]);
    assert.deepEqual(named(scopes.notSynced("other")), ["ConfigMap other"]);
    assert.deepEqual(named(scopes.notSynced("shop")), []);
  });

  it("count a kind without namespaces for every object", async () => {
    slow.add("/apis/rbac.authorization.k8s.io/v1/clusterroles");
    watching(["shop"], CONFIG_MAPS, CLUSTER_ROLES);
    await eventually(() => assert.ok(synced.length === 1, "the rest is listed"));
    assert.deepEqual(named(scopes.notSynced("shop")), ["ClusterRole everywhere"]);
  });

  it("serve the rest if a namespace may not be read, say why, and say when it may be", async () => {
    refused.set(OTHER, 403);
    watching(["shop", "other"], CONFIG_MAPS);
    await eventually(() => assert.ok(synced.length === 1, "the rest is listed"));
    await eventually(() => assert.ok(interrupted.length > 0, "it is refused"));
    assert.deepEqual(named(scopes.notSynced("other")), ["ConfigMap other refused"]);
    assert.deepEqual(named(scopes.notSynced("shop")), []);
    refused.clear();
    await eventually(() => assert.ok(synced.length === 2, "it is listed"));
    assert.deepEqual([synced[1], scopes.notSynced(undefined)], ["ConfigMap other", []]);
  });

  it("list again what can be listed, and wait for nothing else", async () => {
    refused.set(OTHER, 404);
    watching(["shop", "other"], CONFIG_MAPS);
    await eventually(() =>
      assert.ok(synced.length + interrupted.length >= 2, "one is listed, the other refused"),
    );
    const before = lists(SHOP).length;
    assert.equal(await scopes.relist(), true, "nothing is known of what was never listed");
    assert.equal(lists(SHOP).length, before + 1);
  });

  it("know a part of what was never listed to its end: that may be outdated", async () => {
    const items = [{ metadata: { name: "a", namespace: "shop", uid: "a-uid", resourceVersion: "1" } }];
    api.answer = (call, response) =>
      call.query.has("continue")
        ? refuse(response, 403)
        : json(response, { metadata: { resourceVersion: "5", continue: "more" }, items });
    watching(["shop"], CONFIG_MAPS);
    await eventually(() => assert.ok(interrupted.length > 0, "it is refused"));
    assert.equal(await scopes.relist(), false);
  });

  it("list again at once what was refused until now: what is known of it may be outdated", async () => {
    watching(["shop"], CONFIG_MAPS);
    await scopes.whenListed();
    refused.set(SHOP, 403);
    assert.equal(await scopes.relist(), false, "what is known of it may be outdated");
    refused.clear();
    const before = lists(SHOP).length;
    const relisted = scopes.relist();
    assert.equal(await relisted, true);
    assert.equal(lists(SHOP).length, before + 1);
  });

  it("list once more what is being listed for the first time: that list may be older than the question", async () => {
    slow.add(SHOP);
    watching(["shop"], CONFIG_MAPS);
    await eventually(() => assert.ok(held.size === 1, "it is asked for"));
    let isListed = false;
    const relisted = scopes.relist().then((isComplete) => {
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

  it("list the rest again if a namespace may no longer be read, although its watch is still open", async () => {
    watching(["shop", "other"], CONFIG_MAPS);
    await eventually(() => assert.ok(synced.length === 2, "both are listed"));
    refused.set(OTHER, 403);
    const before = lists(SHOP).length;
    assert.equal(await scopes.relist(), false);
    assert.equal(lists(SHOP).length, before + 1);
    assert.deepEqual(named(scopes.notSynced(undefined)), ["ConfigMap other refused"]);
  });

  it("say whether the API server lists any of them now, by one object of what it listed before", async () => {
    const { signal } = new AbortController();
    refused.set(SHOP, 403);
    watching(["shop", "other"], CONFIG_MAPS);
    assert.equal(await scopes.answers(signal), false);
    await scopes.whenListed();
    const before = lists(OTHER).length;
    assert.equal(await scopes.answers(signal), true);
    const asked = lists(OTHER).slice(before);
    assert.deepEqual(
      asked.map(({ query }) => [query.get("limit"), query.get("labelSelector")]),
      [["1", "child-of=argosy.shop"]],
    );
    refused.set(OTHER, 503);
    assert.equal(await scopes.answers(signal), false);
  });

  it("wait for nothing more when they are stopped", async () => {
    slow.add(SHOP);
    watching(["shop"], CONFIG_MAPS);
    const listed = scopes.whenListed();
    await eventually(() => assert.ok(held.size === 1, "it is asked for"));
    await scopes.stop();
    await listed;
  });

  it("hold up exactly the objects that need what is missing, whatever that is", async () => {
    const namespaces = ["shop", "other", "third"];
    const paths = namespaces.flatMap((namespace) =>
      ["configmaps", "secrets"].map((plural) => `/api/v1/namespaces/${namespace}/${plural}`),
    );
    await fc.assert(
      fc.asyncProperty(fc.subarray(paths), fc.constantFrom(403, 404), async (missing, code) => {
        [synced, interrupted] = [[], []];
        refused = new Map(missing.map((path) => [path, code]));
        watching(namespaces, CONFIG_MAPS, SECRETS);
        await eventually(() => assert.ok(synced.length === paths.length - missing.length, "all were tried"));
        await eventually(() =>
          assert.ok(
            scopes.notSynced(undefined).every(({ problem }) => problem),
            "all were refused",
          ),
        );
        for (const namespace of namespaces) {
          const expected = missing.filter((path) => path.includes(`/${namespace}/`)).length;
          assert.equal(scopes.notSynced(namespace).length, expected);
        }
        assert.equal(scopes.notSynced(undefined).length, missing.length);
        await scopes.stop();
      }),
      { numRuns: 15 },
    );
  });
});
