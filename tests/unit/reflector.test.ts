import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { KubernetesObject } from "../../runtime/base/objects";
import { eventually } from "../support/eventually";
import { item, ReflectorBench } from "./support/reflectorBench";
import { sendEvent } from "./support/testApiServer";

describe("Reflector", () => {
  let bench: ReflectorBench;
  beforeEach(async () => {
    bench = await ReflectorBench.begin();
  });
  afterEach(() => bench.end());

  it("lists all pages, then watches from there, with bookmarks", async () => {
    bench.pages = [
      { items: [item("a", "1")], resourceVersion: "5", more: "next" },
      { items: [item("b", "2")], resourceVersion: "5" },
    ];
    await bench.start();
    assert.deepStrictEqual(bench.told, ["listing", "set a@1", "set b@2", "listed"]);
    assert.deepStrictEqual(
      bench.lists().map(({ query }) => query.get("continue")),
      [null, "next"],
    );
    const { call, response } = await bench.watch();
    assert.equal(call.path, "/api/v1/configmaps");
    assert.equal(call.query.get("resourceVersion"), "5");
    assert.equal(call.query.get("allowWatchBookmarks"), "true");
    assert.ok(Number(call.query.get("timeoutSeconds")) >= 240);
    sendEvent(response, "ADDED", item("c", "6"));
    sendEvent(response, "MODIFIED", item("a", "7"));
    sendEvent(response, "BOOKMARK", item("", "8"));
    sendEvent(response, "DELETED", item("b", "9"));
    await eventually(() => assert.ok(bench.told.length === 7, "every event has come"));
    assert.deepStrictEqual(bench.told.slice(4), ["set c@6", "set a@7", "remove b@9"]);
  });

  it("watches from a version that it is given, without a list", async () => {
    // It never lists, which a start waits for.
    void bench.start({ from: "7" });
    const { call, response } = await bench.watch();
    assert.equal(call.query.get("resourceVersion"), "7");
    sendEvent(response, "ADDED", item("c", "8"));
    await eventually(() => assert.ok(bench.told.length === 1, "the event has come"));
    assert.deepStrictEqual([bench.told, bench.lists().length], [["set c@8"], 0]);
  });

  it("gives the items of a list the kind that they do not carry themselves", async () => {
    const { apiVersion: _, kind: __, ...bare } = item("a", "1");
    bench.pages = [{ items: [bare as KubernetesObject], resourceVersion: "1" }];
    const seen: KubernetesObject[] = [];
    await bench.start({ sink: { set: (object) => void seen.push(object) } });
    assert.deepStrictEqual([seen[0]?.apiVersion, seen[0]?.kind], ["v1", "ConfigMap"]);
  });

  it("gives metadata alone, also where an API server gives objects whole", async () => {
    bench.pages = [{ items: [item("a", "1", "data")], resourceVersion: "1" }];
    const seen: KubernetesObject[] = [];
    const take = (object: KubernetesObject) => void seen.push(object);
    await bench.start({ sink: { set: take, remove: take }, metadataOnly: true });
    const { response } = await bench.watch();
    sendEvent(response, "MODIFIED", item("a", "2", "data"));
    sendEvent(response, "DELETED", item("a", "3", "data"));
    await eventually(() => assert.ok(seen.length === 3, "every event has come"));
    const bare = (version: string) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: item("a", version).metadata,
    });
    assert.deepStrictEqual(seen, ["1", "2", "3"].map(bare));
  });

  it("asks for the metadata alone, and for one namespace, where it should", async () => {
    await bench.start({ metadataOnly: true, namespace: "shop" });
    const { call } = await bench.watch();
    assert.equal(call.path, "/api/v1/namespaces/shop/configmaps");
    assert.match(call.headers.accept ?? "", /as=PartialObjectMetadata;/);
    assert.match(bench.lists()[0]?.headers.accept ?? "", /as=PartialObjectMetadataList;/);
  });

  it("reads an event that is cut in the middle of a character", async () => {
    await bench.start();
    const { response } = await bench.watch();
    const bytes = Buffer.from(`${JSON.stringify({ type: "ADDED", object: item("größe-🚢", "100") })}\n`);
    for (const byte of bytes) {
      response.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await eventually(() => assert.ok(bench.told.includes("set größe-🚢@100"), "the event has come"));
    assert.deepStrictEqual(bench.interruptions, []);
  });

  it("goes on from the last event when the server ends the watch", async () => {
    await bench.start();
    const first = await bench.watch();
    sendEvent(first.response, "ADDED", item("a", "101"));
    await pause(250);
    first.response.end();
    const second = await bench.watch(2);
    assert.equal(second.call.query.get("resourceVersion"), "101");
    assert.equal(bench.lists().length, 1);
    assert.deepStrictEqual(bench.interruptions, []);
  });

  it("goes on from the last bookmark when the connection is cut", async () => {
    await bench.start();
    const first = await bench.watch();
    sendEvent(first.response, "BOOKMARK", item("", "150"));
    first.response.write('{"type":"ADDED","obj');
    await pause(50);
    // A process that was not given a core during the pause looks at its timers before it reads.
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
    bench.api.cut();
    bench.pages = [{ items: [item("a", "140")], resourceVersion: "160" }];
    const second = await bench.watch(2);
    assert.equal(second.call.query.get("resourceVersion"), "150");
    // The second one asked for the version alone.
    assert.deepStrictEqual([bench.lists().length, bench.lists()[1]?.query.get("limit")], [2, "1"]);
    assert.deepStrictEqual(bench.told, ["listing", "listed"]);
    assert.deepStrictEqual(
      bench.interruptions.map(({ message }) => message),
      ["the connection was interrupted. The watch resumes where it was"],
    );
    sendEvent(second.response, "ADDED", item("a", "151"));
    await eventually(() => assert.ok(bench.told.includes("set a@151"), "the event has come"));
  });

  it("goes on from where it was after an ERROR event of another kind", async () => {
    bench.onWatch = (_, response) => {
      if (bench.watches.length > 1) return;
      sendEvent(response, "ADDED", item("a", "120"));
      sendEvent(response, "ERROR", { kind: "Status", code: 500, message: "etcd is away" });
    };
    await bench.start();
    bench.pages = [{ items: [item("a", "120")], resourceVersion: "120" }];
    const second = await bench.watch(2);
    assert.equal(second.call.query.get("resourceVersion"), "120");
    assert.equal(bench.interruptions[0]?.message, "etcd is away");
    assert.deepEqual(bench.told, ["listing", "listed", "set a@120"]);
  });

  it("survives a line that is not JSON", async () => {
    bench.onWatch = (_, response) => {
      if (bench.watches.length === 1) response.write("<html>\n");
    };
    await bench.start();
    const second = await bench.watch(2);
    sendEvent(second.response, "ADDED", item("a", "101"));
    await eventually(() => assert.ok(bench.told.includes("set a@101"), "the event has come"));
  });

  it("tells the sink nothing after it was stopped, and closes its connection", async () => {
    await bench.start();
    const { response } = await bench.watch();
    await bench.reflector?.stopWatching();
    const before = bench.told.length;
    sendEvent(response, "ADDED", item("a", "101"));
    await eventually(() => assert.ok(response.destroyed || response.closed, "the watch is closed"));
    assert.equal(bench.told.length, before);
    assert.deepStrictEqual(bench.interruptions, []);
  });

  it("ends the wait for a list when it is stopped", async () => {
    bench.api.answer = () => {};
    const starting = bench.start();
    await eventually(() => assert.ok(bench.api.calls.length === 1, "the list is asked for"));
    await bench.reflector?.stopWatching();
    await starting;
    assert.equal(bench.reflector?.isSynced, false);
    await bench.reflector?.relist();
    assert.deepStrictEqual(bench.told, []);
  });

  it("leaves out an object that its sink refuses, says so, and stores the others", async () => {
    const set = ({ metadata }: KubernetesObject) => {
      if (metadata.name === "bad") throw new Error("too deep");
      bench.told.push(metadata.name);
    };
    bench.pages = [{ items: [item("bad", "1"), item("good", "2")], resourceVersion: "5" }];
    await bench.start({ sink: { set } });
    assert.deepStrictEqual(bench.told, ["listing", "good", "listed"]);
    assert.equal(bench.interruptions[0]?.message, "shop/bad was left out: too deep");
  });
});
