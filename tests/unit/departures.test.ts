import assert from "node:assert/strict";
import { identityOf } from "../../runtime/base/names";
import type { KubernetesObject } from "../../runtime/base/objects";
import { ApiError } from "../../runtime/kubernetes/errors";
import type { ChildStore } from "../../runtime/observe/childStore";
import { ownedManifest } from "../../runtime/observe/marks";
import { clearUpAfterGone } from "../../runtime/reconcile/departures";
import type { OthersObjects } from "../../runtime/reconcile/run";
import { MemoryObjects } from "../../runtime/remember/memoryObjects";
import type { ChildChange } from "../../runtime/write/childWriter";
import { Outages } from "../../runtime/write/outages";
import { Sweep } from "../../runtime/write/sweep";
import { clearingUp } from "./support/clearingUp";
import { childrenIn } from "./support/fakeChildren";
import type { FakeCluster } from "./support/fakeCluster";
import {
  applied,
  CONFIG_MAPS,
  IDENTITY,
  MANAGER,
  namespace,
  operator,
  WIDGETS,
  widget,
} from "./support/objects";
import { ReconcileWorld, reading } from "./support/reconcileWorld";

const NAME = { namespace: "shop", name: "widget" };

describe("objects that are no longer watched", () => {
  let world: ReconcileWorld;
  let cluster: FakeCluster;
  let store: ChildStore;
  let memories: MemoryObjects;
  let watched: string[];
  /** The uids of objects that were seen to go. */
  let removed: string[];
  let assertSeen: () => void;
  let changes: ChildChange[];

  beforeEach(async () => {
    world = new ReconcileWorld();
    ({ cluster } = world);
    [watched, removed, assertSeen] = [[], [], () => {}];
    changes = [];
    memories = new MemoryObjects({
      client: cluster.client(),
      operator: operator(),
      resource: WIDGETS,
      namespace: "argosy",
    });
    const memory = { kinds: ["v1/ConfigMap"], elsewhere: true };
    await memories.write(cluster.client(), { ...NAME, uid: "widget-uid" }, { memory });
    cluster.steps.length = 0;
  });

  /** What we know of children, and what is asked about objects. */
  function parts(isBlind = false) {
    const { store: children, writer } = childrenIn(cluster);
    store = children;
    for (const child of cluster.ofKind("ConfigMap")) if (!isBlind) store.learn(CONFIG_MAPS, [child]);
    const others: OthersObjects = {
      memories,
      objects: {
        hasUid: (each) => watched.includes(each),
        removedAt: (each) => (removed.includes(each) ? 0 : undefined),
        readNow: async () => cluster.find("Widget", NAME),
      },
      assertSeen: () => assertSeen(),
      isBlind,
    };
    return { others, writer, context: { client: cluster.client(), fence: () => {} } };
  }

  async function clearUp(uid?: string, isBlind = false): Promise<void> {
    const { others, writer, context } = parts(isBlind);
    const sweep = new Sweep({ operator: operator(), childResources: [CONFIG_MAPS], children: store, writer });
    const run = clearingUp(NAME, context, changes);
    await clearUpAfterGone(others, store, sweep, run, uid);
  }

  /** Reconciles what has the name. @param object undefined: no watched object has it */
  async function report(object?: KubernetesObject, outages?: Outages) {
    const { others, writer } = parts();
    const objects = reading(async () => object);
    world.answer = { children: [] };
    const { report } = await world.reconcile({
      ...{ childResources: [CONFIG_MAPS], objects, children: store, writer, memories, others },
      ...(outages && { outages }),
    });
    return report;
  }

  /** Puts a child of an object there. */
  function child(name: string, manager = MANAGER, of: KubernetesObject = widget(), namespace = "shop") {
    const manifest = ownedManifest(
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace } },
      of,
      CONFIG_MAPS,
      identityOf(IDENTITY),
      false,
    );
    cluster.put(applied(manifest, manager, { uid: `${name}-uid` }));
  }

  const left = () => cluster.ofKind("ConfigMap").map(({ metadata }) => metadata.name);
  const isRemembered = () => cluster.ofKind("Memory").length > 0;

  for (const isBlind of [false, true]) {
    const how = isBlind ? "that are listed" : "that a watch shows";
    it(`lose their children ${how}, in other namespaces too, and then their memory`, async () => {
      child("near");
      child("far", MANAGER, widget(), "elsewhere");
      child("other's", MANAGER, widget({ name: "other", uid: "other-uid" }));
      child("forged", "somebody");
      await clearUp(undefined, isBlind);
      assert.deepEqual(left(), ["other's", "forged"]);
      assert.equal(isRemembered(), false);
      assert.deepEqual(cluster.steps.at(-1), "delete Memory argosy.shop.widget-uid");
      assert.equal(changes.length, 2);
    });
  }

  it("lose children of which nothing is remembered", async () => {
    await memories.forget(cluster.client(), "widget-uid");
    child("near");
    await clearUp();
    assert.deepEqual(left(), []);
  });

  it("keep their memory while the runner may not list children of a declared kind, and say how to grant that right", async () => {
    child("near");
    cluster.put(namespace("shop"));
    await memories.write(cluster.client(), { ...NAME, uid: "widget-uid" }, { memory: { kinds: [] } });
    cluster.readRefusals.set("list ConfigMap in shop", new ApiError(403, { message: "forbidden" }, "GET"));
    await assert.rejects(clearUp(undefined, true), /in namespace shop, .*The namespace was probably deleted/);
    assert.ok(isRemembered());
  });

  describe("keep everything while they may only be out of sight, and were not seen to go:", () => {
    const unseen: Readonly<Record<string, () => unknown>> = {
      "their namespace exists": () => cluster.put(namespace("shop")),
      "their namespace is being deleted": () =>
        cluster.put(namespace("shop", { deletionTimestamp: "2026-01-01T00:00:00Z" })),
      "the runner may not read their namespace": () =>
        cluster.readRefusals.set("get Namespace", new ApiError(403, {}, "GET")),
    };
    for (const [why, given] of Object.entries(unseen))
      it(why, async () => {
        child("near");
        given();
        assertSeen = () => assert.fail("the kind is not served");
        await assert.rejects(clearUp(), /not served/);
        assert.deepEqual([isRemembered(), left()], [true, ["near"]]);
        removed = ["widget-uid"];
        await clearUp();
        assert.deepEqual([isRemembered(), left()], [false, []]);
      });
  });

  it("are gone with their namespace, although the runner did not see them go", async () => {
    child("far", MANAGER, widget(), "elsewhere");
    assertSeen = () => assert.fail("the runner may not list them");
    await clearUp();
    assert.deepEqual([isRemembered(), left()], [false, []]);
  });

  it("are none that exist again: etcd was restored to a time before they went", async () => {
    child("near");
    cluster.put(widget());
    for (const uid of [undefined, "its-successor"]) await clearUp(uid);
    removed = ["widget-uid"];
    await clearUp();
    assert.deepEqual([left(), isRemembered()], [["near"], true]);
  });

  it("are none of those that are watched, under that name or another", async () => {
    child("near");
    await clearUp("widget-uid");
    watched = ["widget-uid"];
    await clearUp();
    assert.deepEqual([isRemembered(), left(), changes.length], [true, ["near"], 0]);
  });

  it("give way to another object of their name, which is reported itself", async () => {
    child("near");
    await clearUp("another-uid");
    assert.deepEqual([isRemembered(), left()], [false, []]);
    child("near");
    const { uid, changes: made } = await report(widget({ uid: "another-uid" }));
    assert.deepEqual([uid, made.length, left()], ["another-uid", 1, []]);
  });

  it("hold up another object of their name if a child cannot be deleted, and that object reports why", async () => {
    child("near");
    cluster.refusals.set("delete ConfigMap near", new ApiError(403, { message: "forbidden" }, "DELETE"));
    const { uid, generation, failure } = await report(widget({ uid: "another-uid" }));
    assert.deepEqual([uid, generation, failure?.reason], ["another-uid", 3, "ChildRefused"]);
  });

  for (const object of [undefined, widget({ uid: "another-uid" })])
    it(`are reported${object ? " by the object of their name" : ""} if a child cannot be deleted for long, although the API server answers`, async () => {
      child("near");
      const away = new ApiError(503, { message: "service unavailable" }, "DELETE /near");
      cluster.refusals.set("delete ConfigMap near", away);
      let now = 0;
      const outages = new Outages("ApiError", () => now);
      const reports = [];
      for (now of [0, 10_000, 30_000]) reports.push(await report(object, outages));
      assert.deepEqual(
        reports.map(({ failure }) => failure?.reason),
        [undefined, undefined, "ApiError"],
      );
      assert.match(reports[2]?.failure?.message ?? "", /has failed to answer DELETE \/near, although/);
      assert.equal(reports[2]?.uid, object?.metadata.uid ?? "widget-uid");
    });

  it("are reported by their uid if something of them was left, even if it cannot be deleted", async () => {
    child("near");
    cluster.refusals.set("delete ConfigMap near", new ApiError(403, { message: "forbidden" }, "DELETE"));
    const failed = await report();
    assert.deepEqual([failed.uid, failed.result], ["widget-uid", "failed"]);
    cluster.refusals.clear();
    const cleared = await report();
    assert.deepEqual([cleared.uid, cleared.skipped, cleared.changes.length], ["widget-uid", "gone", 1]);
    const nothing = await report();
    assert.deepEqual([nothing.uid, nothing.skipped, nothing.changes.length], [undefined, "gone", 0]);
  });
});
