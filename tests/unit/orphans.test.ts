import assert from "node:assert/strict";
import fc from "fast-check";
import { identityOf } from "../../runtime/base/names";
import { type KubernetesObject, timeOf } from "../../runtime/base/objects";
import { Orphans } from "../../runtime/engine/orphans";
import { ApiError } from "../../runtime/kubernetes/errors";
import type { ChildStore } from "../../runtime/observe/childStore";
import { ownedManifest } from "../../runtime/observe/marks";
import type { ChildWriter } from "../../runtime/write/childWriter";
import { childrenIn } from "./support/fakeChildren";
import { FakeClock } from "./support/fakeClock";
import { FakeCluster } from "./support/fakeCluster";
import { applied, CONFIG_MAPS, configMap, IDENTITY, MANAGER, widget } from "./support/objects";

const UID = "widget-uid";
/** How the API server answers a list of a kind that it does not serve. */
const UNSERVED = new ApiError(404, { message: "the server could not find the requested resource" }, "GET");

describe("Orphans", () => {
  let clock: FakeClock;
  let cluster: FakeCluster;
  let store: ChildStore;
  let orphans: Orphans;
  /** The uids of the objects that a watch shows, and of those of which it has shown that they went, with the time. */
  let watched: Set<string>;
  let removed: Map<string, number>;
  /** Whether the objects were listed. */
  let wouldShow: boolean;
  /** The names of children of which no watch says whether they are gone. */
  let lost: string[];
  /** The names of children whose deletion never ends. */
  let stuck: string[];
  let notices: string[];

  beforeEach(() => {
    clock = FakeClock.install();
    begin();
  });
  afterEach(() => clock.uninstall());

  function begin(): void {
    cluster = new FakeCluster();
    watched = new Set();
    removed = new Map();
    wouldShow = true;
    lost = [];
    stuck = [];
    notices = [];
    const children = childrenIn(cluster);
    store = children.store;
    orphans = new Orphans({
      store,
      writer: {
        readOrphan: (child, scope) => children.writer.readOrphan(child, scope),
        delete: (child, scope) =>
          stuck.includes(child.name) ? new Promise(() => {}) : children.writer.delete(child, scope),
      } as ChildWriter,
      objects: { hasUid: (uid) => watched.has(uid), removedAt: (uid) => removed.get(uid) },
      wouldShow: () => wouldShow,
      isFollowed: ({ name }) => !lost.includes(name),
      masked: (text) => text.replaceAll("correct-horse", "***"),
      notice: (text) => void notices.push(text),
    });
  }

  /** A child that we applied, which the watch has shown. */
  function child(
    name: string,
    of: KubernetesObject = widget(),
    namespace = of.metadata.namespace ?? "",
    createdMs = 0,
  ): KubernetesObject {
    const manifest = ownedManifest(configMap({ name, namespace }), of, CONFIG_MAPS, identityOf(IDENTITY));
    const creationTimestamp = timeOf(new Date(cluster.time + createdMs));
    const object = cluster.put(applied(manifest, MANAGER, { uid: `${name}-uid`, creationTimestamp }));
    store.learn(CONFIG_MAPS, [object]);
    return object;
  }

  /** There is such an object. */
  function there(object: KubernetesObject, isWatched = true): KubernetesObject {
    if (isWatched) watched.add(object.metadata.uid);
    return cluster.put(object);
  }

  /** The object goes. */
  function goes({ metadata }: KubernetesObject = widget()): void {
    cluster.remove("Widget", metadata);
    watched.delete(metadata.uid);
  }

  /** The object goes, and a watch says so. */
  function reported(object: KubernetesObject = widget()): void {
    goes(object);
    removed.set(object.metadata.uid, cluster.time);
    orphans.gone(object.metadata.uid);
  }

  const left = () => cluster.ofKind("ConfigMap").map(({ metadata }) => metadata.name);
  /** Those that are left when this time has passed. */
  const leftAfter = async (ms: number) => {
    await clock.tick(ms);
    return left();
  };
  const lead = () => orphans.open(cluster.client());

  it("leaves the children of a deleted object to the garbage collector for five seconds, and then deletes them", async () => {
    child("left");
    child("other's", there(widget({ name: "other", uid: "other-uid" })));
    lead();
    reported();
    assert.deepEqual(await leftAfter(4_999), ["left", "other's"]);
    assert.deepEqual(await leftAfter(1), ["other's"]);
    assert.equal(clock.pending, 0);
  });

  it("does not believe a list without a version, as no API server gives one", async () => {
    child("left");
    const client = cluster.client();
    orphans.open(Object.assign(client, { list: async () => "" }));
    reported();
    assert.deepEqual(await leftAfter(10_000), ["left"]);
  });

  it("leaves what was deleted with its owner's marks taken away: it is meant to stay", async () => {
    cluster.change(child("kept"), { ownerReferences: [], managedFields: [] });
    lead();
    reported();
    assert.deepEqual(await leftAfter(10_000), ["kept"]);
  });

  it("leaves a child that loses its owner's marks just before the deletion", async () => {
    const kept = child("kept");
    cluster.beforeRequest = () => {
      cluster.beforeRequest = () => {};
      cluster.change(kept, { ownerReferences: [], managedFields: [] });
    };
    lead();
    reported();
    await clock.tick(10_000);
    assert.deepEqual(cluster.steps, ["delete ConfigMap kept"]);
    assert.deepEqual(left(), ["kept"]);
  });

  it("asks for nothing if the garbage collector came first", async () => {
    const object = child("collected");
    cluster.remove("ConfigMap", object.metadata);
    store.sink(CONFIG_MAPS, undefined).remove(object);
    for (const read of ["get ConfigMap", "list Widget in shop"])
      cluster.readRefusals.set(read, new Error("nothing should be read"));
    lead();
    reported();
    orphans.look();
    await clock.tick(10_000);
    assert.deepEqual(cluster.steps, []);
    assert.equal(clock.pending, 0);
  });

  it("tries again until the API server answers", async () => {
    child("left");
    const away = new ApiError(503, {}, "GET");
    cluster.readRefusals.set("list Widget in shop", away);
    lead();
    reported();
    await clock.tick(3_600_000);
    cluster.readRefusals.clear();
    cluster.refusals.set("delete ConfigMap left", away);
    assert.deepEqual(await leftAfter(600_000), ["left"]);
    cluster.refusals.clear();
    assert.deepEqual(await leftAfter(600_000), []);
    assert.equal(clock.pending, 0);
  });

  for (const [what, fails, notice] of [
    [
      "they cannot be deleted",
      "deletion",
      "Widget shop/widget is gone, and its children could not be deleted",
    ],
    [
      "it cannot be known whether their owner is gone",
      "list",
      "children of Widget shop/widget still exist, and Argosy cannot find out whether Widget shop/widget does",
    ],
  ] as const) {
    it(`says once that children are left if ${what}, without Secrets, and not at the first failure`, async () => {
      child("left");
      const refusal = new ApiError(503, { message: "busy with correct-horse" }, "GET");
      if (fails === "list") cluster.readRefusals.set("list Widget in shop", refusal);
      else cluster.refusals.set("delete ConfigMap left", refusal);
      lead();
      reported();
      await clock.tick(6_000);
      assert.deepEqual(notices, []);
      await clock.tick(600_000);
      assert.deepEqual(notices, [`${notice}: busy with ***. This is tried again until none is left.`]);
    });
  }

  it("deletes the children of one owner while those of another cannot be deleted, because a webhook hangs", async () => {
    const other = widget({ name: "other", uid: "other-uid" });
    child("stuck", other);
    child("left");
    stuck = ["stuck"];
    lead();
    reported(other);
    reported();
    assert.deepEqual(await leftAfter(5_000), ["stuck"]);
  });

  for (const isReported of [true, false]) {
    it(`leaves children that no owner reference covers, and says so once, ${isReported ? "if a watch says that the owner went" : "if a look finds them"}`, async () => {
      child("near");
      child("far", widget(), "archive");
      lead();
      if (isReported) reported();
      else {
        goes();
        orphans.look();
      }
      assert.deepEqual(await leftAfter(5_000), ["far"]);
      assert.deepEqual(notices, [
        "Widget shop/widget is gone, and children that no owner reference covers are left: 1. Its finalizer was removed before they were deleted, as with argosy.dev/skip-finalize, or a former leader created them too late. If they may not stay, delete them by hand: they have the label argosy.dev/owner-uid=widget-uid.",
      ]);
      cluster.readRefusals.set("list Widget in shop", new Error("nothing should be read again"));
      orphans.look();
      orphans.discard();
      lead();
      await orphans.end();
      assert.deepEqual([await leftAfter(600_000), notices.length, clock.pending], [["far"], 1, 0]);
    });
  }

  it("deletes a child that no owner reference covers if it was created after its owner went: a former leader's late write", async () => {
    const millis = (max: number) => fc.integer({ min: 0, max });
    await fc.assert(
      // When in its second it goes, how long the watch takes to say so, and how much later the write is done.
      fc.asyncProperty(millis(999), millis(3_000), millis(10_000), async (inSecond, lagMs, lateMs) => {
        begin();
        cluster.time += inSecond;
        child("far", widget(), "archive");
        lead();
        goes();
        const [since, until] = [cluster.time, cluster.time + lagMs];
        cluster.time = until;
        reported();
        cluster.time = since;
        child("late", widget(), "archive", lateMs);
        cluster.time = until;
        for (let look = 0; look < 2; look++) {
          await clock.tick(5_000);
          for (let turn = 0; turn < 10; turn++) await clock.tick();
          assert.deepEqual([left(), notices.length], [["far"], 1]);
          orphans.look();
        }
        assert.equal(clock.pending, 0);
        orphans.discard();
      }),
      { numRuns: 100 },
    );
  });

  it("leaves a child that no owner reference covers and that is older than its owner's end, though the operator then had no rights to it", async () => {
    lead();
    reported();
    child("far", widget(), "archive", -6_000);
    orphans.look();
    assert.deepEqual([await leftAfter(5_000), notices.length], [["far"], 1]);
  });

  it("deletes a child that no owner reference covers if all others of its owner were deleted before, even if it was known when the owner went", async () => {
    store.emptied(UID);
    child("late", widget(), "archive");
    lead();
    reported();
    assert.deepEqual([await leftAfter(5_000), notices], [[], []]);
  });

  it("leaves a child that no owner reference covers if it was known before its owner went, although another API server's clock says that it was created afterwards", async () => {
    child("far", widget(), "archive", 3_600_000);
    reported();
    lead();
    orphans.look();
    assert.deepEqual([await leftAfter(5_000), notices.length], [["far"], 1]);
  });

  it("leaves a child that no owner reference covers, whenever it was created, if no watch has shown that its owner went", async () => {
    child("far", widget(), "archive", 3_600_000);
    lead();
    goes();
    orphans.look();
    assert.deepEqual([await leftAfter(5_000), notices.length], [["far"], 1]);
  });

  for (const [what, change] of [
    ["is gone", undefined],
    ["is being deleted", { deletionTimestamp: "2026-01-01T00:00:00Z" }],
    ["has another uid", { uid: "second-uid" }],
  ] as const) {
    it(`says nothing of a child elsewhere that ${what} when the watch still shows it as it was`, async () => {
      const object = child("far", widget(), "archive");
      if (change) cluster.change(object, change);
      else cluster.remove("ConfigMap", object.metadata);
      lead();
      reported();
      await orphans.end();
      assert.deepEqual([notices, cluster.steps], [[], []]);
      child("really left", widget(), "archive", -6_000);
      await orphans.end();
      assert.equal(notices.length, 1);
    });
  }

  it("deletes the rest if one child cannot be deleted", async () => {
    for (const name of ["one", "stuck", "two"]) child(name);
    cluster.refusals.set("delete ConfigMap stuck", new ApiError(403, {}, "DELETE"));
    lead();
    reported();
    assert.deepEqual(await leftAfter(5_000), ["stuck"]);
  });

  it("does not try for ever to delete a child that went unseen with its namespace", async () => {
    child("went");
    lost = ["went"];
    for (const read of ["get ConfigMap", "list Widget in shop"])
      cluster.readRefusals.set(read, new ApiError(403, {}, "GET"));
    lead();
    reported();
    await clock.tick(600_000);
    assert.deepEqual([notices, clock.pending], [[], 0]);
    lost = [];
    cluster.readRefusals.clear();
    orphans.look();
    assert.deepEqual(await leftAfter(5_000), []);
  });

  it("does nothing on a standby, and nothing after the term has ended", async () => {
    child("left");
    reported();
    orphans.look();
    lead();
    await clock.tick(10_000);
    reported();
    orphans.look();
    orphans.discard();
    await clock.tick(10_000);
    lead();
    assert.deepEqual(await leftAfter(10_000), ["left"]);
  });

  it("ends only after the children of every deleted object", async () => {
    const others = [1, 2, 3].map((at) => widget({ name: `w${at}`, uid: `w${at}-uid` }));
    for (const owner of others) child(`of-${owner.metadata.name}`, owner);
    lead();
    for (const owner of others) reported(owner);
    await orphans.end();
    assert.deepEqual(left(), []);
    await orphans.end();
  });

  describe("when a look finds children whose owner no watch shows", () => {
    it("delete them if another object has the owner's name by now", async () => {
      child("left");
      child("new", there(widget({ uid: "second-uid" })));
      lead();
      orphans.look();
      assert.deepEqual(await leftAfter(5_000), ["new"]);
    });

    it("ask for no owner that a watch shows", async () => {
      child("alive", there(widget()));
      cluster.readRefusals.set("list Widget in shop", new Error("nothing should be read"));
      lead();
      orphans.look();
      assert.equal(clock.pending, 0);
      assert.deepEqual(await leftAfter(10_000), ["alive"]);
    });

    const existing: readonly (readonly [why: string, metadata: Parameters<typeof widget>[0]])[] = [
      ["exists: its watch is late", {}],
      [
        "is being deleted: it may wait until its children are released",
        { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["orphan"] },
      ],
    ];
    for (const [why, metadata] of existing)
      it(`leave them if the owner ${why}`, async () => {
        child("left", there(widget(metadata), false));
        lead();
        orphans.look();
        assert.deepEqual([await leftAfter(10_000), clock.pending], [["left"], 0]);
      });

    it("leave them as long as the owners were not listed", async () => {
      child("unknown");
      wouldShow = false;
      lead();
      orphans.look();
      await orphans.end();
      assert.deepEqual(left(), ["unknown"]);
      wouldShow = true;
      orphans.look();
      assert.deepEqual(await leftAfter(5_000), []);
    });

    for (const [what, code] of [
      ["the cluster no longer serves the owner's kind", 404],
      ["the owner's kind may not be listed", 403],
    ] as const) {
      it(`leave them if ${what}, unless a watch has shown that the owner went`, async () => {
        child("unknown");
        cluster.readRefusals.set(
          "list Widget in shop",
          code === 404 ? UNSERVED : new ApiError(code, {}, "GET"),
        );
        lead();
        orphans.look();
        assert.deepEqual(await leftAfter(600_000), ["unknown"]);
        assert.deepEqual(notices, []);
        wouldShow = false;
        removed.set(UID, cluster.time);
        orphans.look();
        assert.deepEqual(await leftAfter(5_000), []);
      });
    }

    it("leave them if the owner is back, as after a restore of etcd", async () => {
      child("restored");
      lead();
      reported();
      there(widget(), false);
      assert.deepEqual(await leftAfter(10_000), ["restored"]);
    });
  });

  it("deletes exactly the children of objects that are gone, in whichever order objects go and terms change", async () => {
    const owner = fc.integer({ min: 0, max: 3 });
    const step = fc.oneof(
      fc.record({ kind: fc.constant("reported" as const), owner }),
      fc.record({ kind: fc.constant("unseen" as const), owner }),
      fc.record({ kind: fc.constant("term" as const) }),
      fc.record({ kind: fc.constant("look" as const) }),
      fc.record({ kind: fc.constant("time" as const), ms: fc.integer({ min: 0, max: 8_000 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        begin();
        const owners = [0, 1, 2, 3].map((at) => there(widget({ name: `w${at}`, uid: `w${at}-uid` })));
        for (const each of owners) child(`of-${each.metadata.name}`, each);
        lead();
        const gone = new Set<number>();
        /** Owners of which the present term knows that they went, and since when. */
        const known = new Map<number, number>();
        const finished = new Set<number>();
        let now = 0;
        const learn = (at: number) => void (known.has(at) || known.set(at, now));
        for (const each of steps) {
          if (each.kind === "reported" || each.kind === "unseen") {
            const object = owners[each.owner] as KubernetesObject;
            if (gone.has(each.owner)) continue;
            gone.add(each.owner);
            if (each.kind === "unseen") goes(object);
            else {
              reported(object);
              learn(each.owner);
            }
          } else if (each.kind === "term") {
            orphans.discard();
            known.clear();
            lead();
          } else if (each.kind === "time") {
            await clock.tick(each.ms);
            // One object after another is worked on, each in several steps.
            for (let turn = 0; turn < 10; turn++) await clock.tick();
            now += each.ms;
          } else {
            orphans.look();
            for (const at of gone) learn(at);
          }
          for (const [at, since] of known) if (now - since >= 5_000) finished.add(at);
        }
        assert.deepEqual(
          left(),
          [0, 1, 2, 3].filter((at) => !finished.has(at)).map((at) => `of-w${at}`),
        );
        // Whatever was missed before, one look finds it.
        orphans.look();
        await clock.tick(5_000);
        for (let turn = 0; turn < 10; turn++) await clock.tick();
        assert.deepEqual(
          left(),
          [0, 1, 2, 3].filter((at) => !gone.has(at)).map((at) => `of-w${at}`),
        );
        orphans.discard();
      }),
      { numRuns: 100 },
    );
  });
});
