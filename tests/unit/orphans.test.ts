import assert from "node:assert/strict";
import fc from "fast-check";
import type { ChildStore } from "../../runtime/children/childStore";
import { Orphans } from "../../runtime/children/orphans";
import { ownedManifest } from "../../runtime/children/ownership";
import { ApiError } from "../../runtime/kubernetes/errors";
import type { KubernetesObject } from "../../runtime/kubernetes/objects";
import { identityOf } from "../../runtime/names";
import { childrenIn } from "./support/fakeChildren";
import { FakeClock } from "./support/fakeClock";
import { FakeCluster } from "./support/fakeCluster";
import { CONFIG_MAPS, configMap, entryOf, IDENTITY, MANAGER, widget } from "./support/objects";

const GONE = "widget-uid";

describe("Orphans", () => {
  let clock: FakeClock;
  let cluster: FakeCluster;
  let store: ChildStore;
  let orphans: Orphans;

  beforeEach(() => {
    clock = FakeClock.install();
    cluster = new FakeCluster();
    const children = childrenIn(cluster);
    store = children.store;
    orphans = new Orphans(children);
  });
  afterEach(() => clock.uninstall());

  /** A child that we applied, which the watch has shown. */
  function child(name: string, of: KubernetesObject = widget()): KubernetesObject {
    const manifest = ownedManifest(configMap({ name }), of, CONFIG_MAPS, identityOf(IDENTITY));
    const managedFields = [entryOf(manifest, MANAGER)];
    const metadata = { ...manifest.metadata, uid: `${name}-uid`, resourceVersion: "1", managedFields };
    const object = cluster.put({ ...manifest, metadata });
    store.learn(CONFIG_MAPS, [object]);
    return object;
  }

  const left = () => cluster.ofKind("ConfigMap").map(({ metadata }) => metadata.name);
  const lead = () => orphans.open(cluster.client());

  it("leaves the children of a deleted object to the garbage collector for five seconds, and then deletes them", async () => {
    child("left");
    child("other's", widget({ name: "other", uid: "other-uid" }));
    lead();
    orphans.add(GONE);
    await clock.tick(4_999);
    assert.deepEqual(left(), ["left", "other's"]);
    await clock.tick(1);
    assert.deepEqual(left(), ["other's"]);
    assert.equal(clock.pending, 0);
  });

  it("leaves what was deleted with its owner's marks taken away: it is meant to stay", async () => {
    const { metadata, ...content } = child("kept");
    cluster.put({ ...content, metadata: { ...metadata, ownerReferences: [], managedFields: [] } });
    lead();
    orphans.add(GONE);
    await clock.tick(10_000);
    assert.deepEqual(left(), ["kept"]);
  });

  it("asks for nothing if the garbage collector was there first", async () => {
    const object = child("collected");
    cluster.remove("ConfigMap", object.metadata);
    store.sink(CONFIG_MAPS, undefined).remove(object);
    cluster.readRefusals.set("get ConfigMap", new Error("nobody should ask"));
    lead();
    orphans.add(GONE);
    await clock.tick(10_000);
    assert.deepEqual(cluster.steps, []);
  });

  it("tries again if the API server is away, but not for ever", async () => {
    child("left");
    cluster.refusals.set("delete ConfigMap left", new ApiError(503, {}, "DELETE"));
    lead();
    orphans.add(GONE);
    await clock.tick(600_000);
    assert.equal(cluster.steps.length, 5);
    assert.equal(clock.pending, 0);
  });

  it("deletes the rest if one child cannot be deleted", async () => {
    for (const name of ["one", "stuck", "two"]) child(name);
    cluster.refusals.set("delete ConfigMap stuck", new ApiError(403, {}, "DELETE"));
    lead();
    orphans.add(GONE);
    await clock.tick(5_000);
    assert.deepEqual(left(), ["stuck"]);
  });

  it("does nothing on a standby, and nothing after the term has ended", async () => {
    child("left");
    orphans.add(GONE);
    lead();
    await clock.tick(10_000);
    orphans.add(GONE);
    orphans.discard();
    await clock.tick(10_000);
    lead();
    await clock.tick(10_000);
    assert.deepEqual(left(), ["left"]);
  });

  it("waits no longer at the end, and ends when nothing is left to be done", async () => {
    child("left");
    lead();
    orphans.add(GONE);
    await orphans.end();
    assert.deepEqual(left(), []);
    await orphans.end();
  });

  it("ends only after the children of every deleted object", async () => {
    const others = [1, 2, 3].map((at) => widget({ name: `w${at}`, uid: `w${at}-uid` }));
    for (const owner of others) child(`of-${owner.metadata.name}`, owner);
    lead();
    for (const { metadata } of others) orphans.add(metadata.uid);
    await orphans.end();
    assert.deepEqual(left(), []);
  });

  it("deletes exactly the children of deleted objects, in whichever order objects go and terms change", async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("gone" as const), owner: fc.integer({ min: 0, max: 3 }) }),
      fc.record({ kind: fc.constant("term" as const) }),
      fc.record({ kind: fc.constant("time" as const), ms: fc.integer({ min: 0, max: 8_000 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        cluster = new FakeCluster();
        const children = childrenIn(cluster);
        store = children.store;
        orphans = new Orphans(children);
        const owners = [0, 1, 2, 3].map((at) => widget({ name: `w${at}`, uid: `w${at}-uid` }));
        for (const owner of owners) child(`of-${owner.metadata.name}`, owner);
        lead();
        /** Owners that went in the present term, and since when. */
        const gone = new Map<number, number>();
        const finished = new Set<number>();
        let now = 0;
        const pass = () => {
          for (const [owner, since] of gone) if (now - since >= 5_000) finished.add(owner);
        };
        for (const each of steps) {
          if (each.kind === "gone") {
            orphans.add(`w${each.owner}-uid`);
            if (!gone.has(each.owner)) gone.set(each.owner, now);
          } else if (each.kind === "term") {
            orphans.discard();
            gone.clear();
            lead();
          } else {
            await clock.tick(each.ms);
            // One object after another is worked on, each in several steps.
            for (let turn = 0; turn < 10; turn++) await clock.tick();
            now += each.ms;
          }
          pass();
        }
        const expected = [0, 1, 2, 3].filter((at) => !finished.has(at)).map((at) => `of-w${at}`);
        assert.deepEqual(left(), expected);
        orphans.discard();
      }),
      { numRuns: 100 },
    );
  });
});
