import assert from "node:assert/strict";
import type { ChildStore } from "../../runtime/children/childStore";
import { ownedManifest } from "../../runtime/children/ownership";
import { ApiError } from "../../runtime/kubernetes/errors";
import type { KubernetesObject } from "../../runtime/kubernetes/objects";
import { KeptMemories } from "../../runtime/memory/keptMemories";
import { MemoryStore } from "../../runtime/memory/memoryStore";
import { identityOf } from "../../runtime/names";
import { Departures } from "../../runtime/reconcile/departures";
import type { Draft } from "../../runtime/reconcile/run";
import { Sweep } from "../../runtime/reconcile/sweep";
import { childrenIn } from "./support/fakeChildren";
import { FakeCluster } from "./support/fakeCluster";
import { CONFIG_MAPS, entryOf, IDENTITY, MANAGER, operator, WIDGETS, widget } from "./support/objects";

const NAME = { namespace: "shop", name: "widget" };

describe("objects that are no longer watched", () => {
  let cluster: FakeCluster;
  let store: ChildStore;
  let memories: KeptMemories;
  let watched: string[];
  let assertSeen: () => void;
  let report: Draft;

  beforeEach(async () => {
    cluster = new FakeCluster();
    [watched, assertSeen] = [[], () => {}];
    report = { changes: [] as unknown as Draft["changes"] } as Draft;
    const shelf = new MemoryStore({
      client: cluster.client(),
      identities: [IDENTITY],
      assertKnown: () => {},
      onLost: () => {},
    });
    memories = new KeptMemories({
      operator: IDENTITY,
      resource: WIDGETS,
      namespace: "argosy",
      shelf,
      isThere: () => true,
    });
    const memory = { kinds: ["v1/ConfigMap"], elsewhere: true };
    await memories.write(cluster.client(), { ...NAME, uid: "widget-uid" }, { memory });
    cluster.steps.length = 0;
  });

  async function clearUp(uid?: string, isBlind = false): Promise<void> {
    const { store: children, writer } = childrenIn(cluster);
    store = children;
    for (const child of cluster.ofKind("ConfigMap")) if (!isBlind) store.learn(CONFIG_MAPS, [child]);
    const sweep = new Sweep({ operator: operator(), childResources: [CONFIG_MAPS], store, writer });
    const departures = new Departures(
      {
        resource: WIDGETS,
        memories,
        children: store,
        isWatched: (each) => watched.includes(each),
        isBlind,
        assertSeen: () => assertSeen(),
      },
      sweep,
    );
    await departures.clearUp(NAME, uid, { client: cluster.client(), assert: () => {} }, report);
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
    const managedFields = [entryOf(manifest, manager)];
    cluster.put({
      ...manifest,
      metadata: { ...manifest.metadata, uid: `${name}-uid`, resourceVersion: "1", managedFields },
    });
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
      assert.deepEqual([report.uid, report.changes.length], ["widget-uid", 2]);
    });
  }

  it("lose children of which nothing is remembered", async () => {
    await memories.forget(cluster.client(), "widget-uid");
    child("near");
    await clearUp();
    assert.deepEqual(left(), []);
  });

  it("keep their memory while a child is left", async () => {
    child("near");
    cluster.refusals.set("delete ConfigMap near", new ApiError(403, { message: "forbidden" }, "DELETE"));
    await assert.rejects(clearUp(), /forbidden/);
    assert.deepEqual([isRemembered(), report.uid], [true, "widget-uid"]);
  });

  describe("keep everything while they may only be out of sight:", () => {
    const namespace = (metadata: object = {}): KubernetesObject => ({
      ...{ apiVersion: "v1", kind: "Namespace" },
      metadata: { name: "shop", uid: "shop-uid", resourceVersion: "1", ...metadata },
    });
    const unseen: Readonly<Record<string, () => unknown>> = {
      "their namespace is there": () => cluster.put(namespace()),
      "their namespace is being deleted": () =>
        cluster.put(namespace({ deletionTimestamp: "2026-01-01T00:00:00Z" })),
      "nobody may see their namespace": () =>
        cluster.readRefusals.set("get Namespace", new ApiError(403, {}, "GET")),
    };
    for (const [why, given] of Object.entries(unseen))
      it(why, async () => {
        child("near");
        given();
        assertSeen = () => assert.fail("the kind is not served");
        await assert.rejects(clearUp(), /not served/);
        assert.deepEqual([isRemembered(), left()], [true, ["near"]]);
      });
  });

  it("are gone with their namespace, although nobody saw them go", async () => {
    child("far", MANAGER, widget(), "elsewhere");
    assertSeen = () => assert.fail("the runner may not list them");
    await clearUp();
    assert.deepEqual([isRemembered(), left()], [false, []]);
  });

  it("are none of those that are watched, under that name or another", async () => {
    child("near");
    await clearUp("widget-uid");
    watched = ["widget-uid"];
    await clearUp();
    assert.deepEqual([isRemembered(), left(), report.changes.length], [true, ["near"], 0]);
  });

  it("give way to another object of their name, which is reported itself", async () => {
    child("near");
    await clearUp("another-uid");
    assert.deepEqual([isRemembered(), left(), report.uid], [false, [], undefined]);
  });
});
