import assert from "node:assert/strict";
import { readJson } from "../../runtime/base/json";
import { OWNER_UID_LABEL } from "../../runtime/base/names";
import type { ObjectMeta } from "../../runtime/base/objects";
import { ReadyWhenGone } from "../../runtime/observe/childRecords";
import { whyNotReady } from "../../runtime/observe/readiness";
import type { DesiredChild } from "../../runtime/write/desiredChildren";
import { ChildStoreBench, child, LATER, manifest, NAME, taken } from "./support/childStoreBench";
import { CONFIG_MAPS, configMap, MANAGER, widget } from "./support/objects";

describe("ChildStore", () => {
  let bench: ChildStoreBench;
  beforeEach(() => {
    bench = new ChildStoreBench();
  });

  it("has what we applied, by its owner, and nothing that only bears our marks", () => {
    bench.list(
      9,
      child(1),
      child(2, manifest({}, widget({ uid: "other-uid", name: "other" }), "others")),
      child(3, manifest({}, widget(), "forged-manager"), {
        managedFields: [{ manager: MANAGER, operation: "Apply" }],
      }),
      child(4, manifest({}, widget(), "forged-reference"), { managedFields: [{ manager: "kubectl" }] }),
      child(5, configMap({ name: "label", namespace: "shop", labels: { [OWNER_UID_LABEL]: "widget-uid" } })),
    );
    assert.equal(bench.store.size, 2);
    assert.deepEqual(
      bench.store.of("widget-uid").map(({ name }) => name),
      ["settings"],
    );
    assert.deepEqual(
      bench.store.of("other-uid").map(({ name }) => name),
      ["others"],
    );
    assert.deepEqual(bench.store.of("nobody"), []);
  });

  it("gives the children of an owner in order, whatever the order in which they came", () => {
    bench.list(9, ...["c", "a", "b"].map((name, at) => child(at + 1, manifest({}, widget(), name))));
    assert.deepEqual(
      bench.store.of("widget-uid").map(({ name }) => name),
      ["a", "b", "c"],
    );
  });

  it("tells the children of deleted objects of a name from those of the one that exists", async () => {
    const of = (uid: string, name: string) => child(5, manifest({}, widget({ uid }), name));
    bench.list(
      9,
      of("first", "a"),
      of("second", "b"),
      child(5, manifest({}, widget({ uid: "x", name: "other" }), "c")),
    );
    const left = (uid: string) =>
      bench.store.ofPredecessors({ uid, namespace: "shop", name: "widget" }).map(({ name }) => name);
    assert.deepEqual(left("second"), ["a"]);
    assert.deepEqual(left("third"), ["a", "b"]);
    await bench.store.write(CONFIG_MAPS, { namespace: "shop", name: "a" }, undefined, async () => ({
      object: undefined,
    }));
    assert.deepEqual(left("second"), []);
    assert.deepEqual(left("third"), ["b"]);
  });

  describe("what is applied:", () => {
    it("the manifest that we applied last, and no other", async () => {
      await bench.apply(child(5));
      assert.equal(bench.isApplied(), true);
      assert.equal(bench.isApplied(manifest({ key: "2" })), false);
    });

    it("unknown after a write whose answer was lost, until we apply again", async () => {
      await bench.apply(child(5));
      await assert.rejects(
        bench.store.write(CONFIG_MAPS, NAME, manifest({ key: "2" }), () =>
          Promise.reject(new Error("no answer")),
        ),
      );
      assert.equal(bench.isApplied(), false);
      await bench.apply(child(7));
      assert.equal(bench.isApplied(), true);
    });

    it("not what a list that came while we wrote shows to be taken from us", async () => {
      bench.list(3, child(1));
      await bench.apply(child(5), () => bench.list(7, taken(6, "kubectl")));
      assert.equal(bench.isApplied(), false);
    });

    it("after a restart, what the child itself shows to be applied: it is not read", () => {
      bench.list(9, child(1));
      assert.equal(bench.isApplied(manifest({ key: "2" })), false);
      assert.equal(bench.isApplied(), true);
      assert.equal(bench.reads, 0);
    });

    it("after a restart, not what another client took from us, nor what we applied beyond it", () => {
      bench.list(9, taken(1, "kubectl"));
      assert.equal(bench.isApplied(), false);
      bench = new ChildStoreBench();
      bench.list(9, child(1, manifest({ key: "1", more: "2" })));
      assert.equal(bench.isApplied(), false);
    });

    it("after a restart, an integer of 64 bits too", () => {
      const big = { ...manifest(), spec: readJson('{"n":12345678901234567891}') };
      bench.list(9, child(1, big));
      assert.equal(bench.isApplied(big), true);
    });

    it("not an object that was deleted and created again under its name", async () => {
      await bench.apply(child(5));
      bench.sink.remove(child(6));
      bench.watched(child(7, manifest(), { uid: "second" }));
      bench.server = undefined;
      assert.equal(bench.isApplied(manifest({ key: "2" })), false);
    });
  });

  it("is unsure of the children that went last, however many went before", () => {
    const many = Array.from({ length: 10_001 }, (_, at) => child(1, manifest({}, widget(), `child-${at}`)));
    bench.list(1, ...many);
    for (const each of many) bench.sink.remove(each);
    const isUnsure = (at: number) =>
      bench.store.isUnsure(CONFIG_MAPS, { namespace: "shop", name: `child-${at}` });
    assert.deepEqual([isUnsure(0), isUnsure(1), isUnsure(10_000)], [false, true, true]);
    bench.store.becomeUnsure(CONFIG_MAPS, NAME);
    assert.equal(bench.store.isUnsure(CONFIG_MAPS, NAME), true);
  });

  it("stays unsure of a child if the answer to a write is lost", async () => {
    bench.store.becomeUnsure(CONFIG_MAPS, NAME);
    const lost = () => Promise.reject(new Error("lost"));
    await assert.rejects(bench.store.write(CONFIG_MAPS, NAME, manifest(), lost));
    assert.equal(bench.store.isUnsure(CONFIG_MAPS, NAME), true);
    await bench.apply(child(5));
    assert.equal(bench.store.isUnsure(CONFIG_MAPS, NAME), false);
  });

  it("loses neither the answer to a write nor a later report by a report that it cannot take in", async () => {
    bench.list(1);
    await bench.apply(child(5), () => {
      bench.isFaulty = true;
      bench.watched(taken(6, "kubectl"));
      bench.sink.remove(taken(7, "kubectl"));
    });
    assert.deepEqual(bench.refused, [
      "ConfigMap shop/settings was left out: a fault",
      "ConfigMap shop/settings was left out: a fault",
    ]);
    assert.equal(bench.find(), undefined);
  });

  describe("a child that is gone", () => {
    const status =
      (Ready: string, metadata: Partial<ObjectMeta> = {}) =>
      (version: number) => ({
        ...child(version, manifest(), metadata),
        status: { conditions: [{ type: "Ready", status: Ready, reason: "Done", message: "" }] },
      });
    const [unready, ready] = [status("False"), status("True")];
    const going = status("True", { deletionTimestamp: LATER });
    const wanted = { resource: CONFIG_MAPS, manifest: manifest(), ownerUid: "widget-uid" } as const;
    const wasReady = (more: Partial<DesiredChild> = {}) => {
      const child = { ...wanted, update: "apply", ...more } as const;
      return bench.store.readyWhenGone([child], child.ownerUid).length > 0;
    };

    it("was ready if it was when it was seen last, be it in its deletion or before", async () => {
      for (const last of [
        () => bench.sink.remove(ready(9)),
        () => {
          bench.watched(going(8));
          bench.sink.remove(going(9));
        },
        () => {
          bench.watched(ready(8));
          bench.list(9);
        },
      ]) {
        bench = new ChildStoreBench();
        bench.list(1);
        await bench.apply(unready(5));
        last();
        assert.equal(wasReady(), true);
        assert.equal(wasReady({ manifest: manifest({ key: "2" }), update: "never" }), true);
        assert.equal(wasReady({ ownerUid: "another", update: "never" }), false);
        bench.store.forgetGone([{ ...wanted, update: "apply" }], wanted.ownerUid);
        assert.equal(wasReady(), false);
      }
    });

    it("was not, from then on, if an answer lacks it or has other content for it", async () => {
      for (const answer of [
        [],
        [{ ...wanted, manifest: manifest({ key: "2" }), update: "apply" }],
      ] as const) {
        await bench.apply(ready(5));
        bench.sink.remove(ready(6));
        assert.equal(wasReady(), true);
        assert.deepEqual(bench.store.readyWhenGone(answer, wanted.ownerUid), []);
        assert.equal(wasReady(), false);
      }
    });

    it("was not if we never saw it ready, if we deleted it, if another client had changed it, or once it exists again", async () => {
      await bench.apply(unready(5));
      bench.sink.remove(unready(6));
      assert.equal(wasReady(), false);
      await bench.apply(ready(7));
      await bench.store.write(CONFIG_MAPS, NAME, undefined, async () => ({ object: undefined }));
      bench.watched(going(8));
      bench.sink.remove(going(9));
      assert.equal(wasReady(), false);
      await bench.apply(ready(10));
      bench.watched(taken(11, "somebody"));
      bench.sink.remove(taken(12, "somebody"));
      assert.equal(wasReady(), false);
      await bench.apply(ready(13));
      bench.sink.remove(ready(14));
      assert.equal(wasReady(), true);
      await bench.apply(unready(15));
      assert.equal(wasReady(), false);
    });

    it("is forgotten after ten minutes: a standby sees each child that the leader deletes", async () => {
      await bench.apply(ready(5));
      const known = bench.find();
      assert.ok(known);
      let now = 0;
      const gone = new ReadyWhenGone(whyNotReady, () => now);
      gone.went(known, undefined, undefined);
      const has = () => gone.among([{ ...wanted, update: "never" }], wanted.ownerUid).length > 0;
      assert.equal(has(), true);
      now = 600_000;
      assert.equal(has(), false);
    });

    it("each child for no longer than that, although others of its owner go again and again", () => {
      bench.list(9, child(1), child(2, manifest({}, widget(), "other")));
      const [first, other] = [
        bench.find(),
        bench.store.find(CONFIG_MAPS, { namespace: "shop", name: "other" }),
      ];
      assert.ok(first && other);
      let now = 0;
      const gone = new ReadyWhenGone(whyNotReady, () => now);
      gone.went(first, undefined, undefined);
      for (now = 300_000; now <= 900_000; now += 300_000) gone.went(other, undefined, undefined);
      const children = ["settings", "other"].map(
        (name): DesiredChild => ({ ...wanted, manifest: manifest({}, widget(), name), update: "never" }),
      );
      const ready = gone.among(children, wanted.ownerUid);
      assert.deepEqual(
        ready.map((each) => each.manifest.metadata.name),
        ["other"],
      );
    });
  });

  describe("read", () => {
    it("gives the child without its managed fields, as it is kept", async () => {
      bench.list(9, child(1));
      const known = bench.find();
      assert.ok(known);
      const { managedFields: _, ...metadata } = child(1).metadata;
      assert.deepEqual(await bench.store.readChild(known), { ...child(1), metadata });
      assert.equal(bench.reads, 0);
    });

    it("gives nothing for a child that is gone", async () => {
      bench = new ChildStoreBench(1);
      bench.list(9, child(1), child(2, manifest({}, widget(), "newer")));
      const known = bench.find();
      assert.ok(known);
      assert.deepEqual([await bench.store.readChild(known), bench.reads], [undefined, 1]);
    });
  });
});
