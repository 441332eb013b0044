import assert from "node:assert/strict";
import { ListedChildren } from "../../cli/diff/listedChildren";
import { identityOf, OWNER_ANNOTATION, OWNER_UID_LABEL } from "../../runtime/base/names";
import type { KubernetesObject } from "../../runtime/base/objects";
import type { Resource } from "../../runtime/base/resource";
import { Orphans } from "../../runtime/engine/orphans";
import { ownedManifest } from "../../runtime/observe/marks";
import { conflictWith, isStrippedChildOf, provenOwner } from "../../runtime/observe/ownership";
import { ReadMemories } from "../../runtime/programs/run/readMemories";
import { clearUpAfterGone } from "../../runtime/reconcile/departures";
import { MemoryObjects } from "../../runtime/remember/memoryObjects";
import { Sweep } from "../../runtime/write/sweep";
import { clearingUp } from "./support/clearingUp";
import { childrenIn } from "./support/fakeChildren";
import { FakeCluster } from "./support/fakeCluster";
import {
  applied,
  CONFIG_MAPS,
  configMap,
  IDENTITY,
  MANAGER,
  operator,
  WIDGETS,
  widget,
} from "./support/objects";
import { ReconcileWorld } from "./support/reconcileWorld";

const NAME = { namespace: "shop", name: "widget" };
const UID = "former-uid";
/** Kinds of which an operator may have been before it became one of {@link WIDGETS}. */
const FORMER_KINDS: readonly Resource[] = [
  { ...WIDGETS, apiVersion: "old.example.com/v1" },
  { ...WIDGETS, kind: "Gadget" },
  { ...WIDGETS, apiVersion: "v1", kind: "Pod" },
];

/**
 * Every place that knows objects by a name, in a cluster that has an object of the same name and of a kind that the operator had
 * before. That object lives.
 */
for (const former of FORMER_KINDS) {
  describe(`next to a living ${former.kind} (${former.apiVersion}) of the same name`, () => {
    const owner: KubernetesObject = {
      apiVersion: former.apiVersion,
      kind: former.kind,
      metadata: { ...NAME, uid: UID, resourceVersion: "7" },
    };
    /** A child in another namespace, and one in its own. */
    const far = childOf("far", "archive");
    const near = childOf("near", "shop");

    /** One in its namespace that it owns as an object of others. */
    const plain = childOf("plain", "shop", false);
    const children = [far, near, plain];

    function childOf(name: string, namespace: string, isController = true): KubernetesObject {
      const manifest = ownedManifest(
        configMap({ name, namespace }),
        owner,
        CONFIG_MAPS,
        identityOf(IDENTITY),
        isController,
      );
      return applied(manifest, MANAGER, { uid: `${name}-uid` });
    }

    function world() {
      const cluster = new FakeCluster();
      const { store, writer } = childrenIn(cluster);
      for (const each of [owner, ...children]) cluster.put(each);
      store.learn(CONFIG_MAPS, children);
      return { cluster, store, writer };
    }

    it("its children are not ours: neither known, nor left by a predecessor", () => {
      const { store } = world();
      assert.deepEqual([store.size, store.owners(), store.of(UID)], [0, [], []]);
      assert.deepEqual(store.ofPredecessors({ ...NAME, uid: "widget-uid" }), []);
      for (const child of children) assert.equal(provenOwner(child, WIDGETS, [MANAGER]), undefined);
    });

    it("its children are not ours if they have lost a mark", () => {
      const { [OWNER_UID_LABEL]: _, ...labels } = far.metadata.labels ?? {};
      const stripped = { ...far, metadata: { ...far.metadata, labels } };
      assert.equal(isStrippedChildOf(stripped, widget(), [MANAGER]), false);
    });

    it("a mark of ours without a kind, as in earlier versions, counts as lost: the uid says whose the child is", () => {
      const annotations = { [OWNER_ANNOTATION]: "shop/widget" };
      const child = { ...far, metadata: { ...far.metadata, annotations } };
      assert.equal(provenOwner(child, former, [MANAGER]), undefined);
      assert.ok(isStrippedChildOf(child, owner, [MANAGER]));
      assert.ok(!isStrippedChildOf(child, widget(), [MANAGER]));
    });

    it("its children are in the way of ours, and whose they are is said", () => {
      for (const [child, name] of [
        [far, "shop/widget"],
        [near, "widget"],
        [plain, "widget"],
      ] as const) {
        const { why, hasOwner } = conflictWith(child, "widget-uid", WIDGETS, [MANAGER]) ?? {};
        const group = former.apiVersion === "v1" ? "" : `.${former.apiVersion.split("/")[0]}`;
        assert.deepEqual([why, hasOwner], [`it belongs to ${former.kind}${group} ${name}`, true]);
      }
    });

    it("an object of ours is reconciled, and deleted, without touching its children", async () => {
      const world = new ReconcileWorld();
      const touched: string[] = [];
      world.cluster.onOverwrite = (step, { metadata: { name } }) => {
        if (children.some((child) => child.metadata.name === name)) touched.push(step);
      };
      for (const each of [owner, ...children]) world.cluster.put(each);
      world.given();
      world.seeChildren([CONFIG_MAPS]);
      world.answer = { children: [configMap({ name: "own", namespace: "archive" })] };
      assert.equal((await world.reconcile()).report.failure, undefined);
      for (const taken of children.map(({ metadata: { name, namespace } }) =>
        configMap({ name, ...(namespace && { namespace }) }),
      )) {
        world.answer = { children: [taken] };
        const { failure } = (await world.reconcileAgain()).report;
        assert.equal(failure?.reason, "ChildConflict");
        assert.doesNotMatch(failure?.message ?? "", /an earlier object/);
      }
      const { metadata } = world.object() as KubernetesObject;
      world.given({ ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" });
      await world.reconcileAgain();
      assert.deepEqual(touched, []);
    });

    it("no check takes it for gone", async () => {
      const { cluster, store, writer } = world();
      const notices: string[] = [];
      const orphans = new Orphans({
        store,
        writer,
        objects: { hasUid: () => false, removedAt: () => undefined },
        wouldShow: () => true,
        isFollowed: () => true,
        masked: (text) => text,
        notice: (text) => void notices.push(text),
      });
      orphans.open(cluster.client());
      orphans.gone(UID);
      await orphans.end();
      orphans.discard();
      assert.deepEqual([cluster.steps, notices], [[], []]);
    });

    it("it is not remembered as one of those that are watched now", async () => {
      const { cluster, store, writer } = world();
      const client = cluster.client();
      const shared = { client, operator: operator(), namespace: "argosy" };
      // As the operator of the former kind has left it.
      const before = new ReadMemories({ ...shared, resource: former });
      await before.write(
        client,
        { ...NAME, uid: UID },
        { memory: { kinds: ["v1/ConfigMap"], elsewhere: true } },
      );
      cluster.steps.length = 0;
      const watched = new MemoryObjects({
        ...shared,
        resource: WIDGETS,
        emit: () => assert.fail("nothing has changed"),
      });
      watched.sink("argosy").set(cluster.ofKind("Memory")[0] as KubernetesObject, true);
      assert.deepEqual([watched.names(), await watched.uidsOf(NAME)], [[], []]);
      const run = new ReadMemories({ ...shared, resource: WIDGETS, uid: UID });
      assert.deepEqual(await run.uidsOf(NAME), []);
      const objects = { hasUid: () => false, removedAt: () => undefined, readNow: async () => undefined };
      const others = { memories: watched, objects, assertSeen: () => {}, isBlind: true };
      const sweep = new Sweep({
        operator: operator(),
        childResources: [CONFIG_MAPS],
        children: store,
        writer,
      });
      for (const uid of [undefined, "widget-uid"])
        await clearUpAfterGone(others, store, sweep, clearingUp(NAME, { client, fence: () => {} }), uid);
      assert.deepEqual(cluster.steps, []);
    });

    it("a command that lists children of an object of ours leaves out its own", () => {
      const listed = new ListedChildren();
      listed.add(CONFIG_MAPS, children);
      assert.deepEqual(listed.near(widget()), []);
    });
  });
}
