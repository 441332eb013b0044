import assert from "node:assert/strict";
import type { KubernetesObject } from "../../runtime/base/objects";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { schemaHashOf } from "../../runtime/kubernetes/discovery";
import { KindWatch, MANY_OBJECTS } from "../../runtime/observe/kindWatch";
import { Store } from "../../runtime/observe/store";
import { CONFIG_MAPS } from "./support/objects";
import { item } from "./support/reflectorBench";
import { type ApiCall, json, refuse, TestApiServer } from "./support/testApiServer";

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
    client.close();
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
