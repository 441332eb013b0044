import assert from "node:assert/strict";
import fc from "fast-check";
import type { WriteScope } from "../../runtime/children/childApplier";
import type { ChildStore } from "../../runtime/children/childStore";
import type { ChildChange, ChildWriter } from "../../runtime/children/childWriter";
import type { DesiredChild } from "../../runtime/children/desiredChildren";
import { markManagerOf, ownManagers } from "../../runtime/children/marks";
import { bearsOurMark, ownedManifest, provenOwner } from "../../runtime/children/ownership";
import type { UpdatePolicy } from "../../runtime/definition/definition";
import { ReconcileFailure } from "../../runtime/failure";
import { isRace } from "../../runtime/kubernetes/conflicts";
import { ApiError } from "../../runtime/kubernetes/errors";
import type { KubernetesObject, ManagedFieldsEntry } from "../../runtime/kubernetes/objects";
import { CHILD_OF_LABEL, identityOf } from "../../runtime/names";
import { ObjectGoneError } from "../../runtime/reconcile/errors";
import { childrenIn } from "./support/fakeChildren";
import { FakeCluster } from "./support/fakeCluster";
import {
  applied,
  CONFIG_MAPS,
  configMap,
  entryOf,
  IDENTITY,
  MANAGER,
  observed,
  WIDGETS,
  widget,
} from "./support/objects";

const NAME = { namespace: "shop", name: "settings" };
const FORMER = "argosy/argosy.store";
const APPLY = "apply ConfigMap settings";
const DELETE = "delete ConfigMap settings";
const OWNER = widget();
/** A value of a Secret that the handler was given. */
const SECRET = "s3cret".repeat(50);

/** The child that a handler answered for an owner. */
function desired(
  data: Record<string, string> = { key: "1" },
  { update = "apply" as UpdatePolicy, isCreated = false, owner = OWNER } = {},
): DesiredChild {
  const manifest = ownedManifest(configMap({}, { data }), owner, CONFIG_MAPS, identityOf(IDENTITY));
  return { resource: CONFIG_MAPS, update, manifest, ownerUid: owner.metadata.uid, isCreated };
}

/** A ConfigMap of that name which somebody else made. */
function foreign(metadata: Partial<KubernetesObject["metadata"]> = {}): KubernetesObject {
  const managedFields: ManagedFieldsEntry[] = [{ manager: "kubectl", operation: "Update", fieldsV1: {} }];
  return observed(
    "ConfigMap",
    { data: { theirs: "1" } },
    { ...NAME, uid: "foreign-uid", managedFields, ...metadata },
  );
}

describe("ChildWriter", () => {
  let cluster: FakeCluster;
  let store: ChildStore;
  let writer: ChildWriter;
  /** Whether the owner is gone. */
  let isGone: boolean;
  let confirmed: number;

  beforeEach(() => {
    cluster = new FakeCluster();
    ({ store, writer } = childrenIn(cluster));
    [isGone, confirmed] = [false, 0];
  });

  function scope(): WriteScope {
    return {
      client: cluster.client(),
      namespace: "shop",
      masked: (text) => text.replaceAll(SECRET, "***"),
      confirmOwner: async () => {
        confirmed++;
        if (isGone) throw new ObjectGoneError();
      },
    };
  }

  const there = () => cluster.find("ConfigMap", NAME);
  const apply = (child: DesiredChild = desired()) => writer.apply(child, scope());
  const verbOf = (change: ChildChange | undefined) => change?.verb;

  /** Changes what is there, as if somebody else had. */
  function change(metadata: object, content: object = {}): void {
    const object = there();
    assert.ok(object);
    cluster.put({ ...object, ...content, metadata: { ...object.metadata, ...metadata } });
  }

  /** Lets somebody else touch the child before so many of our requests. */
  function touched(times: number): void {
    let left = times;
    cluster.meanwhile = () => {
      if (left-- > 0) change({ annotations: { touched: String(left) } });
    };
  }

  /** What the API server answers where a namespace is wholly gone. */
  function missing(name: string): ApiError {
    const message = `namespaces "${name}" not found`;
    return new ApiError(404, { reason: "NotFound", message, details: { kind: "namespaces", name } }, "PATCH");
  }

  async function failureOf(work: Promise<unknown>): Promise<ReconcileFailure> {
    const error = await work.then(
      () => assert.fail("nothing was refused"),
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof ReconcileFailure, String(error));
    return error;
  }

  describe("applies", () => {
    it("a child that is not there, and then nothing as long as it is as applied", async () => {
      assert.deepEqual(await apply(), { verb: "created", kind: "ConfigMap", ...NAME });
      assert.equal(await apply(), undefined);
      assert.deepEqual(cluster.steps, [APPLY]);
      assert.equal(provenOwner(there() as KubernetesObject, WIDGETS, [MANAGER])?.uid, OWNER.metadata.uid);
    });

    it("nothing onto a child of ours that was not known: the handler is asked again, with that child", async () => {
      await apply();
      ({ store, writer } = childrenIn(cluster));
      await assert.rejects(apply(desired({ key: "2" })), isRace);
      assert.deepEqual(there()?.["data"], { key: "1" });
      assert.deepEqual(
        store.of(OWNER.metadata.uid).map(({ name }) => name),
        ["settings"],
      );
      assert.equal(verbOf(await apply(desired({ key: "2" }))), "patched");
    });

    it("a change, in the version that was seen", async () => {
      await apply();
      assert.equal(verbOf(await apply(desired({ key: "2" }))), "patched");
      assert.deepEqual([there()?.["data"], confirmed], [{ key: "2" }, 0]);
    });

    it("a change after another look, if somebody else wrote meanwhile", async () => {
      await apply();
      touched(1);
      assert.equal(verbOf(await apply(desired({ key: "2" }))), "patched");
      assert.deepEqual(cluster.steps, [APPLY, APPLY, APPLY]);
      assert.deepEqual(there()?.metadata.annotations, { touched: "0" });
    });

    it("nothing more if somebody else writes all the time: the reconcile is tried again", async () => {
      await apply();
      touched(100);
      await assert.rejects(apply(desired({ key: "2" })), (error: ApiError) => error.code === 409);
      assert.equal(cluster.steps.length, 1 + 5);
    });

    it("nothing more if it is refused as a conflict, though nobody has written: that is a failure", async () => {
      const refusal = new ApiError(409, { message: "not today" }, "PATCH");
      cluster.refusals.set(APPLY, refusal);
      const created = await failureOf(apply());
      assert.equal(created.reason, "ChildRefused");
      assert.match(created.message, /ConfigMap shop\/settings: not today/);
      assert.equal(cluster.steps.length, 3);
      cluster.refusals.clear();
      await apply();
      cluster.refusals.set(APPLY, refusal);
      assert.equal((await failureOf(apply(desired({ key: "2" })))).reason, "ChildRefused");
      const details = { kind: "resourcequotas", name: "quota" };
      cluster.refusals.set(APPLY, new ApiError(409, { details }, "PATCH"));
      await assert.rejects(apply(desired({ key: "2" })), (error: ApiError) => error.code === 409);
    });

    it("nothing to a child that is being deleted", async () => {
      await apply();
      change({ finalizers: ["theirs.example.com/x"] });
      const [child] = store.of(OWNER.metadata.uid);
      assert.ok(child);
      await writer.delete(child, scope());
      store.learn(CONFIG_MAPS, [there() as KubernetesObject]);
      assert.equal(await apply(desired({ key: "2" })), undefined);
    });
  });

  describe("touches an object of others that has the name", () => {
    it("never, and says whose it is and what to do", async () => {
      cluster.put(foreign());
      const { reason, message, retryAfterSeconds } = await failureOf(apply());
      assert.equal(reason, "ChildConflict");
      assert.match(
        message,
        /^ConfigMap shop\/settings is not ours: it was made by kubectl\. Rename or delete it/,
      );
      assert.equal(retryAfterSeconds, undefined);
      assert.deepEqual(there()?.["data"], { theirs: "1" });
    });

    it("never, also if that was created between the look and the write", async () => {
      await apply();
      cluster.meanwhile = () => {
        cluster.remove("ConfigMap", NAME);
        cluster.put(foreign());
        cluster.meanwhile = () => {};
      };
      assert.equal((await failureOf(apply(desired({ key: "2" })))).reason, "ChildConflict");
      assert.deepEqual(there()?.["data"], { theirs: "1" });
    });

    it("only if it is offered for adoption", async () => {
      cluster.put(foreign({ annotations: { "argosy.dev/adopt": "true" } }));
      assert.equal(verbOf(await apply()), "adopted");
      assert.equal(confirmed, 1);
      assert.equal(there()?.metadata.uid, "foreign-uid");
    });

    it("never if it has the controller of another owner", async () => {
      const reference = {
        apiVersion: "apps/v1",
        kind: "Deployment",
        name: "web",
        uid: "web-uid",
        controller: true,
      };
      cluster.put(foreign({ ownerReferences: [reference], annotations: { "argosy.dev/adopt": "true" } }));
      assert.match((await failureOf(apply())).message, /it belongs to Deployment web/);
    });

    it("soon again if it is a child of the object that had the owner's name before", async () => {
      await apply();
      const next = widget({ uid: "next-uid" });
      const { reason, retryAfterSeconds } = await failureOf(apply(desired({}, { owner: next })));
      assert.deepEqual([reason, retryAfterSeconds], ["ChildConflict", 1]);
    });

    it("with growing pauses if it is what another operator made for this object", async () => {
      const { apiVersion, kind, metadata } = OWNER;
      const { name, uid } = metadata;
      cluster.put(foreign({ ownerReferences: [{ apiVersion, kind, name, uid, controller: true }] }));
      const { reason, retryAfterSeconds } = await failureOf(apply());
      assert.deepEqual([reason, retryAfterSeconds], ["ChildConflict", undefined]);
    });

    it("never, and names the operator that applied it: it may be this one under a former name", async () => {
      const manifest = ownedManifest(configMap(), widget({ uid: "x" }), CONFIG_MAPS, "argosy.store");
      cluster.put({
        ...foreign(),
        ...manifest,
        metadata: { ...foreign().metadata, managedFields: [entryOf(manifest, FORMER)] },
      });
      assert.match(
        (await failureOf(apply())).message,
        /was called argosy\.store before, add that to "formerNames"/,
      );
    });
  });

  describe("puts back the marks that a child lost", () => {
    /** As `kubectl delete --cascade=orphan` leaves a child. */
    const orphan = () => {
      const [ours] = there()?.metadata.managedFields ?? [];
      const { "f:metadata": meta, ...content } = ours?.fieldsV1 ?? {};
      const { "f:ownerReferences": _, ...left } = (meta ?? {}) as Record<string, unknown>;
      change({
        ownerReferences: [],
        managedFields: [{ ...ours, fieldsV1: { ...content, "f:metadata": left } }],
      });
    };

    it("if its owner is still there", async () => {
      await apply();
      orphan();
      assert.equal(verbOf(await apply(desired({ key: "2" }))), "patched");
      assert.equal(confirmed, 1);
      assert.equal(there()?.metadata.ownerReferences?.[0]?.uid, OWNER.metadata.uid);
    });

    it("not if its owner is gone", async () => {
      await apply();
      orphan();
      isGone = true;
      await assert.rejects(apply(desired({ key: "2" })), ObjectGoneError);
      assert.deepEqual([there()?.metadata.ownerReferences, there()?.["data"]], [[], { key: "1" }]);
    });
  });

  describe("a child that is created once", () => {
    const once = (isCreated: boolean) => desired({ key: "2" }, { update: "never", isCreated });

    it("is created once, and not changed", async () => {
      assert.equal(verbOf(await apply(once(false))), "created");
      change({}, { data: { key: "theirs" } });
      assert.equal(await apply(once(true)), undefined);
      assert.deepEqual(there()?.["data"], { key: "theirs" });
    });

    it("is not created again, nor looked for at each reconcile", async () => {
      cluster.readRefusals.set("get ConfigMap", new Error("nobody should ask"));
      assert.equal(await apply(once(true)), undefined);
      assert.deepEqual(cluster.steps, []);
    });

    it("gets its label back, and nothing else is changed of it", async () => {
      await apply(once(false));
      const { [CHILD_OF_LABEL]: _, ...labels } = there()?.metadata.labels ?? {};
      change({ labels }, { data: { key: "theirs" } });
      const [child] = store.of(OWNER.metadata.uid);
      assert.ok(child);
      // The watch selects by the label.
      store.sink(CONFIG_MAPS, undefined).remove(there() as KubernetesObject);
      assert.equal(verbOf(await apply(once(true))), "patched");
      assert.deepEqual(
        [there()?.["data"], there()?.metadata.labels?.[CHILD_OF_LABEL]],
        [{ key: "theirs" }, "argosy.shop"],
      );
    });

    for (const manager of [FORMER, markManagerOf(FORMER)])
      it(`gets our label for that of a former name of ours (${manager}), and nothing else is changed of it`, async () => {
        ({ store, writer } = childrenIn(cluster, { formerManagers: [FORMER] }));
        const { manifest } = once(false);
        const labels = { ...manifest.metadata.labels, [CHILD_OF_LABEL]: "argosy.store" };
        const metadata = { ...manifest.metadata, labels };
        const child = applied({ ...manifest, metadata, data: { key: "theirs" } }, manager);
        store.learn(CONFIG_MAPS, [cluster.put(child)]);
        assert.equal(verbOf(await apply(once(true))), "patched");
        assert.deepEqual(
          [there()?.["data"], there()?.metadata.labels?.[CHILD_OF_LABEL]],
          [{ key: "theirs" }, "argosy.shop"],
        );
        assert.equal(await apply(once(true)), undefined);
        // It is ours by the new name alone.
        assert.ok(provenOwner(there() as KubernetesObject, WIDGETS, ownManagers(MANAGER, [])));
      });

    it("is looked for if it was lost from the watch, and not created if it is gone", async () => {
      store.doubt(CONFIG_MAPS, NAME);
      assert.equal(await apply(once(true)), undefined);
      assert.deepEqual([cluster.steps, there()], [[], undefined]);
    });

    it("is not created if it goes while its marks are put back", async () => {
      cluster.put({
        ...foreign(),
        metadata: { ...foreign().metadata, annotations: { "argosy.dev/adopt": "true" } },
      });
      store.doubt(CONFIG_MAPS, NAME);
      cluster.meanwhile = () => cluster.remove("ConfigMap", NAME);
      assert.equal(await apply(once(true)), undefined);
      assert.equal(there(), undefined);
    });

    it("is doubted again if it could not be looked at", async () => {
      store.doubt(CONFIG_MAPS, NAME);
      cluster.put(foreign());
      for (let time = 0; time < 2; time++)
        assert.equal((await failureOf(apply(once(true)))).reason, "ChildConflict");
    });
  });

  describe("a child that is recreated", () => {
    const refused = (cause: object) =>
      new ApiError(422, { message: "field is immutable", details: { causes: [cause] } }, "PATCH");
    const immutable = refused({ reason: "FieldValueForbidden", field: "data" });
    const next = () => desired({ key: "2" }, { update: "recreate" });
    let refusals: number;
    let refusal: ApiError;

    beforeEach(async () => {
      await apply(desired({ key: "1" }, { update: "recreate" }));
      [refusals, refusal] = [1, immutable];
      cluster.steps.length = 0;
      cluster.meanwhile = (step) => {
        if (step === APPLY && refusals-- > 0) throw refusal;
      };
    });

    it("is deleted and created if it cannot be changed", async () => {
      assert.equal(verbOf(await apply(next())), "recreated");
      assert.deepEqual(cluster.steps, [APPLY, "try ConfigMap", DELETE, APPLY]);
      assert.deepEqual(there()?.["data"], { key: "2" });
    });

    it("is not deleted if a policy or a webhook forbids the change, and names no field", async () => {
      const message = "ValidatingAdmissionPolicy 'p' denied request: no changes on Fridays";
      for (const each of [refused({ message }), new ApiError(422, { message }, "PATCH")]) {
        [refusals, refusal] = [1, each];
        assert.equal((await failureOf(apply(next()))).reason, "ChildRefused");
        assert.deepEqual([...new Set(cluster.steps)], [APPLY]);
      }
    });

    it("is not deleted if the new one would be refused too", async () => {
      cluster.refusals.set("try ConfigMap", new ApiError(422, { message: "bad" }, "POST"));
      const { reason, message } = await failureOf(apply(next()));
      assert.deepEqual([reason, cluster.steps.includes(DELETE)], ["ChildRefused", false]);
      assert.match(message, /would refuse the new one: bad\. The change was refused: field is immutable/);
    });

    it("is not blamed, nor deleted, if the API server is busy when it is to say whether the new one would be accepted", async () => {
      const busy = new ApiError(429, { message: "later" }, "POST");
      cluster.refusals.set("try ConfigMap", busy);
      await assert.rejects(apply(next()), busy);
      assert.ok(!cluster.steps.includes(DELETE));
    });

    it("is still known if a webhook refuses its deletion by a conflict", async () => {
      refusals = 2;
      cluster.refusals.set(DELETE, new ApiError(409, { message: "not on Fridays" }, "DELETE"));
      assert.equal((await failureOf(apply(next()))).reason, "ChildRefused");
      assert.deepEqual([there()?.["data"], store.size], [{ key: "1" }, 1]);
    });

    it("is only deleted as long as somebody else's finalizer keeps it", async () => {
      change({ finalizers: ["theirs.example.com/x"] });
      store.learn(CONFIG_MAPS, [there() as KubernetesObject]);
      assert.equal(verbOf(await apply(next())), "deleted");
      assert.deepEqual(there()?.["data"], { key: "1" });
    });
  });

  describe("deletes a child", () => {
    async function known() {
      await apply();
      cluster.steps.length = 0;
      const [child] = store.of(OWNER.metadata.uid);
      assert.ok(child);
      return child;
    }

    it("in the version that was seen, and forgets it", async () => {
      assert.equal(verbOf(await writer.delete(await known(), scope())), "deleted");
      assert.deepEqual([there(), store.size], [undefined, 0]);
    });

    it("that is gone: says nothing of it, and forgets it", async () => {
      const child = await known();
      cluster.remove("ConfigMap", NAME);
      assert.equal(await writer.delete(child, scope()), undefined);
      assert.equal(store.size, 0);
    });

    it("after another look, if somebody else wrote meanwhile", async () => {
      const child = await known();
      touched(2);
      assert.equal(verbOf(await writer.delete(child, scope())), "deleted");
      assert.deepEqual(cluster.steps, [DELETE, DELETE, DELETE]);
    });

    it("not if it is no longer ours by then", async () => {
      const child = await known();
      cluster.meanwhile = () => change({ ownerReferences: [], managedFields: [] });
      assert.equal(await writer.delete(child, scope()), undefined);
      assert.ok(there());
    });

    it("not if another object has its name by then", async () => {
      const child = await known();
      cluster.remove("ConfigMap", NAME);
      cluster.put(foreign());
      assert.equal(await writer.delete(child, scope()), undefined);
      assert.equal(there()?.metadata.uid, "foreign-uid");
    });

    it("not if somebody else writes all the time, and still knows it", async () => {
      const child = await known();
      touched(100);
      await assert.rejects(writer.delete(child, scope()), (error: ApiError) => error.code === 409);
      assert.equal(store.of(OWNER.metadata.uid).length, 1);
    });

    it("not if it is refused, also as a conflict although nobody has written, and says so", async () => {
      const child = await known();
      for (const code of [403, 409, 422]) {
        cluster.refusals.set(DELETE, new ApiError(code, { message: "it is needed" }, "DELETE"));
        const { reason, message } = await failureOf(writer.delete(child, scope()));
        assert.equal(reason, "ChildRefused");
        assert.equal(message, "the API server refused to delete ConfigMap shop/settings: it is needed.");
      }
      assert.equal(store.of(OWNER.metadata.uid).length, 1);
    });

    it("not if it cannot be looked at again, and still knows it", async () => {
      const child = await known();
      touched(1);
      cluster.readRefusals.set("get ConfigMap", new ApiError(503, {}, "GET"));
      await assert.rejects(writer.delete(child, scope()));
      assert.equal(store.of(OWNER.metadata.uid).length, 1);
    });

    it("of an object that is gone only if that was its only owner, and marked as such", async () => {
      const child = await known();
      const [ours] = there()?.metadata.ownerReferences ?? [];
      assert.ok(ours);
      change({ ownerReferences: [ours, { ...ours, uid: "second", controller: false }] });
      assert.equal(await writer.deleteOrphan(child, scope()), undefined);
      change({ ownerReferences: [] });
      assert.equal(await writer.deleteOrphan(child, scope()), undefined);
      change({ ownerReferences: [ours] });
      assert.equal(verbOf(await writer.deleteOrphan(child, scope())), "deleted");
    });
  });

  describe("says of what the API server refuses", () => {
    const refused = (code: number, message: string, more: object = {}) => {
      cluster.refusals.set(APPLY, new ApiError(code, { message, ...more }, "PATCH"));
      return failureOf(apply());
    };

    it("what it was, and the remedy for an immutable field", async () => {
      const { reason, message } = await refused(422, "spec.selector: field is immutable");
      assert.equal(reason, "ChildRefused");
      assert.match(
        message,
        /^the API server refused ConfigMap shop\/settings: .*Declare update: recreate or never for ConfigMap in operator\.yaml/,
      );
    });

    it("with the remedy where it quotes all of a template, and in so few words that a condition has room for them", async () => {
      const template = `{"Containers":${"x".repeat(5_000)}}`;
      const { message } = await refused(422, `spec.template: Invalid value: ${template}: field is immutable`);
      assert.match(message, /spec\.template: .*field is immutable\. Declare update: recreate or never/);
      assert.ok(message.length < 1_000, `${message.length} characters`);
    });

    it("without a value of a Secret, also where the middle of what it says is left out", async () => {
      for (let at = 0; at < 600; at += 50) {
        const quoted = `${"x".repeat(at)}${SECRET}${"x".repeat(600 - at)}`;
        const { message } = await refused(422, `spec.template: Invalid value: ${quoted}: field is immutable`);
        assert.ok(!message.includes("s3cret"), message);
      }
    });

    it("that rights are missing in a namespace that was granted", async () => {
      ({ store, writer } = childrenIn(cluster, { isNamespaced: true }));
      const { reason, message } = await refused(403, 'User "runner" cannot patch resource "configmaps"');
      assert.equal(reason, "NamespaceNotGranted");
      assert.match(message, /run `pulumi up --refresh`/);
    });

    it("which right is missing to a child, and where to declare it", async () => {
      const { reason, message } = await refused(403, 'User "runner" cannot patch resource "configmaps"');
      assert.equal(reason, "ChildRefused");
      assert.match(
        message,
        /cannot patch resource "configmaps"\. This right follows from children in operator\.yaml: declare \{ apiVersion: "v1", kind: "ConfigMap" \} there/,
      );
    });

    it("which right is missing to what a role or a binding would grant, and where to declare it", async () => {
      const missing =
        'roles.rbac "x" is forbidden: user "runner" is attempting to grant RBAC permissions not currently held:\n' +
        '{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}\n' +
        '{APIGroups:["apps"], Resources:["deployments"], ResourceNames:["a"], Verbs:["get"]}';
      const role = await refused(403, missing);
      assert.equal(role.reason, "ChildRefused");
      assert.ok(
        role.message.endsWith(
          ' Add this to grants in operator.yaml: [{ apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] }, ' +
            '{ apiGroups: ["apps"], resources: ["deployments"], resourceNames: ["a"], verbs: ["get"] }].',
        ),
        role.message,
      );
      const manifest = { ...desired({}).manifest, roleRef: { kind: "ClusterRole", name: "edit" } };
      cluster.refusals.set(APPLY, new ApiError(403, { message: missing }, "PATCH"));
      const binding = await failureOf(apply({ ...desired({}), manifest }));
      assert.match(binding.message, / Add this to grants in operator\.yaml: \[ClusterRole\/edit\]\.$/);
    });

    it("nothing where the API server is busy, or the object's own namespace goes", async () => {
      const causes = { details: { causes: [{ reason: "NamespaceTerminating" }] } };
      for (const error of [
        new ApiError(429, {}, "PATCH"),
        new ApiError(403, causes, "PATCH"),
        missing("shop"),
      ]) {
        cluster.refusals.set(APPLY, error);
        await assert.rejects(apply(), error);
      }
    });

    it("that another namespace than the object's is not there", async () => {
      cluster.refusals.set(APPLY, missing("away"));
      const child = desired();
      const metadata = { ...child.manifest.metadata, namespace: "away" };
      const failure = await failureOf(apply({ ...child, manifest: { ...child.manifest, metadata } }));
      assert.equal(failure.reason, "ChildRefused");
      assert.match(failure.message, /ConfigMap away\/settings: namespaces "away" not found/);
    });
  });

  describe("under a new name of the operator", () => {
    /** The child as the operator applied it under its former name. */
    const former = () => applied(desired({ key: "1", old: "1" }).manifest, FORMER);
    beforeEach(() => {
      ({ store, writer } = childrenIn(cluster, { formerManagers: [FORMER] }));
      store.learn(CONFIG_MAPS, [cluster.put(former())]);
    });
    const managers = () => there()?.metadata.managedFields?.map(({ manager }) => manager);

    it("takes over what the former name applied, and releases that", async () => {
      assert.equal(verbOf(await apply()), "patched");
      assert.deepEqual(managers(), [MANAGER]);
      assert.equal(await apply(), undefined);
    });

    it("looks again before it releases, if somebody else wrote meanwhile", async () => {
      let requests = 0;
      cluster.meanwhile = () => {
        // Between our apply and the release, the old program applies once more.
        if (++requests === 2) change({ annotations: { touched: "1" } });
      };
      assert.equal(verbOf(await apply()), "patched");
      assert.deepEqual([cluster.steps.length, managers()], [3, [MANAGER]]);
    });
  });

  it("overwrites and deletes nothing that is not ours and was not offered, whatever happens meanwhile", async () => {
    const states = ["absent", "foreign", "forged", "adoptable", "ours", "orphaned", "other's"] as const;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...states),
        fc.array(fc.tuple(fc.constantFrom("before", "never"), fc.constantFrom(...states)), { maxLength: 6 }),
        fc.constantFrom<UpdatePolicy>("apply", "recreate", "never"),
        fc.boolean(),
        async (first, changes, update, isDeleted) => {
          const later = [...changes];
          cluster = new FakeCluster();
          ({ store, writer } = childrenIn(cluster));
          put(first);
          const before = there();
          if (before) store.learn(CONFIG_MAPS, [before]);
          cluster.meanwhile = () => {
            const [when, state] = later.shift() ?? ["never", "absent"];
            if (when === "before") put(state);
          };
          cluster.onOverwrite = (step, object) => {
            const isOffered = object.metadata.annotations?.["argosy.dev/adopt"] === "true";
            const isOurs =
              bearsOurMark(object, [MANAGER]) && provenOwner(object, WIDGETS, [MANAGER])?.uid !== "x";
            assert.ok(
              isOurs || (isOffered && step === APPLY),
              `${step} of ${JSON.stringify(object.metadata)}`,
            );
          };
          const [child] = store.of(OWNER.metadata.uid);
          const work =
            isDeleted && child ? writer.delete(child, scope()) : apply(desired({ key: "2" }, { update }));
          await work.catch((error: unknown) => {
            if (error instanceof assert.AssertionError) throw error;
          });
        },
      ),
      { numRuns: 300 },
    );

    function put(state: (typeof states)[number]): void {
      cluster.remove("ConfigMap", NAME);
      const owner = state === "other's" ? widget({ name: "other", uid: "x" }) : OWNER;
      const { manifest } = desired({ key: "1" }, { owner });
      const entry = entryOf(manifest, MANAGER);
      const { "f:metadata": meta, ...content } = entry.fieldsV1;
      const { "f:ownerReferences": _, ...marks } = meta as Record<string, unknown>;
      const metadata = { ...manifest.metadata, uid: `${state}-uid`, resourceVersion: "0" };
      if (state === "absent") return;
      if (state === "foreign") cluster.put(foreign());
      else if (state === "forged")
        cluster.put(foreign({ labels: metadata.labels ?? {}, managedFields: [{ ...entry, fieldsV1: {} }] }));
      else if (state === "adoptable") cluster.put(foreign({ annotations: { "argosy.dev/adopt": "true" } }));
      else if (state === "orphaned")
        cluster.put({
          ...manifest,
          metadata: {
            ...metadata,
            ownerReferences: [],
            managedFields: [{ ...entry, fieldsV1: { ...content, "f:metadata": marks as never } }],
          },
        });
      else cluster.put({ ...manifest, metadata: { ...metadata, managedFields: [entry] } });
    }
  });
});
