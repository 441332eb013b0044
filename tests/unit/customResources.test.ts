import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { readJson } from "../../runtime/base/json";
import type { JsonObject, KubernetesObject, ObjectMeta } from "../../runtime/base/objects";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { CustomResources } from "../../runtime/observe/customResources";
import type { News, ObjectNews } from "../../runtime/observe/news";
import { OutsideObjects } from "../../runtime/observe/outsideObjects";
import type { ReflectorSink } from "../../runtime/observe/reflector";
import { writtenMemory } from "../../runtime/remember/memory";
import { eventually } from "../support/eventually";
import { WIDGETS, widget } from "./support/objects";
import { json, sendEvent, TestApiServer } from "./support/testApiServer";

const NAME = { namespace: "shop", name: "widget" };
const OURS = ["argosy.dev/shop", "elsewhere.argosy.dev/shop"];
const READY = { observedGeneration: 3, conditions: [{ type: "Ready", status: "True" }] };
const FINALIZER = "argosy.dev/argosy.shop";

describe("CustomResources", () => {
  /** The news, with the version that was seen last. */
  let changes: (ObjectNews & { readonly seen: string })[];
  let seen: string;
  /** The uids of those that are gone. */
  let gone: string[];
  let server: KubernetesObject | undefined;
  /** The time by the API server's clock. */
  let now: number;
  /** Whether the kind can be listed. */
  let wouldShow: boolean;
  let objects: CustomResources;
  let sink: ReflectorSink;

  beforeEach(() => {
    [changes, gone, server, now, wouldShow, seen] = [[], [], undefined, 1_000, true, ""];
    objects = new CustomResources({
      client: { get: async () => server, now: () => now },
      resource: WIDGETS,
      finalizers: OURS,
      memoryIn: writtenMemory,
      emit: (news) => {
        if (news.kind === "object gone") gone.push(news.uid);
        else changes.push({ ...(news as ObjectNews), seen });
      },
      wouldShow: () => wouldShow,
    });
    sink = objects.sink(undefined);
    list(5, at(5));
    changes = [];
  });

  function at(version: number, metadata: Partial<ObjectMeta> = {}, content: object = {}): KubernetesObject {
    return widget({ resourceVersion: String(version), ...metadata }, content);
  }

  function list(version: number, ...items: KubernetesObject[]): void {
    sink.listing(false, String(version));
    for (const each of items) sink.set(each, true);
    sink.listed(String(version));
  }

  const watched = (object: KubernetesObject) => {
    seen = object.metadata.resourceVersion;
    sink.set(object, false);
  };
  const versions = () =>
    changes.map((each) => (each.kind === "object changed" ? each.resourceVersion : each.seen));
  const hinted = () => changes.map((each) => each.kind === "object changed" && each.isHinted);

  it("says that an object is to be reconciled if it is new, and if its generation, labels or annotations change", () => {
    watched(at(6, { generation: 4 }));
    watched(at(7, { generation: 4, labels: { a: "1" } }));
    watched(at(8, { generation: 4, labels: { a: "1" }, annotations: { b: "1" } }));
    watched(at(9, { generation: 4, labels: { a: "1" }, annotations: { b: "1", "argosy.dev/paused": "" } }));
    watched(at(10, { generation: 4, deletionTimestamp: "2026-01-01T00:00:00Z" }));
    watched(widget({ name: "other", uid: "other", resourceVersion: "11" }));
    assert.deepEqual(versions(), ["6", "7", "8", "9", "10", "11"]);
    assert.deepEqual(hinted(), [true, false, false, true, true, true]);
  });

  it("does not take an object for gone that exists again: etcd was restored to a time before its deletion", () => {
    sink.remove(at(8));
    assert.equal(objects.isGoing(NAME, "widget-uid"), true);
    sink.listing(true, "4");
    sink.set(at(4), true);
    sink.listed("4");
    assert.equal(objects.isGoing(NAME, "widget-uid"), false);
  });

  it("says nothing of a status, of finalizers and managed fields, and of what `kubectl apply` notes for itself", () => {
    watched(at(6, {}, { status: READY }));
    watched(at(7, { finalizers: ["x"], managedFields: [{ manager: "kubectl" }] }));
    watched(at(8, { annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}" } }));
    assert.deepEqual(changes, []);
  });

  it("says that an object has lost the engine's memory in its status, which is still known then", () => {
    const argosy = { kinds: ["v1/ConfigMap"], created: ["batch/Job/shop/a"], uid: "widget-uid" };
    const known = (object: KubernetesObject) => objects.lastMemoryOf(object)?.["created"];
    watched(at(6, {}, { status: { argosy, ...READY } }));
    watched(at(7, {}, { status: { argosy } }));
    assert.deepEqual(versions(), []);
    const emptied = [{ status: { argosy: {} } }, { status: {} }, {}];
    for (const [index, content] of emptied.entries()) {
      const object = at(8 + index, {}, content);
      watched(object);
      assert.deepEqual(known(object), argosy.created);
    }
    assert.deepEqual(versions(), ["8"]);
    watched(at(20, {}, { status: { argosy } }));
    watched(at(21, { deletionTimestamp: "2026-01-01T00:00:00Z", generation: 4 }));
    assert.deepEqual(known(at(21)), argosy.created);
    // Another object has the name, and etcd was restored to a time before this one had a memory.
    watched(at(22, { uid: "other" }));
    assert.deepEqual(known(at(22, { uid: "other" })), undefined);
    watched(at(23, { uid: "other" }, { status: { argosy: { ...argosy, uid: "other" } } }));
    sink.listing(true, "9");
    sink.set(at(9, { uid: "other" }), true);
    sink.listed("9");
    assert.deepEqual(known(at(9, { uid: "other" })), undefined);
  });

  it("keeps the integers of a memory as they are, however long", () => {
    const written = { kinds: [], later: readJson("12345678901234567890"), uid: "widget-uid" } as JsonObject;
    watched(at(6, {}, { status: { argosy: written } }));
    watched(at(7));
    assert.deepEqual(objects.lastMemoryOf(at(7)), written);
  });

  it("says nothing of a memory that the engine itself has emptied, or that is too long to be kept", () => {
    const argosy = { kinds: ["v1/ConfigMap"], created: ["batch/Job/shop/a"], uid: "widget-uid" };
    const known = (object: KubernetesObject) => objects.lastMemoryOf(object)?.["created"];
    watched(at(6, {}, { status: { argosy } }));
    watched(at(7, {}, { status: { argosy: { kinds: [], uid: "widget-uid" } } }));
    assert.deepEqual([versions(), known(at(7))], [[], undefined]);
    watched(at(8, {}, { status: { argosy: { ...argosy, created: ["x".repeat(20_000)] } } }));
    assert.deepEqual([versions(), known(at(8))], [[], undefined]);
  });

  it("says that an object has lost a finalizer of ours, unless it is being deleted; and nothing of one that comes", () => {
    watched(at(6, { finalizers: ["x", ...OURS] }));
    watched(at(7, { finalizers: [...OURS] }));
    assert.deepEqual(changes, []);
    watched(at(8, { finalizers: OURS.slice(1) }));
    watched(at(9));
    assert.deepEqual(versions(), ["8", "9"]);
    assert.deepEqual(
      changes.map(({ kind }) => kind),
      ["object stripped", "object stripped"],
    );
    const deletionTimestamp = "2026-01-01T00:00:00Z";
    watched(at(10, { deletionTimestamp, finalizers: [...OURS] }));
    watched(at(11, { deletionTimestamp, finalizers: ["x"] }));
    assert.deepEqual(versions(), ["8", "9", "10"]);
  });

  it("says of an object that is found whether its status says that everything was done", () => {
    const status = (more: object) => ({ status: { ...READY, ...more } });
    const found = [
      at(6, { name: "a", uid: "a" }, status({})),
      at(7, { name: "b", uid: "b" }, status({ observedGeneration: 2 })),
      at(8, { name: "c", uid: "c", deletionTimestamp: "2026-01-01T00:00:00Z" }, status({})),
      at(9, { name: "d", uid: "d" }, status({ conditions: [] })),
    ];
    list(9, ...found);
    assert.deepEqual(
      changes.map(({ kind }) => kind),
      ["object ready", "object changed", "object changed", "object unready"],
    );
    watched(at(10, { name: "a", uid: "a", generation: 4 }, status({ observedGeneration: 4 })));
    assert.equal(changes.at(-1)?.kind, "object changed");
  });

  it("does not take an object of others for changed because it is in the first list", () => {
    const kinds: string[] = [];
    const others = new CustomResources({
      client: { get: async () => server, now: () => now },
      resource: WIDGETS,
      emit: ({ kind }) => void kinds.push(kind),
      watched: { isWatched: () => true, partsOf: () => [], isReady: () => false },
    });
    const first = others.sink(undefined);
    first.listing(true, "5");
    first.set(at(5), true);
    first.listed("5");
    first.set(at(6, { name: "new", uid: "new" }), false);
    assert.deepEqual(kinds, ["object unready", "object changed"]);
  });

  it("says nothing of our own writes, neither when they are answered nor when the watch brings them", () => {
    objects.learn(at(6, {}, { status: READY }));
    watched(at(6, {}, { status: READY }));
    assert.deepEqual(changes, []);
  });

  it("reports a change by another client that the answer to our own write brings first", () => {
    objects.learn(at(7, { generation: 4 }, { status: READY }));
    watched(at(6, { generation: 4 }));
    watched(at(7, { generation: 4 }, { status: READY }));
    assert.deepEqual(versions(), ["7"]);
  });

  it("says a change once that its own reconcile reads first, by that reconcile, if one object or all that is known is outdated", async () => {
    for (const version of [6, 7]) {
      if (version === 6) objects.invalidate(NAME);
      else objects.invalidateAll();
      server = at(version, { generation: version });
      assert.deepEqual(await objects.readToReconcile(NAME), server);
      watched(server);
      assert.deepEqual(changes, []);
    }
  });

  it("reports a change that a read of the object finds first", async () => {
    objects.invalidate(NAME);
    server = at(6, { generation: 4 });
    assert.deepEqual(await objects.read(NAME), server);
    watched(server);
    assert.deepEqual(versions(), ["6"]);
  });

  it("gives no object in an older state than our own write left it, though the watch brings that later", async () => {
    const name = { namespace: "shop", name: "new" };
    const states = [6, 7, 8].map((version) => at(version, { name: "new", uid: "new" }));
    // A hint comes before the watch reports the object, and its reconcile writes.
    const [created, between, written] = states;
    assert.ok(created && between && written);
    server = created;
    assert.deepEqual(await objects.readToReconcile(name), created);
    objects.learn(written);
    server = written;
    for (const seen of [created, between, written]) {
      watched(seen);
      assert.deepEqual(await objects.readToReconcile(name), written);
    }
    assert.deepEqual(versions(), ["6"]);
    // From then on, the watch is believed.
    server = undefined;
    assert.deepEqual(await objects.readToReconcile(name), written);
  });

  it("does not learn of an object that the watch has not brought: its start would be missed", () => {
    objects.learn(widget({ uid: "another", resourceVersion: "9" }));
    objects.learn(widget({ name: "new", uid: "new", resourceVersion: "9" }));
    assert.deepEqual(objects.names(), [NAME]);
    watched(widget({ uid: "another", resourceVersion: "9" }));
    assert.deepEqual(versions(), ["9"]);
  });

  it("says that an object is gone, whether a watch reports that or a list lacks it", () => {
    watched(widget({ name: "other", uid: "other", resourceVersion: "6" }));
    sink.remove(at(7));
    now = 2_000;
    list(8);
    assert.deepEqual(gone, ["widget-uid", "other"]);
    assert.deepEqual(objects.names(), []);
    assert.deepEqual(
      ["widget-uid", "other", "never"].map((uid) => objects.removedAt(uid)),
      [1_000, 2_000, undefined],
    );
  });

  it("says that an object is gone and its successor is to be reconciled if it was deleted and created again", () => {
    watched(at(9, { uid: "second" }));
    assert.deepEqual(gone, ["widget-uid"]);
    assert.deepEqual(versions(), ["9"]);
  });

  it("knows of an object that it is going: deleted, being deleted, or replaced", () => {
    assert.equal(objects.isGoing(NAME, "widget-uid"), false);
    assert.equal(objects.isGoing({ namespace: "shop", name: "unknown" }, "unknown"), false);
    assert.equal(objects.isGoing(NAME, "earlier"), true);
    watched(at(6, { deletionTimestamp: "2026-01-01T00:00:00Z" }));
    assert.equal(objects.isGoing(NAME, "widget-uid"), true);
    sink.remove(at(7));
    assert.equal(objects.isGoing(NAME, "widget-uid"), true);
  });

  it("knows of which object a watch shows that it exists", () => {
    assert.equal(objects.isShown(NAME), true);
    wouldShow = false;
    assert.equal(objects.isShown(NAME), false);
    wouldShow = true;
    sink.remove(at(6));
    assert.equal(objects.isShown(NAME), false);
  });

  it("knows up to which version the watch has told of an object", () => {
    objects.learn(at(9));
    assert.equal(objects.hasReported(NAME, "5"), true);
    assert.equal(objects.hasReported(NAME, "9"), false);
    watched(at(9));
    assert.equal(objects.hasReported(NAME, "9"), true);
    assert.equal(objects.hasReported({ namespace: "shop", name: "unknown" }, "1"), false);
  });

  it("stays without an object that is deleted while it is read", async () => {
    const answer: { give?: (object: KubernetesObject) => void } = {};
    const slow = new CustomResources({
      client: {
        get: () =>
          new Promise((resolve) => {
            answer.give = resolve;
          }),
        now: () => now,
      },
      resource: WIDGETS,
      emit: () => {},
    });
    sink = slow.sink(undefined);
    list(5, at(5));
    slow.invalidate(NAME);
    const reading = slow.readToReconcile(NAME);
    sink.remove(at(6));
    answer.give?.(at(5));
    assert.equal(await reading, undefined);
    assert.deepEqual(slow.names(), []);
  });
});

describe("OutsideObjects", () => {
  let api: TestApiServer;
  let client: KubernetesClient;
  let outside: OutsideObjects;
  let changes: Extract<News, { kind: "object changed" }>[];
  let gone: string[];
  let watch: ServerResponse | undefined;

  beforeEach(async () => {
    [changes, gone, watch] = [[], [], undefined];
    api = await TestApiServer.start((call, response) => {
      if (!call.query.has("watch")) return json(response, { metadata: { resourceVersion: "5" }, items: [] });
      response.writeHead(200).flushHeaders();
      watch = response;
    });
    client = api.client();
    outside = new OutsideObjects({
      client,
      resource: WIDGETS,
      namespaces: ["listed"],
      finalizers: [FINALIZER],
      emit: (news) => {
        if (news.kind === "object changed") changes.push(news);
        if (news.kind === "object gone") gone.push(news.name.name);
      },
      onInterruption: () => {},
    });
    outside.startWatching();
    await eventually(() => assert.ok(watch));
  });
  afterEach(async () => {
    await outside.stopWatching();
    await api.stop();
  });

  /** The watch reports these states of an object one after another. */
  async function seen(...states: Partial<ObjectMeta>[]): Promise<void> {
    for (const [index, state] of states.entries())
      sendEvent(
        watch as ServerResponse,
        "MODIFIED",
        widget({ resourceVersion: String(6 + index), ...state }),
      );
    sendEvent(
      watch as ServerResponse,
      "MODIFIED",
      widget({ ...going(), name: "last", uid: "last", resourceVersion: "99" }),
    );
    await eventually(() => assert.equal(changes.at(-1)?.name.name, "last"));
  }

  const going = (more: Partial<ObjectMeta> = {}): Partial<ObjectMeta> => ({
    deletionTimestamp: "2026-01-01T00:00:00Z",
    finalizers: [FINALIZER],
    ...more,
  });
  const versions = () => changes.slice(0, -1).map(({ resourceVersion }) => resourceVersion);

  it("say that an object is being deleted, and once: a status that its handler writes is no change", async () => {
    await seen(
      { finalizers: [FINALIZER] },
      going(),
      going({ managedFields: [] }),
      going({ labels: { a: "1" } }),
    );
    assert.deepEqual(versions(), ["7"]);
    assert.deepEqual(outside.names(), [
      { namespace: "shop", name: "widget" },
      { namespace: "shop", name: "last" },
    ]);
  });

  it("say when the object or an annotation of ours changes: a user may want it deleted without its handler", async () => {
    const annotations = { "argosy.dev/skip-finalize": "true" };
    await seen(
      going(),
      going({ annotations: { other: "1" } }),
      going({ annotations }),
      going({ generation: 9 }),
    );
    assert.deepEqual(versions(), ["6", "8", "9"]);
  });

  it("leave out what is listed, and what has no finalizer of ours", async () => {
    const other = going({ name: "other", uid: "other", finalizers: ["example.com/other"] });
    await seen(going({ namespace: "listed" }), other, going(), going({ finalizers: [] }));
    assert.deepEqual([versions(), gone], [["8"], ["widget"]]);
  });
});
