import assert from "node:assert/strict";
import { ChildStore, type DriftedChild } from "../../runtime/children/childStore";
import { ownedManifest } from "../../runtime/children/ownership";
import { readJson } from "../../runtime/json/json";
import type {
  KubernetesObject,
  ManagedFieldsEntry,
  Manifest,
  ObjectMeta,
} from "../../runtime/kubernetes/objects";
import { OWNER_UID_LABEL } from "../../runtime/names";
import type { ReflectorSink } from "../../runtime/watch/reflector";
import { CONFIG_MAPS, configMap, entryOf, MANAGER, WIDGETS, widget } from "./support/objects";

const SECOND = "2026-11-21T10:00:00Z";
const LATER = "2026-11-21T10:00:05Z";
const NAME = { namespace: "shop", name: "settings" };
/** Who was told, and of what: "owner-uid" of a report, "owner-uid drifted by somebody" of drift. */
type Told = string;

/** The manifest of a child that has this data. */
function manifest(
  data: Record<string, string> = { key: "1" },
  owner = widget(),
  name = "settings",
): Manifest {
  return ownedManifest(configMap({ name }, { data }), owner, CONFIG_MAPS, "argosy.shop");
}

/** The child as the API server has it after we applied the manifest. */
function child(version: number, from = manifest(), metadata: Partial<ObjectMeta> = {}): KubernetesObject {
  const { name } = from.metadata;
  const entry = { ...entryOf(from, MANAGER), time: SECOND };
  const more = { uid: `${name}-uid`, resourceVersion: String(version), managedFields: [entry], ...metadata };
  return { ...from, metadata: { ...from.metadata, ...more } };
}

/** The child with entries of others beside ours. */
function withOthers(object: KubernetesObject, ...others: ManagedFieldsEntry[]): KubernetesObject {
  const { managedFields = [] } = object.metadata;
  return { ...object, metadata: { ...object.metadata, managedFields: [...managedFields, ...others] } };
}

/** The child after somebody took "data.key" from us. */
function taken(version: number, by: string): KubernetesObject {
  const { fieldsV1, ...entry } = entryOf(manifest(), MANAGER);
  const { "f:data": _, ...left } = fieldsV1;
  const ours = { ...entry, time: SECOND, fieldsV1: left };
  const theirs: ManagedFieldsEntry = {
    manager: by,
    operation: "Update",
    time: LATER,
    fieldsV1: { "f:data": {} },
  };
  return child(version, manifest({ key: "theirs" }), { managedFields: [ours, theirs] });
}

function statusEntry(time: string): ManagedFieldsEntry {
  return {
    manager: "reporter",
    operation: "Update",
    subresource: "status",
    time,
    fieldsV1: { "f:status": {} },
  };
}

describe("ChildStore", () => {
  let told: Told[];
  let server: KubernetesObject | undefined;
  let reads: number;
  let store: ChildStore;
  let sink: ReflectorSink;

  beforeEach(() => {
    [told, server, reads] = [[], undefined, 0];
    store = make();
  });

  function make(): ChildStore {
    const made = new ChildStore({
      client: {
        get: async () => {
          reads++;
          return server;
        },
      },
      ownerKind: WIDGETS,
      fieldManager: MANAGER,
      managers: [MANAGER, `${MANAGER}/marks`],
      onChange: (owner, drifted, isProgress) =>
        void told.push(
          `${owner.uid}${drifted ? ` ${describeDrift(drifted)}` : ""}${isProgress ? " makes progress" : ""}`,
        ),
    });
    sink = made.sink(CONFIG_MAPS, undefined);
    return made;
  }

  function describeDrift({ kind, name, by, isByUs }: DriftedChild): string {
    if (isByUs) return `${kind} ${name} gone as we wanted`;
    return `${kind} ${name} drifted${by === undefined ? "" : ` by ${by}`}`;
  }

  function list(version: number, ...items: KubernetesObject[]): void {
    sink.listing(false, String(version));
    for (const each of items) sink.set(each, true);
    sink.listed(String(version));
  }

  const find = () => store.find(CONFIG_MAPS, NAME);
  const watched = (object: KubernetesObject) => sink.set(object, false);
  const isApplied = (wanted = manifest()) => {
    const known = find();
    assert.ok(known, "the child is not known");
    return store.isApplied(known, wanted);
  };

  /** Applies a manifest. @param meanwhile what the watch brings before the answer comes */
  async function apply(answer: KubernetesObject, meanwhile = () => {}, wanted = manifest()): Promise<void> {
    await store.write(CONFIG_MAPS, answer.metadata, wanted, async () => {
      meanwhile();
      return { object: answer };
    });
  }

  it("has what we applied, by its owner, and nothing that only bears our marks", () => {
    list(
      9,
      child(1),
      child(2, manifest({}, widget({ uid: "other-uid", name: "other" }), "others")),
      child(3, manifest({}, widget(), "forged-manager"), {
        managedFields: [{ manager: MANAGER, operation: "Apply" }],
      }),
      child(4, manifest({}, widget(), "forged-reference"), { managedFields: [{ manager: "kubectl" }] }),
      child(5, configMap({ name: "label", namespace: "shop", labels: { [OWNER_UID_LABEL]: "widget-uid" } })),
    );
    assert.equal(store.size, 2);
    assert.deepEqual(
      store.of("widget-uid").map(({ name }) => name),
      ["settings"],
    );
    assert.deepEqual(
      store.of("other-uid").map(({ name }) => name),
      ["others"],
    );
    assert.deepEqual(store.of("nobody"), []);
  });

  it("gives the children of an owner in order, whatever the order in which they came", () => {
    list(9, ...["c", "a", "b"].map((name, at) => child(at + 1, manifest({}, widget(), name))));
    assert.deepEqual(
      store.of("widget-uid").map(({ name }) => name),
      ["a", "b", "c"],
    );
  });

  it("tells the children of deleted objects of a name from those of the one that is there", async () => {
    const of = (uid: string, name: string) => child(5, manifest({}, widget({ uid }), name));
    list(
      9,
      of("first", "a"),
      of("second", "b"),
      child(5, manifest({}, widget({ uid: "x", name: "other" }), "c")),
    );
    const left = (uid: string) =>
      store.ofPredecessors({ uid, namespace: "shop", name: "widget" }).map(({ name }) => name);
    assert.deepEqual(left("second"), ["a"]);
    assert.deepEqual(left("third"), ["a", "b"]);
    await store.write(CONFIG_MAPS, { namespace: "shop", name: "a" }, undefined, async () => ({
      object: undefined,
    }));
    assert.deepEqual(left("second"), []);
    assert.deepEqual(left("third"), ["b"]);
  });

  describe("whom it wakes:", () => {
    it("nobody by what was there at the start", () => {
      list(9, child(1));
      assert.deepEqual(told, []);
    });

    it("nobody by one of our own writes, whether the watch brings it before or after the answer", async () => {
      await apply(child(5));
      watched(child(5));
      await apply(child(6, manifest({ key: "2" })), () => watched(child(6, manifest({ key: "2" }))));
      await store.write(CONFIG_MAPS, NAME, undefined, async () => {
        sink.remove(child(7));
        return { object: undefined };
      });
      assert.deepEqual(told, []);
      assert.equal(store.size, 0);
    });

    it("nobody by a list that has the result of our own write before its answer comes", async () => {
      list(3);
      await apply(child(5), () => list(6, child(5)));
      assert.deepEqual(told, []);
      assert.equal(isApplied(), true);
    });

    for (const [which, first, last] of [
      ["earlier", 0, 1],
      ["later", 1, 0],
    ] as const) {
      it(`nobody by two of our own writes at once, if the ${which} one is answered first`, async () => {
        const answers: ((object: KubernetesObject) => void)[] = [];
        const write = (wanted: Manifest) =>
          store.write(CONFIG_MAPS, NAME, wanted, () => {
            return new Promise<{ object: KubernetesObject }>((resolve) =>
              answers.push((object) => resolve({ object })),
            );
          });
        const wanted = [manifest({ key: "1" }), manifest({ key: "2" })] as const;
        const writes = wanted.map(write);
        answers[first]?.(child(5, wanted[first]));
        await writes[first];
        watched(child(6, wanted[last]));
        answers[last]?.(child(6, wanted[last]));
        await writes[last];
        assert.deepEqual(told, []);
      });
    }

    it("the owner by what somebody else does while we write", async () => {
      await apply(child(5), () => watched(taken(6, "kubectl")));
      assert.deepEqual(told, ["widget-uid ConfigMap settings drifted by kubectl"]);
      assert.equal(isApplied(), false);
    });

    it("the owner by a deletion while we write", async () => {
      await apply(child(5), () => sink.remove(child(6)));
      assert.deepEqual(told, ["widget-uid ConfigMap settings drifted"]);
      assert.equal(store.size, 0);
    });

    it("the owner by what comes after a write whose answer was lost", async () => {
      list(3, child(1));
      await assert.rejects(
        store.write(CONFIG_MAPS, NAME, manifest({ key: "2" }), async () => {
          watched(
            child(5, manifest({ key: "2" }), {
              managedFields: [{ ...entryOf(manifest(), MANAGER), time: LATER }],
            }),
          );
          throw new Error("no answer");
        }),
      );
      assert.equal(told.length, 1);
    });

    it("the owner by each report of a child that is not ready yet, and says so until it is", async () => {
      await apply(child(5));
      for (const [at, status] of ["False", "False", "Unknown", "True", "True"].entries())
        watched({ ...child(6 + at), status: { conditions: [{ type: "Ready", status }] } });
      const report = "widget-uid";
      const progress = `${report} makes progress`;
      assert.deepEqual(told, [report, progress, progress, report, report]);
    });

    it("the owner by a report of a status, which is no drift, also the second of one second", async () => {
      const generation = { generation: 1 };
      await apply(child(5, manifest(), generation));
      watched(withOthers(child(6, manifest(), generation), statusEntry(SECOND)));
      watched(withOthers(child(7, manifest(), generation), statusEntry(SECOND)));
      watched(withOthers(child(8, manifest(), generation), statusEntry(LATER)));
      assert.deepEqual(told, ["widget-uid", "widget-uid", "widget-uid"]);
      assert.equal(isApplied(), true);
    });

    it("the owner by drift, with the one who wrote last", async () => {
      await apply(child(5));
      watched(taken(6, "kubectl"));
      assert.deepEqual(told, ["widget-uid ConfigMap settings drifted by kubectl"]);
      assert.equal(isApplied(), false);
    });

    it("the owner by another value under our own name: a late write of ours, or one of somebody who takes our name", async () => {
      await apply(child(5));
      watched(child(6, manifest({ key: "late" })));
      assert.deepEqual(told, ["widget-uid ConfigMap settings drifted"]);
      assert.equal(isApplied(), false);
    });

    it("the owner by a deletion, told by a watch or found by a list", () => {
      list(3, child(1), child(2, manifest({}, widget(), "more")));
      sink.remove(child(4));
      list(5);
      assert.deepEqual(told, ["widget-uid ConfigMap settings drifted", "widget-uid ConfigMap more drifted"]);
    });

    it("the owner by marks that are taken away, with the one who took them", () => {
      list(3, child(1));
      const theirs: ManagedFieldsEntry = { manager: "kubectl", operation: "Update", time: LATER };
      watched(child(4, manifest(), { ownerReferences: [], labels: {}, managedFields: [theirs] }));
      assert.equal(told.length, 1);
      assert.match(told[0] ?? "", /^widget-uid ConfigMap settings drifted/);
      assert.equal(store.size, 0);
      assert.equal(store.isUnsure(CONFIG_MAPS, NAME), true);
    });

    it("the owner by a change that is found when the child is read", async () => {
      list(3, child(1));
      const known = find();
      assert.ok(known);
      store.invalidate(known);
      server = taken(6, "kubectl");
      await store.read(known);
      watched(taken(6, "kubectl"));
      assert.deepEqual(told, ["widget-uid ConfigMap settings drifted by kubectl"]);
    });

    it("the owner, without drift, by a child of ours that lingers after we deleted it, and by its end", async () => {
      list(3, child(1));
      await store.write(CONFIG_MAPS, NAME, undefined, async () => ({ object: undefined }));
      watched(child(4, manifest(), { deletionTimestamp: LATER, finalizers: ["x.io/y"] }));
      assert.deepEqual(told, ["widget-uid"]);
      assert.equal(find()?.deleting, true);
      sink.remove(child(5, manifest(), { deletionTimestamp: LATER }));
      assert.deepEqual(told, ["widget-uid", "widget-uid ConfigMap settings gone as we wanted"]);
    });

    it("both owners if a child passes from one to the other", () => {
      list(3, child(1));
      watched(child(4, manifest({ key: "1" }, widget({ uid: "second", name: "second" }))));
      assert.deepEqual(told.map((each) => each.split(" ")[0]).sort(), ["second", "widget-uid"]);
      assert.deepEqual(store.of("widget-uid"), []);
    });

    it("nobody by what is listed beside the watches", () => {
      list(3, child(1));
      store.learn(CONFIG_MAPS, [child(4, manifest({ key: "2" })), child(4, manifest({}, widget(), "more"))]);
      store.retain(new Set(["more-uid"]));
      assert.deepEqual(told, []);
      assert.deepEqual(
        store.of("widget-uid").map(({ name }) => name),
        ["more"],
      );
    });
  });

  describe("what is applied:", () => {
    it("the manifest that we applied last, and no other", async () => {
      await apply(child(5));
      assert.equal(isApplied(), true);
      assert.equal(isApplied(manifest({ key: "2" })), false);
    });

    it("unknown after a write whose answer was lost, until we apply again", async () => {
      await apply(child(5));
      await assert.rejects(
        store.write(CONFIG_MAPS, NAME, manifest({ key: "2" }), () => Promise.reject(new Error("no answer"))),
      );
      assert.equal(isApplied(), false);
      await apply(child(7));
      assert.equal(isApplied(), true);
    });

    it("not what a list that came while we wrote shows to be taken from us", async () => {
      list(3, child(1));
      await apply(child(5), () => list(7, taken(6, "kubectl")));
      assert.equal(isApplied(), false);
    });

    it("after a restart, what the child itself shows to be applied: it is not read", () => {
      list(9, child(1));
      assert.equal(isApplied(manifest({ key: "2" })), false);
      assert.equal(isApplied(), true);
      assert.equal(reads, 0);
    });

    it("after a restart, not what somebody took from us or what we applied beyond it", () => {
      list(9, taken(1, "kubectl"));
      assert.equal(isApplied(), false);
      store = make();
      list(9, child(1, manifest({ key: "1", more: "2" })));
      assert.equal(isApplied(), false);
    });

    it("after a restart, an integer of 64 bits too", () => {
      const big = { ...manifest(), spec: readJson('{"n":12345678901234567891}') };
      list(9, child(1, big));
      assert.equal(isApplied(big), true);
    });

    it("not what somebody deleted and another one created under its name", async () => {
      await apply(child(5));
      sink.remove(child(6));
      watched(child(7, manifest(), { uid: "second" }));
      server = undefined;
      assert.equal(isApplied(manifest({ key: "2" })), false);
    });
  });

  it("is unsure of the children that went last, however many went before", () => {
    const many = Array.from({ length: 10_001 }, (_, at) => child(1, manifest({}, widget(), `child-${at}`)));
    list(1, ...many);
    for (const each of many) sink.remove(each);
    const isUnsure = (at: number) => store.isUnsure(CONFIG_MAPS, { namespace: "shop", name: `child-${at}` });
    assert.deepEqual([isUnsure(0), isUnsure(1), isUnsure(10_000)], [false, true, true]);
    store.doubt(CONFIG_MAPS, NAME);
    assert.equal(store.isUnsure(CONFIG_MAPS, NAME), true);
  });

  describe("read", () => {
    it("gives the child without its managed fields, as it is kept", async () => {
      list(9, child(1));
      const known = find();
      assert.ok(known);
      const { managedFields: _, ...metadata } = child(1).metadata;
      assert.deepEqual(await store.read(known), { ...child(1), metadata });
      assert.equal(reads, 0);
    });

    it("gives nothing for a child that is gone", async () => {
      list(9, child(1));
      const known = find();
      assert.ok(known);
      store.invalidate(known);
      assert.equal(await store.read(known), undefined);
    });
  });
});
