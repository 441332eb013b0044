import assert from "node:assert/strict";
import type { KubernetesObject, ManagedFieldsEntry, Manifest } from "../../runtime/base/objects";
import {
  ChildStoreBench,
  child,
  LATER,
  manifest,
  NAME,
  SECOND,
  statusEntry,
  taken,
  withOthers,
} from "./support/childStoreBench";
import { retain } from "./support/fakeChildren";
import { CONFIG_MAPS, entryOf, MANAGER, widget } from "./support/objects";

describe("ChildStore", () => {
  let bench: ChildStoreBench;
  beforeEach(() => {
    bench = new ChildStoreBench();
  });

  describe("whom it wakes:", () => {
    it("no owner by what exists at the start", () => {
      bench.list(9, child(1));
      assert.deepEqual(bench.told, []);
    });

    it("no owner by one of our own writes, whether the watch brings it before or after the answer", async () => {
      await bench.apply(child(5));
      bench.watched(child(5));
      await bench.apply(child(6, manifest({ key: "2" })), () =>
        bench.watched(child(6, manifest({ key: "2" }))),
      );
      await bench.store.write(CONFIG_MAPS, NAME, undefined, async () => {
        bench.sink.remove(child(7));
        return { object: undefined };
      });
      assert.deepEqual(bench.told, []);
      assert.equal(bench.store.size, 0);
    });

    it("no owner by a child that another client writes unchanged, as a storage migration does", () => {
      bench.list(3, child(2));
      bench.watched(child(4));
      const other: ManagedFieldsEntry = { manager: "somebody", operation: "Apply", time: LATER };
      bench.watched(withOthers(child(5), other));
      assert.deepEqual(bench.told, []);
    });

    it("the owner by another client that takes over our fields unchanged", () => {
      bench.list(3, child(2));
      const { managedFields = [] } = taken(4, "somebody").metadata;
      bench.watched(child(4, manifest(), { managedFields }));
      assert.deepEqual(bench.told, ["widget-uid ConfigMap settings drifted by somebody"]);
    });

    it("no owner by a list that has the result of our own write before its answer comes", async () => {
      bench.list(3);
      await bench.apply(child(5), () => bench.list(6, child(5)));
      assert.deepEqual(bench.told, []);
      assert.equal(bench.isApplied(), true);
    });

    for (const [which, first, last] of [
      ["earlier", 0, 1],
      ["later", 1, 0],
    ] as const) {
      it(`no owner by two concurrent writes of ours, if the ${which} one is answered first`, async () => {
        const answers: ((object: KubernetesObject) => void)[] = [];
        const write = (wanted: Manifest) =>
          bench.store.write(CONFIG_MAPS, NAME, wanted, () => {
            return new Promise<{ object: KubernetesObject }>((resolve) =>
              answers.push((object) => resolve({ object })),
            );
          });
        const wanted = [manifest({ key: "1" }), manifest({ key: "2" })] as const;
        const writes = wanted.map(write);
        answers[first]?.(child(5, wanted[first]));
        await writes[first];
        bench.watched(child(6, wanted[last]));
        answers[last]?.(child(6, wanted[last]));
        await writes[last];
        assert.deepEqual(bench.told, []);
      });
    }

    it("the owner by what another client does while we write", async () => {
      await bench.apply(child(5), () => bench.watched(taken(6, "kubectl")));
      assert.deepEqual(bench.told, ["widget-uid ConfigMap settings drifted by kubectl"]);
      assert.equal(bench.isApplied(), false);
    });

    it("the owner by a deletion while we write", async () => {
      await bench.apply(child(5), () => bench.sink.remove(child(6)));
      assert.deepEqual(bench.told, ["widget-uid ConfigMap settings drifted"]);
      assert.equal(bench.store.size, 0);
    });

    it("no owner by a label that was removed before our own write put it back", async () => {
      bench.list(3, child(1));
      await bench.apply(child(6), () => bench.sink.remove(child(5)));
      bench.watched(child(6));
      assert.deepEqual([bench.told, bench.store.size], [[], 1]);
    });

    it("the owner by what comes after a write whose answer was lost", async () => {
      bench.list(3, child(1));
      await assert.rejects(
        bench.store.write(CONFIG_MAPS, NAME, manifest({ key: "2" }), async () => {
          bench.watched(
            child(5, manifest({ key: "2" }), {
              managedFields: [{ ...entryOf(manifest(), MANAGER), time: LATER }],
            }),
          );
          throw new Error("no answer");
        }),
      );
      assert.equal(bench.told.length, 1);
    });

    it("the owner by each report of a child that is not ready yet, and says so until it is", async () => {
      await bench.apply(child(5));
      for (const [at, status] of ["False", "False", "Unknown", "True", "True"].entries())
        bench.watched({ ...child(6 + at), status: { conditions: [{ type: "Ready", status }], step: at } });
      const report = "widget-uid";
      const progress = `${report} makes progress`;
      assert.deepEqual(bench.told, [report, progress, progress, report, report]);
    });

    it("the owner by a report of a status, which is no drift, also the second of one second", async () => {
      const generation = { generation: 1 };
      await bench.apply(child(5, manifest(), generation));
      for (const [version, time] of [
        [6, SECOND],
        [7, SECOND],
        [8, LATER],
      ] as const) {
        const reported = withOthers(child(version, manifest(), generation), statusEntry(time));
        bench.watched({ ...reported, status: { step: version } });
      }
      assert.deepEqual(bench.told, ["widget-uid", "widget-uid", "widget-uid"]);
      assert.equal(bench.isApplied(), true);
    });

    it("the owner by another value under our own name: a late write of ours, or a client that uses our name", async () => {
      await bench.apply(child(5));
      bench.watched(child(6, manifest({ key: "late" })));
      assert.deepEqual(bench.told, ["widget-uid ConfigMap settings drifted"]);
      assert.equal(bench.isApplied(), false);
    });

    it("the owner by a deletion, told by a watch or found by a list", () => {
      bench.list(3, child(1), child(2, manifest({}, widget(), "more")));
      bench.sink.remove(child(4));
      bench.list(5);
      assert.deepEqual(bench.told, [
        "widget-uid ConfigMap settings drifted",
        "widget-uid ConfigMap more drifted",
      ]);
    });

    it("the owner by marks that are taken away, with the one who took them", () => {
      bench.list(3, child(1));
      const theirs: ManagedFieldsEntry = { manager: "kubectl", operation: "Update", time: LATER };
      bench.watched(child(4, manifest(), { ownerReferences: [], labels: {}, managedFields: [theirs] }));
      assert.equal(bench.told.length, 1);
      assert.match(bench.told[0] ?? "", /^widget-uid ConfigMap settings drifted/);
      assert.equal(bench.store.size, 0);
      assert.equal(bench.store.isUnsure(CONFIG_MAPS, NAME), true);
    });

    it("the owner by a change that is found when the child is read", async () => {
      bench = new ChildStoreBench(1);
      bench.list(3, child(1), child(2, manifest({}, widget(), "newer")));
      const known = bench.find();
      assert.ok(known);
      bench.server = taken(6, "kubectl");
      await bench.store.readChild(known);
      bench.watched(taken(6, "kubectl"));
      assert.deepEqual(bench.told, ["widget-uid ConfigMap settings drifted by kubectl"]);
    });

    it("the owner, without drift, by a child of ours that lingers after we deleted it, and by its end", async () => {
      bench.list(3, child(1));
      await bench.store.write(CONFIG_MAPS, NAME, undefined, async () => ({ object: undefined }));
      bench.watched(child(4, manifest(), { deletionTimestamp: LATER, finalizers: ["x.io/y"] }));
      assert.deepEqual(bench.told, ["widget-uid"]);
      assert.equal(bench.find()?.deleting, true);
      bench.sink.remove(child(5, manifest(), { deletionTimestamp: LATER }));
      assert.deepEqual(bench.told, ["widget-uid", "widget-uid has a child gone as we wanted"]);
    });

    it("the owner by a child that another client deleted: that is drift, even if a finalizer keeps it for a while", () => {
      bench.list(3, child(1));
      bench.watched(child(4, manifest(), { deletionTimestamp: LATER, finalizers: ["x.io/y"] }));
      bench.sink.remove(child(5, manifest(), { deletionTimestamp: LATER }));
      assert.deepEqual(bench.told, ["widget-uid", "widget-uid ConfigMap settings drifted"]);
    });

    it("both owners if a child passes from one to the other", () => {
      bench.list(3, child(1));
      bench.watched(child(4, manifest({ key: "1" }, widget({ uid: "second", name: "second" }))));
      assert.deepEqual(bench.told.map((each) => each.split(" ")[0]).sort(), ["second", "widget-uid"]);
      assert.deepEqual(bench.store.of("widget-uid"), []);
    });

    it("no owner by a list apart from the watches", () => {
      bench.list(3, child(1));
      bench.store.learn(CONFIG_MAPS, [
        child(4, manifest({ key: "2" })),
        child(4, manifest({}, widget(), "more")),
      ]);
      retain(bench.store, ["more-uid"]);
      assert.deepEqual(bench.told, []);
      assert.deepEqual(
        bench.store.of("widget-uid").map(({ name }) => name),
        ["more"],
      );
    });
  });
});
