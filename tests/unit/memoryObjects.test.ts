import assert from "node:assert/strict";
import { OPERATOR_LABEL, OWNER_RANGE_LABEL, ownerRangeOf } from "../../runtime/base/names";
import type { JsonObject, KubernetesObject } from "../../runtime/base/objects";
import { ApiError, ApiUnreachableError, isRace } from "../../runtime/kubernetes/errors";
import { ReadMemories } from "../../runtime/programs/run/readMemories";
import type { StatusChange, StatusVerdict } from "../../runtime/remember/composeStatus";
import { conditionsOfObject, memoryResourceOf, nameIn, uidIn } from "../../runtime/remember/memoryKind";
import { MemoryObjects } from "../../runtime/remember/memoryObjects";
import { FakeCluster } from "./support/fakeCluster";
import { IDENTITY, operator, WIDGETS, widget } from "./support/objects";

const OBJECT = { namespace: "shop", name: "widget", uid: "widget-uid" };
const OWN = { namespace: "argosy", name: "argosy.shop.widget-uid" };
const FORMER = { installation: "argosy", name: "store" };

/** A Memory of it with this name. */
const memoryOf = (name: { namespace: string; name: string }, memory: JsonObject) => ({
  ...{ apiVersion: "argosy.dev/v1", kind: "Memory" },
  metadata: { ...name, uid: "m1", resourceVersion: "1" },
  object: { apiVersion: WIDGETS.apiVersion, kind: WIDGETS.kind, ...OBJECT },
  memory,
});

const verdict = (isReady: boolean, generation = 3): { verdict: StatusVerdict } => ({
  verdict: { verdict: isReady ? { kind: "ready" } : { kind: "progressing", message: "slow" }, generation },
});

describe("the memories of objects that are not ours", () => {
  let cluster: FakeCluster;
  let memories: MemoryObjects;
  let isThere: boolean;
  let isKnown: boolean;
  /** The names of objects whose Memory another client created or deleted. */
  let changed: string[];

  beforeEach(() => {
    [cluster, isThere, isKnown, changed] = [new FakeCluster(), true, true, []];
    memories = new MemoryObjects({
      client: cluster.client(),
      operator: operator({ formerNames: [FORMER.name] }),
      resource: WIDGETS,
      namespace: "argosy",
      isThere: () => isThere,
      assertKnown: () => assert.ok(isKnown, "not listed yet"),
      emit: (news) => void changed.push("name" in news ? news.name.name : news.kind),
    });
  });

  const write = (change: StatusChange, { verdict: along }: { verdict?: StatusVerdict } = {}) =>
    memories.write(cluster.client(), OBJECT, change, along);
  const kept = () => cluster.find("Memory", OWN) as KubernetesObject & { memory: JsonObject };

  it("are not written if that changes nothing, and keep the digest of a verdict that is written anyway", async () => {
    const said = (digest?: string, isReady = true) => ({ verdict: { ...verdict(isReady).verdict, digest } });
    await write({ memory: { kinds: [] } }, said("one"));
    assert.deepEqual(kept().memory, { kinds: [], digest: "one" });
    const { resourceVersion } = kept().metadata;
    await write({ memory: { kinds: [] } }, said("two"));
    await write(said("two"));
    await write({});
    assert.equal(kept().metadata.resourceVersion, resourceVersion);
    await write({ memory: { kinds: ["v1/Pod"] } });
    assert.deepEqual(kept().memory, { kinds: ["v1/Pod"], digest: "one" });
    await write(said("two", false));
    assert.deepEqual(kept().memory, { kinds: ["v1/Pod"], digest: "two" });
  });

  it("are named by operator and uid, in the operators' namespace, and say what they are about", async () => {
    await write({ memory: { kinds: ["v1/Pod"], state: { a: 1 } } }, verdict(true));
    const memory = kept();
    assert.deepEqual(memory["object"], {
      apiVersion: WIDGETS.apiVersion,
      kind: "Widget",
      ...OBJECT,
    });
    const labels = { [OPERATOR_LABEL]: "argosy.shop", [OWNER_RANGE_LABEL]: ownerRangeOf(OBJECT.uid) };
    assert.deepEqual(memory.metadata.labels, labels);
    assert.equal(conditionsOfObject(memory)[0]?.status, "True");
    assert.deepEqual(await memories.of(widget()), {
      kinds: ["v1/Pod"],
      created: [],
      state: { a: 1 },
    });
    assert.deepEqual([uidIn(memory, IDENTITY), uidIn(memory, FORMER)], ["widget-uid", undefined]);
    assert.deepEqual(nameIn(memory, WIDGETS), { namespace: "shop", name: "widget" });
    assert.deepEqual(await memories.uidsOf(OBJECT), ["widget-uid"]);
    assert.ok(memories.isReady(widget()));
    assert.ok(!memories.isReady(widget({ generation: 4 })));
  });

  it("are forgotten if they are gone when they are read again, before a watch says so", async () => {
    await write({ memory: { kinds: ["v1/Pod"] } });
    cluster.remove("Memory", OWN);
    assert.deepEqual((await memories.of(widget())).kinds, ["v1/Pod"]);
    memories.invalidate(OBJECT.uid);
    assert.deepEqual((await memories.of(widget())).kinds, []);
    assert.deepEqual([await memories.uidsOf(OBJECT), changed], [[], []]);
  });

  it("have a group of their own in each installation, so that no program takes another's along", () => {
    assert.deepEqual(
      ["argosy", "shop"].map((installation) => memoryResourceOf({ installation }).apiVersion),
      ["argosy.dev/v1", "shop.argosy.dev/v1"],
    );
  });

  for (const forged of [undefined, "", "x", "uid"])
    it(`get their range back at the object's next look, if a user made it ${JSON.stringify(forged)}`, async () => {
      await write({ memory: { kinds: ["v1/Pod"] } }, verdict(true));
      const { [OWNER_RANGE_LABEL]: range, ...others } = kept().metadata.labels ?? {};
      const labels = forged === undefined ? others : { ...others, [OWNER_RANGE_LABEL]: forged };
      memories.sink("argosy").set(cluster.change(kept(), { labels }), false);
      await write(verdict(true));
      assert.equal(kept().metadata.labels?.[OWNER_RANGE_LABEL], range);
      assert.deepEqual(kept().memory, { kinds: ["v1/Pod"] });
    });

  it("keep the memory when a verdict is written, and never lower its generation", async () => {
    await write({ memory: { kinds: [], state: { a: 1 } } });
    await write(verdict(false, 5));
    await write(verdict(true, 4));
    assert.deepEqual(kept().memory, { kinds: [], state: { a: 1 } });
    const [ready] = conditionsOfObject(kept());
    assert.deepEqual([ready?.status, ready?.observedGeneration], ["False", 5]);
    const { objectGeneration, conditions } = kept()["status"] as {
      objectGeneration: number;
      conditions: object[];
    };
    assert.equal(objectGeneration, 5);
    // Tools would compare these with the generation of the Memory.
    assert.ok(conditions.length > 0 && conditions.every((each) => !("observedGeneration" in each)));
  });

  it("follow one another, each onto what the one before wrote", async () => {
    await Promise.all([
      write({ memory: { kinds: ["v1/Pod"] } }),
      write(verdict(true)),
      write(verdict(false)),
    ]);
    assert.deepEqual(kept().memory, { kinds: ["v1/Pod"] });
    assert.equal(conditionsOfObject(kept())[0]?.status, "False");
  });

  it("are written onto what is known alone: a run that began with an older memory does not bring it back", async () => {
    await write({ memory: { kinds: [], state: { a: 1 } } });
    cluster.put({ ...kept(), memory: { kinds: [], state: { a: 2 } } });
    await assert.rejects(write({ memory: { kinds: [], state: { a: 1, b: 1 } } }), isRace);
    assert.deepEqual([kept().memory["state"], (await memories.of(widget())).state], [{ a: 2 }, { a: 2 }]);
    await write({ memory: { kinds: [], state: { a: 2, b: 1 } } });
    assert.deepEqual(kept().memory["state"], { a: 2, b: 1 });
  });

  const firsts: [string, JsonObject | undefined][] = [
    ["a change", { kinds: [], state: { a: 1 } }],
    ["the first of them", undefined],
  ];
  for (const [what, before] of firsts)
    it(`are read again, until the API server answers, if the answer to the write of ${what} was lost: it may have been written`, async () => {
      if (before) await write({ memory: before });
      cluster.lost.set(
        "apply Memory argosy.shop.widget-uid",
        new ApiUnreachableError("PATCH", new Error("cut")),
      );
      await assert.rejects(write({ memory: { kinds: [], state: { a: 2 } } }), ApiUnreachableError);
      cluster.lost.clear();
      const away = new ApiError(503, {}, "GET");
      cluster.readRefusals.set("get Memory", away);
      await assert.rejects(memories.of(widget()), away);
      cluster.readRefusals.clear();
      assert.deepEqual((await memories.of(widget())).state, { a: 2 });
      cluster.readRefusals.set("get Memory", away);
      assert.deepEqual((await memories.of(widget())).state, { a: 2 });
    });

  it("are read again in a run in a pod too, which has no watch that would show how a write ended", async () => {
    const options = { client: cluster.client(), namespace: "argosy", operator: operator() };
    memories = new ReadMemories({ ...options, resource: WIDGETS });
    await write({ memory: { kinds: [], state: { a: 1 } } });
    cluster.lost.set("apply Memory argosy.shop.widget-uid", new ApiError(504, {}, "PATCH"));
    await assert.rejects(write({ memory: { kinds: [], state: { a: 2 } } }));
    assert.deepEqual((await memories.of(widget())).state, { a: 2 });
  });

  it("are given to no reader in their former state while one that may have been written is being read", async () => {
    await write({ memory: { kinds: [], state: { a: 1 } } });
    cluster.put({ ...kept(), memory: { kinds: [], state: { a: 2 } } });
    memories.invalidate(OBJECT.uid);
    const both = await Promise.all([memories.of(widget()), memories.of(widget())]);
    assert.deepEqual(
      both.map(({ state }) => state),
      [{ a: 2 }, { a: 2 }],
    );
  });

  it("are not forgotten if a watch brings one while a read finds none", async () => {
    await write({ memory: { kinds: [], state: { a: 1 } } });
    const memory = kept();
    memories = new MemoryObjects({
      operator: operator(),
      resource: WIDGETS,
      namespace: "argosy",
      client: {
        get: async () => {
          memories.sink("argosy").set(memory, false);
          return undefined;
        },
      },
    });
    memories.invalidate(OBJECT.uid);
    assert.deepEqual((await memories.of(widget())).state, { a: 1 });
  });

  it("are read once more if one may have been written while it was being read", async () => {
    await write({ memory: { kinds: [], state: { a: 1 } } });
    memories.invalidate(OBJECT.uid);
    const reading = memories.of(widget());
    cluster.put({ ...kept(), memory: { kinds: [], state: { a: 2 } } });
    memories.invalidate(OBJECT.uid);
    await reading;
    assert.deepEqual((await memories.of(widget())).state, { a: 2 });
  });

  it("are written if only another part of them has changed since they were read", async () => {
    await write({ memory: { kinds: [] } });
    cluster.change(kept(), { annotations: { touched: "1" } });
    await write({ memory: { kinds: ["v1/Pod"] } });
    assert.deepEqual(kept().memory, { kinds: ["v1/Pod"] });
  });

  it("are not written onto one that another leader has created unseen", async () => {
    cluster.beforeRequest = (step) => {
      cluster.beforeRequest = () => {};
      assert.equal(step, "apply Memory argosy.shop.widget-uid");
      cluster.put(memoryOf(OWN, { kinds: ["v1/Pod"] }));
    };
    await write(verdict(true));
    assert.deepEqual(kept().memory, { kinds: ["v1/Pod"] });
  });

  it("do not come back by a verdict that is over, or about an object that is gone", async () => {
    await write({ verdict: { ...verdict(true).verdict, isOver: () => true } });
    isThere = false;
    await write(verdict(true));
    assert.equal(kept(), undefined);
  });

  it("are told of if a former leader's write comes late and brings one back: its object may be gone", async () => {
    await write({ memory: { kinds: [] } });
    const late = kept();
    await memories.forget(cluster.client(), OBJECT.uid);
    const sink = memories.sink("argosy");
    sink.set(cluster.change(late, { uid: "m2" }), false);
    assert.deepEqual(changed, ["widget"]);
    // A change of it, and our own writes, are no news.
    sink.set(cluster.put({ ...kept(), memory: { kinds: ["v1/Pod"] } }), false);
    await write({ memory: { kinds: ["v1/Secret"] } });
    sink.set(kept(), false);
    assert.deepEqual(changed, ["widget"]);
  });

  it("go with what was remembered under a former name, once that is remembered under the new one", async () => {
    const former = { namespace: "argosy", name: "argosy.store.widget-uid" };
    const memory = cluster.put(memoryOf(former, { kinds: [], state: { old: true } }));
    memories.sink("argosy").set(memory, false);
    assert.deepEqual((await memories.of(widget())).state, { old: true });
    await write({ memory: { kinds: [], state: { old: true } } });
    assert.equal(cluster.find("Memory", former), undefined);
    assert.deepEqual((await memories.of(widget())).state, { old: true });
    assert.equal(memories.names().length, 1);
  });

  it("are no memories if a user has written something else there", async () => {
    await write({ memory: { kinds: [], state: { a: 1 } } });
    const { metadata } = kept();
    const forged = {
      ...kept(),
      metadata: { ...metadata, resourceVersion: "900" },
      memory: "x",
      status: { conditions: 7, objectGeneration: "x" },
    };
    memories.sink("argosy").set(forged, false);
    assert.deepEqual(await memories.of(widget()), { kinds: [], created: [] });
    memories
      .sink("argosy")
      .set({ ...forged, metadata: { ...metadata, resourceVersion: "901" }, object: 3 }, false);
    assert.deepEqual(await memories.uidsOf(OBJECT), []);
  });

  it("are written over whatever a user has written there", async () => {
    await write({ memory: { kinds: [], state: { a: 1 } } });
    const forged = cluster.put({ ...kept(), object: { name: 7 }, memory: "x" });
    memories.sink("argosy").set(forged, false);
    await write({ memory: { kinds: ["v1/Pod"] } });
    assert.deepEqual(
      [kept().memory, (await memories.of(widget())).kinds],
      [{ kinds: ["v1/Pod"] }, ["v1/Pod"]],
    );
  });

  it("are reported if another client deletes one, and not if we do", async () => {
    await write({ memory: { kinds: [] } });
    await memories.forget(cluster.client(), OBJECT.uid);
    assert.deepEqual([kept(), changed, memories.names().length], [undefined, [], 0]);
    await write({ memory: { kinds: [] } });
    memories.sink("argosy").remove(kept());
    assert.deepEqual(changed, ["widget"]);
  });

  it("are not forgotten if a webhook refuses their deletion by a conflict", async () => {
    await write({ memory: { kinds: [], state: { a: 1 } } });
    const message = 'admission webhook "keep.example.com" denied the request: not now';
    const denial = new ApiError(409, { message }, "DELETE");
    cluster.refusals.set("delete Memory argosy.shop.widget-uid", denial);
    await assert.rejects(memories.forget(cluster.client(), OBJECT.uid), /keep\.example\.com/);
    assert.deepEqual([(await memories.of(widget())).state, memories.names().length], [{ a: 1 }, 1]);
    cluster.refusals.clear();
    await memories.forget(cluster.client(), OBJECT.uid);
    assert.deepEqual([kept(), memories.names().length], [undefined, 0]);
  });

  it("are forgotten although another client has changed one since, but not one that replaced it", async () => {
    await write({ memory: { kinds: [] } });
    cluster.put({ ...kept(), status: { conditions: [] } });
    await memories.forget(cluster.client(), OBJECT.uid);
    assert.deepEqual([kept(), memories.names().length], [undefined, 0]);
    await write({ memory: { kinds: [] } });
    cluster.change(kept(), { uid: "another" });
    await memories.forget(cluster.client(), OBJECT.uid);
    assert.equal(kept().metadata.uid, "another");
  });

  it("are not taken for forgotten while they are not all known", async () => {
    isKnown = false;
    await assert.rejects(memories.of(widget()), /not listed yet/);
    await assert.rejects(memories.uidsOf(OBJECT), /not listed yet/);
  });
});
