import assert from "node:assert/strict";
import { readJson } from "../../runtime/json/json";
import { OWNER_UID_LABEL } from "../../runtime/names";
import { ChildStoreBench, child, manifest, NAME, taken } from "./support/childStoreBench";
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

  it("tells the children of deleted objects of a name from those of the one that is there", async () => {
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

    it("after a restart, not what somebody took from us or what we applied beyond it", () => {
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

    it("not what somebody deleted and another one created under its name", async () => {
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

  describe("read", () => {
    it("gives the child without its managed fields, as it is kept", async () => {
      bench.list(9, child(1));
      const known = bench.find();
      assert.ok(known);
      const { managedFields: _, ...metadata } = child(1).metadata;
      assert.deepEqual(await bench.store.read(known), { ...child(1), metadata });
      assert.equal(bench.reads, 0);
    });

    it("gives nothing for a child that is gone", async () => {
      bench = new ChildStoreBench(1);
      bench.list(9, child(1), child(2, manifest({}, widget(), "newer")));
      const known = bench.find();
      assert.ok(known);
      assert.deepEqual([await bench.store.read(known), bench.reads], [undefined, 1]);
    });
  });
});
