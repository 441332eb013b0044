import assert from "node:assert/strict";
import fc from "fast-check";
import { ObjectGoneError } from "../../runtime/base/failure";
import { CHILD_OF_LABEL, OWNER_UID_LABEL } from "../../runtime/base/names";
import type { KubernetesObject } from "../../runtime/base/objects";
import { ApiError, isRace } from "../../runtime/kubernetes/errors";
import { managersOf, markManagerOf, ownedManifest } from "../../runtime/observe/marks";
import { bearsOurMark, provenOwner } from "../../runtime/observe/ownership";
import type { UpdatePolicy } from "../../runtime/operator/definition";
import { failureOf } from "./support/failures";
import {
  applied,
  CONFIG_MAPS,
  configMap,
  entryOf,
  IDENTITY,
  MANAGER,
  WIDGETS,
  widget,
} from "./support/objects";
import {
  APPLY,
  DELETE,
  desired,
  FORMER,
  FORMER_NAME,
  foreign,
  NAME,
  OWNER,
  verbOf,
  WriterBench,
} from "./support/writerBench";

const IMMUTABLE = new ApiError(
  422,
  { message: "immutable", details: { causes: [{ reason: "FieldValueForbidden", field: "data" }] } },
  "PATCH",
);

describe("ChildWriter", () => {
  let bench: WriterBench;
  beforeEach(() => {
    bench = new WriterBench();
  });

  describe("applies", () => {
    it("a child that does not exist, and then nothing as long as it is as applied", async () => {
      assert.deepEqual(await bench.apply(), {
        verb: "created",
        apiVersion: "v1",
        kind: "ConfigMap",
        ...NAME,
      });
      assert.equal(await bench.apply(), undefined);
      assert.deepEqual([bench.cluster.steps, bench.confirmed], [[APPLY], 0]);
      assert.equal(
        provenOwner(bench.there() as KubernetesObject, WIDGETS, [MANAGER])?.uid,
        OWNER.metadata.uid,
      );
    });

    it("nothing onto a child of ours that was not known: the handler is asked again, with that child", async () => {
      await bench.apply();
      bench.begin();
      await assert.rejects(bench.apply(desired({ key: "2" })), isRace);
      assert.deepEqual(bench.there()?.["data"], { key: "1" });
      assert.deepEqual(
        bench.store.of(OWNER.metadata.uid).map(({ name }) => name),
        ["settings"],
      );
      assert.equal(verbOf(await bench.apply(desired({ key: "2" }))), "patched");
    });

    it("nothing onto a child of ours that took the place of the known one: the handler is asked again, with it", async () => {
      await bench.apply();
      bench.change({ uid: "restored" }, { data: { key: "restored" } });
      await assert.rejects(bench.apply(desired({ key: "2" })), isRace);
      assert.deepEqual(bench.there()?.["data"], { key: "restored" });
      assert.equal(bench.store.of(OWNER.metadata.uid)[0]?.uid, "restored");
      assert.equal(verbOf(await bench.apply(desired({ key: "2" }))), "patched");
    });

    for (const isCreated of [false, true])
      it(`only marks onto one that has lost them and is shown no more${isCreated ? ", also if it is created once" : ""}: the handler was asked without it`, async () => {
        const other = desired({ key: "2" }, { isCreated });
        await bench.apply();
        const { metadata } = bench.there() as KubernetesObject;
        const { [CHILD_OF_LABEL]: _, ...labels } = metadata.labels ?? {};
        bench.change({ labels });
        bench.store.sink(CONFIG_MAPS, undefined).remove(bench.there() as KubernetesObject);
        await assert.rejects(bench.apply(other), isRace);
        assert.deepEqual(
          [bench.there()?.metadata.labels, bench.there()?.["data"]],
          [metadata.labels, { key: "1" }],
        );
        assert.equal(bench.store.of(OWNER.metadata.uid).length, 1);
        assert.equal(verbOf(await bench.apply(other)), "patched");
      });

    it("a child again that went, if its owner still exists", async () => {
      await bench.apply();
      bench.store.sink(CONFIG_MAPS, undefined).remove(bench.there() as KubernetesObject);
      bench.cluster.remove("ConfigMap", NAME);
      bench.isGone = true;
      await assert.rejects(bench.apply(), ObjectGoneError);
      assert.deepEqual([bench.there(), bench.cluster.steps], [undefined, [APPLY]]);
      bench.isGone = false;
      assert.equal(verbOf(await bench.apply()), "created");
      assert.equal(bench.confirmed, 2);
    });

    it("a child again that goes while it is changed, if its owner still exists", async () => {
      await bench.apply();
      bench.cluster.beforeRequest = () => bench.cluster.remove("ConfigMap", NAME);
      bench.isGone = true;
      await assert.rejects(bench.apply(desired({ key: "2" })), ObjectGoneError);
      assert.equal(bench.there(), undefined);
    });

    it("a change without a dry run, unless it leaves out what was applied before", async () => {
      await bench.apply();
      assert.equal(verbOf(await bench.apply(desired({ key: "2", more: "1" }))), "patched");
      assert.deepEqual([bench.cluster.steps, bench.confirmed], [[APPLY, APPLY], 0]);
      assert.deepEqual(bench.there()?.["data"], { key: "2", more: "1" });
      await bench.apply(desired({ key: "2" }));
      assert.deepEqual(bench.cluster.steps.slice(2), [`try to ${APPLY}`, APPLY]);
    });

    it("nothing if a field stays that is left out, and says so each time, or creates the child again", async () => {
      const { manifest, ...child } = desired();
      await bench.apply({ ...child, manifest: { ...manifest, immutable: true } });
      const { uid } = bench.there()?.metadata ?? {};
      for (const isRestarted of [false, true]) {
        if (isRestarted) bench.begin();
        if (isRestarted) bench.store.learn(CONFIG_MAPS, [bench.there() as KubernetesObject]);
        const { reason, message } = await failureOf(bench.apply(desired({ key: "2" })));
        assert.equal(reason, "ChildRefused");
        assert.match(message, /it keeps immutable, which the handler no longer returns.* Declare update/);
        assert.deepEqual([bench.there()?.metadata.uid, bench.there()?.["data"]], [uid, { key: "1" }]);
      }
      const change = await bench.apply(desired({ key: "2" }, { update: "recreate" }));
      assert.deepEqual([verbOf(change), bench.there()?.["immutable"]], ["recreated", undefined]);
    });

    it("nothing more if a field stays that is ours, though a webhook changes the child at each write", async () => {
      const { data: _, ...manifest } = desired().manifest;
      const scope = bench.scope();
      const apply = scope.client.apply.bind(scope.client);
      let writes = 0;
      scope.client.apply = async (resource, wanted, options) => {
        const answer = await apply(resource, wanted, options);
        if (options.dryRun) return answer;
        assert.ok(++writes < 10, "it writes without end");
        const { managedFields = [] } = answer.object.metadata;
        const entries = managedFields.map((entry) => ({ ...entry, apiVersion: "v1" }));
        bench.change({ managedFields: entries, annotations: { writes: String(writes) } });
        return { ...answer, object: bench.there() as KubernetesObject };
      };
      await bench.writer.apply(desired(), scope);
      const refused = await failureOf(bench.writer.apply({ ...desired(), manifest }, scope));
      assert.match(refused.message, /it keeps data\.key/);
      assert.equal(writes, 1);
    });

    it("a change after another look, if another client wrote between look and write", async () => {
      await bench.apply();
      bench.touched(1);
      assert.equal(verbOf(await bench.apply(desired({ key: "2" }))), "patched");
      assert.deepEqual(bench.cluster.steps, [APPLY, APPLY, APPLY]);
      assert.deepEqual(bench.there()?.metadata.annotations, { touched: "0" });
    });

    it("nothing more if another client writes all the time: the reconcile is tried again", async () => {
      await bench.apply();
      bench.touched(100);
      await assert.rejects(bench.apply(desired({ key: "2" })), (error: ApiError) => error.code === 409);
      assert.equal(bench.cluster.steps.length, 1 + 5);
    });

    it("nothing more if it is refused as a conflict though no client has written: that is a failure", async () => {
      const refusal = new ApiError(409, { message: "not today" }, "PATCH");
      bench.cluster.refusals.set(APPLY, refusal);
      const created = await failureOf(bench.apply());
      assert.equal(created.reason, "ChildRefused");
      assert.match(created.message, /ConfigMap shop\/settings: not today/);
      assert.equal(bench.cluster.steps.length, 3);
      bench.cluster.refusals.clear();
      await bench.apply();
      bench.cluster.refusals.set(APPLY, refusal);
      assert.equal((await failureOf(bench.apply(desired({ key: "2" })))).reason, "ChildRefused");
      const details = { kind: "resourcequotas", name: "quota" };
      bench.cluster.refusals.set(APPLY, new ApiError(409, { details }, "PATCH"));
      await assert.rejects(bench.apply(desired({ key: "2" })), (error: ApiError) => error.code === 409);
    });

    it("nothing to a child that is being deleted", async () => {
      await bench.apply();
      bench.change({ finalizers: ["theirs.example.com/x"] });
      const [child] = bench.store.of(OWNER.metadata.uid);
      assert.ok(child);
      await bench.writer.delete(child, bench.scope());
      bench.store.learn(CONFIG_MAPS, [bench.there() as KubernetesObject]);
      assert.equal(await bench.apply(desired({ key: "2" })), undefined);
    });
  });

  describe("touches an object of others that has the name", () => {
    const going = { deletionTimestamp: "2026-11-21T10:00:00Z", finalizers: ["example.com/hold"] };
    const ofEarlier = desired({}, { owner: widget({ uid: "earlier-uid" }) }).manifest;
    const ofStore = ownedManifest(configMap(), widget({ uid: "x" }), CONFIG_MAPS, "argosy.store");
    const reporter = { manager: FORMER, operation: "Apply", subresource: "status" } as const;
    const conflicts: readonly (readonly [
      what: string,
      object: KubernetesObject,
      message: RegExp,
      again?: 1,
    ])[] = [
      [
        "and soon again if it is a child of the object that had the owner's name before",
        applied(ofEarlier, MANAGER),
        /it belongs to Widget shop\/widget, an earlier object of this name/,
        1,
      ],
      [
        "with growing pauses if such a child is going, and is held by a finalizer",
        applied({ ...ofEarlier, metadata: { ...ofEarlier.metadata, ...going } }, MANAGER),
        /it belongs to Widget shop\/widget, an earlier object of this name\. It is being deleted and is held by the finalizer example\.com\/hold/,
      ],
      [
        "while it is being deleted, and names the finalizer that holds it",
        foreign(going),
        /kubectl\. It is being deleted and is held by the finalizer example\.com\/hold: the child is created when it is gone\.$/,
      ],
      [
        "and says whose it is and what to do: an operator that only reports on it is no former name of this one",
        foreign({ managedFields: [{ manager: "kubectl", operation: "Update" }, reporter] }),
        /^ConfigMap shop\/settings does not belong to this object: it was created by kubectl\. Rename the child, delete the existing object, or annotate that object with argosy\.dev\/adopt=true to hand it over\.$/,
      ],
      [
        "and names the operator that applied it: it may be this one under a former name",
        applied(ofStore, FORMER),
        /was called argosy\.store before, add that to "formerNames"/,
        1,
      ],
    ];
    for (const [what, object, expected, again] of conflicts)
      it(`never, ${what}`, async () => {
        const before = bench.cluster.put(object);
        const { reason, message, retryAfterSeconds } = await failureOf(bench.apply());
        assert.deepEqual([reason, retryAfterSeconds], ["ChildConflict", again]);
        assert.match(message, expected);
        assert.deepEqual(bench.there(), before);
      });

    it("only if it is offered for adoption, and the handler has been shown it", async () => {
      bench.cluster.put(foreign({ annotations: { "argosy.dev/adopt": "true" } }));
      await assert.rejects(bench.apply(), isRace);
      const [shown] = bench.store.of(OWNER.metadata.uid);
      assert.ok(shown);
      assert.deepEqual([bench.confirmed, bench.there()?.["data"]], [1, { theirs: "1" }]);
      assert.equal(verbOf(await bench.apply()), "adopted");
      assert.deepEqual(
        [bench.there()?.metadata.uid, verbOf(await bench.apply())],
        ["foreign-uid", undefined],
      );
    });

    it("and deletes none to create it again, although it is offered for adoption", async () => {
      bench.cluster.put(foreign({ annotations: { "argosy.dev/adopt": "true" } }));
      bench.cluster.beforeRequest = (step) => {
        if (step === APPLY && bench.confirmed > 0) throw IMMUTABLE;
      };
      for (const update of ["recreate", "apply", "never"] as const) {
        bench.confirmed = 0;
        const { reason, message } = await failureOf(bench.apply(desired({ key: "2" }, { update })));
        assert.equal(reason, "ChildRefused");
        assert.match(message, /^ConfigMap shop\/settings cannot be adopted: .*delete the object yourself/);
        assert.ok(!message.includes("Declare update"), message);
        assert.equal(bench.there()?.metadata.uid, "foreign-uid");
        assert.ok(!bench.cluster.steps.includes(DELETE));
      }
    });

    it("a Secret's texts become its data, and what is no text is refused by the name that the handler gave it", () => {
      const metadata = { name: "keys", namespace: "shop" };
      const stringData = { a: "x", port: 8080, none: null };
      const secret = { apiVersion: "v1", kind: "Secret", metadata, data: { b: "eA==" }, stringData };
      const resource = { apiVersion: "v1", kind: "Secret", plural: "secrets", namespaced: true };
      const manifest = ownedManifest(secret, widget({ uid: "x" }), resource, "argosy.store");
      assert.deepEqual(manifest["data"], { b: "eA==", a: "eA==", none: null });
      assert.deepEqual(manifest["stringData"], { port: 8080 });
    });

    it("never if another object has left it elsewhere, and says how to take it over from one that is gone", async () => {
      const other = widget({ namespace: "away", name: "other", uid: "x" });
      const left = bench.cluster.put(
        applied(ownedManifest(configMap({ namespace: "shop" }), other, CONFIG_MAPS, "argosy.shop"), MANAGER),
      );
      const { message } = await failureOf(bench.apply(desired()));
      assert.match(
        message,
        /it belongs to Widget away\/other\. .* If it is gone, remove the label argosy\.dev\/owner-uid,/,
      );
      const { [OWNER_UID_LABEL]: _, ...labels } = left.metadata.labels ?? {};
      bench.change({ labels });
      await assert.rejects(bench.apply(), isRace);
      assert.equal(verbOf(await bench.apply()), "patched");
      assert.equal(bench.there()?.metadata.uid, left.metadata.uid);
    });
  });

  it("puts back the marks that a child lost, if its owner still exists", async () => {
    await bench.apply();
    // As `kubectl delete --cascade=orphan` leaves a child.
    const [ours] = bench.there()?.metadata.managedFields ?? [];
    const { "f:metadata": meta, ...content } = ours?.fieldsV1 ?? {};
    const { "f:ownerReferences": _, ...left } = (meta ?? {}) as Record<string, unknown>;
    bench.change({
      ownerReferences: [],
      managedFields: [{ ...ours, fieldsV1: { ...content, "f:metadata": left } }],
    });
    bench.isGone = true;
    await assert.rejects(bench.apply(desired({ key: "2" })), ObjectGoneError);
    const there = () => [bench.there()?.metadata.ownerReferences?.[0]?.uid, bench.there()?.["data"]];
    assert.deepEqual(there(), [undefined, { key: "1" }]);
    bench.isGone = false;
    assert.equal(verbOf(await bench.apply(desired({ key: "2" }))), "patched");
    assert.deepEqual([bench.confirmed, ...there()], [2, OWNER.metadata.uid, { key: "2" }]);
  });

  describe("a child that is created once", () => {
    const once = (isCreated: boolean) => desired({ key: "2" }, { update: "never", isCreated });

    it("is created once, and not changed", async () => {
      assert.equal(verbOf(await bench.apply(once(false))), "created");
      bench.change({}, { data: { key: "theirs" } });
      assert.equal(await bench.apply(once(true)), undefined);
      assert.deepEqual(bench.there()?.["data"], { key: "theirs" });
    });

    it("is not created again, nor looked for at each reconcile", async () => {
      bench.cluster.readRefusals.set("get ConfigMap", new Error("nothing should be read"));
      assert.equal(await bench.apply(once(true)), undefined);
      assert.deepEqual(bench.cluster.steps, []);
    });

    it("gets an owner reference in the version that the operator uses now, and nothing else is changed of it", async () => {
      await bench.apply(once(false));
      const { ownerReferences = [] } = (bench.there() as KubernetesObject).metadata;
      const former = ownerReferences.map((each) => ({ ...each, apiVersion: "shop.example.com/v1beta1" }));
      bench.change({ ownerReferences: former }, { data: { key: "theirs" } });
      bench.begin();
      bench.store.learn(CONFIG_MAPS, [bench.there() as KubernetesObject]);
      assert.equal(verbOf(await bench.apply(once(true))), "patched");
      const { metadata, data } = bench.there() as KubernetesObject;
      assert.deepEqual([metadata.ownerReferences, data], [ownerReferences, { key: "theirs" }]);
      assert.equal(await bench.apply(once(true)), undefined);
    });

    it("gets its label back, and nothing else is changed of it", async () => {
      await bench.apply(once(false));
      const { [CHILD_OF_LABEL]: _, ...labels } = bench.there()?.metadata.labels ?? {};
      bench.change({ labels }, { data: { key: "theirs" } });
      const [child] = bench.store.of(OWNER.metadata.uid);
      assert.ok(child);
      // The watch selects by the label.
      bench.store.sink(CONFIG_MAPS, undefined).remove(bench.there() as KubernetesObject);
      assert.equal(verbOf(await bench.apply(once(true))), "patched");
      assert.deepEqual(
        [bench.there()?.["data"], bench.there()?.metadata.labels?.[CHILD_OF_LABEL]],
        [{ key: "theirs" }, "argosy.shop"],
      );
    });

    for (const manager of [FORMER, markManagerOf(FORMER)])
      it(`gets our label for that of a former name of ours (${manager}), and nothing else is changed of it`, async () => {
        bench.begin({ formerNames: [FORMER_NAME] });
        const { manifest } = once(false);
        const labels = { ...manifest.metadata.labels, [CHILD_OF_LABEL]: "argosy.store" };
        const metadata = { ...manifest.metadata, labels };
        const child = applied({ ...manifest, metadata, data: { key: "theirs" } }, manager);
        bench.store.learn(CONFIG_MAPS, [bench.cluster.put(child)]);
        assert.equal(verbOf(await bench.apply(once(true))), "patched");
        assert.deepEqual(
          [bench.there()?.["data"], bench.there()?.metadata.labels?.[CHILD_OF_LABEL]],
          [{ key: "theirs" }, "argosy.shop"],
        );
        assert.equal(await bench.apply(once(true)), undefined);
        // It is ours by the new name alone.
        assert.ok(
          provenOwner(
            bench.there() as KubernetesObject,
            WIDGETS,
            managersOf({ ...IDENTITY, formerNames: [] }),
          ),
        );
      });

    it("is looked for if it was lost from the watch, and not created if it is gone", async () => {
      bench.store.becomeUnsure(CONFIG_MAPS, NAME);
      assert.equal(await bench.apply(once(true)), undefined);
      assert.deepEqual([bench.cluster.steps, bench.there()], [[], undefined]);
    });

    it("is not created if it goes while its marks are put back", async () => {
      bench.cluster.put(foreign({ annotations: { "argosy.dev/adopt": "true" } }));
      bench.store.becomeUnsure(CONFIG_MAPS, NAME);
      bench.cluster.beforeRequest = () => bench.cluster.remove("ConfigMap", NAME);
      assert.equal(await bench.apply(once(true)), undefined);
      assert.equal(bench.there(), undefined);
    });

    it("is no conflict if it went and another owner's object has its name: that object stays as it is", async () => {
      const ofOther = ownedManifest(
        configMap(),
        widget({ name: "other", uid: "x" }),
        CONFIG_MAPS,
        "argosy.shop",
      );
      for (const theirs of [foreign(), applied(ofOther, MANAGER)]) {
        bench.begin();
        const before = bench.cluster.put(theirs);
        bench.store.becomeUnsure(CONFIG_MAPS, NAME);
        assert.equal(await bench.apply(once(true)), undefined);
        assert.deepEqual([bench.cluster.steps, bench.there()], [[], before]);
      }
    });

    it("is a conflict each time if it has lost every mark, since no other client would delete it", async () => {
      bench.store.becomeUnsure(CONFIG_MAPS, NAME);
      bench.cluster.put(foreign({ managedFields: [{ manager: MANAGER, operation: "Apply", fieldsV1: {} }] }));
      for (let time = 0; time < 2; time++)
        assert.equal((await failureOf(bench.apply(once(true)))).reason, "ChildConflict");
    });
  });

  it("overwrites and deletes nothing that is not ours and was not offered, whatever other clients do between its requests", async () => {
    let confirmedBefore = 0;
    const states = ["absent", "foreign", "forged", "adoptable", "ours", "orphaned", "other's"] as const;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...states),
        fc.array(fc.tuple(fc.constantFrom("before", "never"), fc.constantFrom(...states)), { maxLength: 6 }),
        fc.constantFrom<UpdatePolicy>("apply", "recreate", "never"),
        fc.boolean(),
        fc.array(fc.boolean(), { maxLength: 3 }),
        async (first, changes, update, isDeleted, refused) => {
          const [later, refusals] = [[...changes], [...refused]];
          bench = new WriterBench();
          put(first);
          const before = bench.there();
          if (before) bench.store.learn(CONFIG_MAPS, [before]);
          bench.cluster.beforeRequest = (step) => {
            if (step === APPLY && bench.there() && refusals.shift()) throw IMMUTABLE;
            const [when, state] = later.shift() ?? ["never", "absent"];
            if (when === "before") put(state);
          };
          bench.cluster.onOverwrite = (step, object) => {
            const isOffered = object.metadata.annotations?.["argosy.dev/adopt"] === "true";
            const owner = provenOwner(object, WIDGETS, [MANAGER])?.uid;
            const mayBeTaken = owner === undefined && (isOffered || bearsOurMark(object, [MANAGER]));
            assert.ok(step !== DELETE || !isOffered, "deleted although it was only offered");
            // Nothing is taken before it was seen, and its new owner was seen to exist.
            assert.ok(
              owner === OWNER.metadata.uid || (mayBeTaken && bench.confirmed > confirmedBefore),
              `${step} of ${JSON.stringify(object.metadata)}`,
            );
          };
          const [child] = bench.store.of(OWNER.metadata.uid);
          const work =
            isDeleted && child
              ? bench.writer.delete(child, bench.scope())
              : bench.apply(desired({ key: "2" }, { update }));
          await work.catch((error: unknown) => {
            if (error instanceof assert.AssertionError) throw error;
          });
        },
      ),
      {
        numRuns: 300,
        examples: [
          ["ours", [["before", "orphaned"]], "recreate", false, [true]],
          ["adoptable", [], "recreate", false, [false, true]],
        ],
      },
    );

    function put(state: (typeof states)[number]): void {
      confirmedBefore = bench.confirmed;
      bench.cluster.remove("ConfigMap", NAME);
      const owner = state === "other's" ? widget({ name: "other", uid: "x" }) : OWNER;
      const { manifest } = desired({ key: "1" }, { owner });
      const entry = entryOf(manifest, MANAGER);
      const { "f:metadata": meta, ...content } = entry.fieldsV1;
      const { "f:ownerReferences": _, ...marks } = meta as Record<string, unknown>;
      const uid = state === "orphaned" ? "ours-uid" : `${state}-uid`;
      const metadata = { ...manifest.metadata, uid, resourceVersion: "0" };
      if (state === "absent") return;
      if (state === "foreign") bench.cluster.put(foreign());
      else if (state === "forged")
        bench.cluster.put(
          foreign({ labels: metadata.labels ?? {}, managedFields: [{ ...entry, fieldsV1: {} }] }),
        );
      else if (state === "adoptable")
        bench.cluster.put(foreign({ annotations: { "argosy.dev/adopt": "true" } }));
      else if (state === "orphaned")
        bench.cluster.put({
          ...manifest,
          metadata: {
            ...metadata,
            ownerReferences: [],
            managedFields: [{ ...entry, fieldsV1: { ...content, "f:metadata": marks as never } }],
          },
        });
      else bench.cluster.put({ ...manifest, metadata: { ...metadata, managedFields: [entry] } });
    }
  });
});
