import assert from "node:assert/strict";
import type { ReconcileFailure } from "../../runtime/base/failure";
import { identityOf, OWNER_ANNOTATION, OWNER_UID_LABEL } from "../../runtime/base/names";
import type { KubernetesObject, Manifest } from "../../runtime/base/objects";
import type { Resource } from "../../runtime/base/resource";
import { ApiError } from "../../runtime/kubernetes/errors";
import type { ChildStore } from "../../runtime/observe/childStore";
import { ownedManifest } from "../../runtime/observe/marks";
import type { Operator } from "../../runtime/operator/definition";
import { memoryOf } from "../../runtime/remember/memory";
import type { ChildChange } from "../../runtime/write/childWriter";
import { namespacesLeft, unlessTheyMayStay } from "../../runtime/write/refusals";
import { Sweep } from "../../runtime/write/sweep";
import { failureOf } from "./support/failures";
import { childrenIn } from "./support/fakeChildren";
import { FakeCluster } from "./support/fakeCluster";
import {
  applied as appliedBy,
  CONFIG_MAPS,
  entryOf,
  IDENTITY,
  MANAGER,
  namespace,
  operator,
  widget,
} from "./support/objects";

const SECRETS: Resource = { apiVersion: "v1", kind: "Secret", plural: "secrets", namespaced: true };
const GADGETS: Resource = {
  apiVersion: "example.com/v1",
  kind: "Gadget",
  plural: "gadgets",
  namespaced: true,
};
/** Of an object that is being deleted and that another controller holds. */
const HELD = { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["example.com/x"] };
const FORBIDDEN = new ApiError(
  403,
  { message: 'secrets is forbidden: User "runner" cannot list resource "secrets"' },
  "GET",
);
const DELETION_FORBIDDEN = new ApiError(
  403,
  { message: 'configmaps "far" is forbidden: User "runner" cannot delete resource "configmaps"' },
  "DELETE",
);

describe("Sweep", () => {
  let cluster: FakeCluster;
  let store: ChildStore;
  let sweep: Sweep;

  beforeEach(() => {
    cluster = new FakeCluster();
    sweep = sweepOf();
  });

  /** A sweep of an operator that declares ConfigMaps, or these kinds. */
  function sweepOf(more: Partial<Operator> = {}, childResources = [CONFIG_MAPS]): Sweep {
    const { store: children, writer } = childrenIn(cluster);
    store = children;
    return new Sweep({ operator: operator(more), childResources, children: store, writer });
  }

  /** A custom resource that had children of these kinds. */
  const owner = (...kinds: string[]) => widget({}, { status: { argosy: { kinds } } });

  /** Puts a child there that we applied. */
  function applied(
    name: string,
    { kind = "ConfigMap", namespace = "shop", of = owner(), manager = MANAGER } = {},
  ) {
    const resource = [SECRETS, GADGETS].find((each) => each.kind === kind) ?? CONFIG_MAPS;
    const child = { apiVersion: resource.apiVersion, kind, metadata: { name, namespace } };
    const manifest = ownedManifest(child, of, resource, identityOf(IDENTITY));
    return cluster.put(appliedBy(manifest, manager, { uid: `${name}-uid` }));
  }

  const there = (kind = "ConfigMap") => cluster.ofKind(kind).map(({ metadata }) => metadata.name);

  describe("of kinds that are no longer declared", () => {
    const object = owner("v1/ConfigMap", "v1/Secret");
    const run = async (of: KubernetesObject = object) => {
      const changes: ChildChange[] = [];
      left = await sweep.deleteUndeclared(cluster.client(), of, memoryOf(of).kinds, changes);
      return changes;
    };
    /** The kinds of which children may be left. */
    let left: ReadonlyMap<string, ReconcileFailure>;
    const assertSecretsLeft = async (message: RegExp) => {
      assert.deepEqual([await run(), [...left.keys()]], [[], ["v1/Secret"]]);
      assert.equal(left.get("v1/Secret")?.reason, "ChildRefused");
      assert.match(left.get("v1/Secret")?.message ?? "", message);
    };

    it("deletes the object's children, and no others", async () => {
      applied("ours", { kind: "Secret" });
      applied("other's", { kind: "Secret", of: widget({ name: "other", uid: "other-uid" }) });
      applied("forged", { kind: "Secret", manager: "somebody" });
      applied("declared");
      assert.deepEqual(await run(), [
        { verb: "deleted", apiVersion: "v1", kind: "Secret", namespace: "shop", name: "ours" },
      ]);
      assert.deepEqual([there("Secret"), there()], [["other's", "forged"], ["declared"]]);
    });

    it("forgets one that was still going as soon as it is gone: no watch shows that", async () => {
      const { metadata } = cluster.change(applied("going", { kind: "Secret" }), HELD);
      const known = () => store.of(object.metadata.uid).map(({ name }) => name);
      assert.deepEqual([await run(), known()], [[], ["going"]]);
      cluster.remove("Secret", metadata);
      assert.deepEqual([await run(), known()], [[], []]);
    });

    it("asks for no children of other objects, which look for their own", async () => {
      applied("ours", { kind: "Secret" });
      applied("other's", { kind: "Secret", of: widget({ name: "other", uid: "other-uid" }) });
      const client = cluster.client();
      const given: string[] = [];
      const list = client.list.bind(client);
      client.list = (resource, selection, onPage) =>
        list(resource, selection, (items, version) => {
          given.push(...items.map(({ metadata }) => metadata.name));
          onPage(items, version);
        });
      await sweep.deleteUndeclared(client, object, memoryOf(object).kinds, []);
      assert.deepEqual(given, ["ours"]);
    });

    it("stores no children of other objects, even if a user gave one of them the object's label", async () => {
      const secret = applied("other's", { kind: "Secret", of: widget({ name: "other", uid: "other-uid" }) });
      cluster.change(secret, {
        labels: { ...secret.metadata.labels, [OWNER_UID_LABEL]: object.metadata.uid },
      });
      await run();
      assert.deepEqual(
        [there("Secret"), store.of("other-uid"), store.of(object.metadata.uid)],
        [["other's"], [], []],
      );
    });

    it("deletes them in another version if the API server no longer serves the one of before", async () => {
      applied("ours", { kind: "Gadget" });
      cluster.served.set("example.com/v1", [GADGETS]);
      const changes = await run(owner("example.com/v1beta1/Gadget"));
      assert.deepEqual(changes, [
        { verb: "deleted", apiVersion: "example.com/v1", kind: "Gadget", namespace: "shop", name: "ours" },
      ]);
    });

    it("forgets them as soon as the API server serves the kind in no version", async () => {
      cluster.change(applied("going", { kind: "Gadget" }), HELD);
      const of = owner("example.com/v1beta1/Gadget");
      const known = () => store.of(of.metadata.uid).map(({ name }) => name);
      cluster.served.set("example.com/v1", [GADGETS]);
      assert.deepEqual([await run(of), known()], [[], ["going"]]);
      cluster.served.clear();
      assert.deepEqual([await run(of), known()], [[], []]);
    });

    it("fails if the API server does not say in which versions it serves the kind", async () => {
      const away = new ApiError(503, {}, "GET");
      const client = cluster.client();
      client.read = async () => Promise.reject(away);
      await assert.rejects(sweep.deleteUndeclared(client, object, ["v1/Secret"], []), away);
    });

    it("says what is left, and the remedy, if the runner may not list or delete the kind any more", async () => {
      cluster.put(namespace("shop"));
      for (const refusals of [cluster.readRefusals, cluster.refusals]) {
        applied("ours", { kind: "Secret" });
        refusals.set("list Secret", FORBIDDEN).set("delete Secret ours", FORBIDDEN);
        await assertSecretsLeft(
          /children of kind Secret \(v1\).*Declare \{ apiVersion: "v1", kind: "Secret", retired: true \}/,
        );
        refusals.clear();
      }
    });

    describe("where rights are granted namespace by namespace", () => {
      beforeEach(() => {
        sweep = sweepOf({ namespaces: ["shop"] });
        applied("ours", { kind: "Secret" });
        cluster.readRefusals.set("list Secret in shop", FORBIDDEN);
      });

      it("says what is left in the object's own namespace too", async () => {
        cluster.put(namespace("shop"));
        await assertSecretsLeft(/kind Secret \(v1\) in namespace shop,.*retired: true/);
      });

      it("goes on if that namespace is being deleted, or is gone", async () => {
        cluster.put(namespace("shop", { deletionTimestamp: "2026-01-01T00:00:00Z" }));
        assert.deepEqual([await run(), left.size], [[], 0]);
        cluster.remove("Namespace", { name: "shop" });
        assert.deepEqual([await run(), left.size], [[], 0]);
      });
    });

    it("leaves a child alone that is being deleted already", async () => {
      cluster.change(applied("ours", { kind: "Secret" }), { deletionTimestamp: "2026-01-01T00:00:00Z" });
      assert.deepEqual([await run(), cluster.steps], [[], []]);
    });
  });

  describe("of an object that goes", () => {
    let changes: ChildChange[];
    const run = async (of: KubernetesObject = owner()) => {
      changes = [];
      await sweep.deleteElsewhere(cluster.client(), of, memoryOf(of), changes);
      return changes;
    };

    /** Why some of its children may be left; empty if none may. */
    const whyLeft = async (of: KubernetesObject = owner()) =>
      (await sweep.deleteElsewhere(cluster.client(), of, memoryOf(of), []))?.message ?? "";

    it("deletes the children in other namespaces, also those that the store does not know, and of undeclared kinds", async () => {
      applied("near");
      applied("secret", { kind: "Secret", namespace: "elsewhere" });
      applied("far", { namespace: "elsewhere" });
      applied("farther", { namespace: "far-away" });
      assert.equal(store.size, 0);
      assert.deepEqual(
        (await run(owner("v1/Secret"))).map(({ namespace, name }) => `${namespace}/${name}`).sort(),
        ["elsewhere/far", "elsewhere/secret", "far-away/farther"],
      );
      assert.deepEqual(there(), ["near"]);
    });

    it("fails if the API server says that it serves a version, and has no list in it", async () => {
      sweep = sweepOf({}, [GADGETS]);
      const unserved = new ApiError(404, {}, "GET");
      cluster.readRefusals.set("list Gadget", unserved);
      cluster.served.set("example.com/v1", [GADGETS]);
      await assert.rejects(run(), unserved);
      cluster.served.clear();
      assert.deepEqual(await run(), []);
    });

    it("leaves a child alone that is being deleted already", async () => {
      cluster.change(applied("far", { namespace: "elsewhere" }), {
        deletionTimestamp: "2026-01-01T00:00:00Z",
      });
      assert.deepEqual([await run(), cluster.steps], [[], []]);
    });

    for (const [what, labels, annotations] of [
      ["the label with its owner's uid", [OWNER_UID_LABEL], []],
      ["the annotation with its owner's name", [], [OWNER_ANNOTATION]],
    ] as const) {
      it(`deletes a child that has lost ${what}, even if another client writes it before the deletion`, async () => {
        const { metadata, ...content } = applied("far", { namespace: "elsewhere" });
        const without = (map: Record<string, string> = {}, keys: readonly string[]) =>
          Object.fromEntries(Object.entries(map).filter(([key]) => !keys.includes(key)));
        const stripped = {
          ...metadata,
          labels: without(metadata.labels, labels),
          annotations: without(metadata.annotations, annotations),
        };
        const { managedFields: _, ...applies } = stripped;
        const managedFields = [entryOf({ ...content, metadata: applies } as Manifest, MANAGER)];
        cluster.put({ ...content, metadata: { ...stripped, managedFields } });
        cluster.beforeRequest = () => {
          cluster.beforeRequest = () => {};
          cluster.put(cluster.find("ConfigMap", { namespace: "elsewhere", name: "far" }) as KubernetesObject);
        };
        assert.equal((await run()).length, 1);
        assert.deepEqual(there(), []);
      });
    }

    it("says that children may be left of a kind that the runner may not list any more, and deletes the others", async () => {
      applied("far", { namespace: "elsewhere" });
      applied("secret", { kind: "Secret", namespace: "elsewhere" });
      cluster.readRefusals.set("list Secret", FORBIDDEN);
      assert.match(await whyLeft(owner("v1/Secret")), /children of kind Secret.*retired: true/);
      assert.deepEqual(there(), []);
    });

    it("says that children may be left that the runner may not delete any more, and deletes the others", async () => {
      applied("far", { namespace: "elsewhere" });
      applied("farther", { namespace: "elsewhere" });
      cluster.refusals.set("delete ConfigMap far", DELETION_FORBIDDEN);
      cluster.put(namespace("elsewhere"));
      assert.match(await whyLeft(), /children of kind ConfigMap \(v1\), which .* may not list or delete/);
      assert.deepEqual(there(), ["far"]);
    });

    it("deletes no copy of a child in the object's namespace that a backup has restored into another one", async () => {
      // With its managedFields, and without its owner references.
      const { metadata, ...content } = applied("near");
      const { ownerReferences: _, ...restored } = metadata;
      cluster.put({ ...content, metadata: { ...restored, namespace: "elsewhere", uid: "copy-uid" } });
      assert.deepEqual(await run(), []);
      assert.deepEqual(there(), ["near", "near"]);
    });

    it("deletes nothing of others that has the label with the object's uid", async () => {
      applied("forged", { namespace: "elsewhere", manager: "somebody" });
      assert.deepEqual(await run(), []);
      assert.deepEqual(there(), ["forged"]);
    });

    describe("where rights are granted namespace by namespace", () => {
      const namespaceOf = (metadata: Parameters<typeof namespace>[1]) =>
        cluster.put(namespace("elsewhere", metadata));
      beforeEach(() => {
        sweep = sweepOf({ namespaces: ["shop", "elsewhere"] });
        applied("far", { namespace: "elsewhere" });
        cluster.readRefusals.set("list ConfigMap in elsewhere", FORBIDDEN);
      });

      it("says if one was taken away, since children may be left there, and deletes those elsewhere", async () => {
        sweep = sweepOf({ namespaces: ["shop", "elsewhere", "far-away"] });
        applied("farther", { namespace: "far-away" });
        namespaceOf({});
        assert.match(await whyLeft(), /may have children in namespace elsewhere,/);
        assert.deepEqual(there(), ["far"]);
        // It cannot be known whether that namespace is being deleted.
        cluster.readRefusals.set("get Namespace", FORBIDDEN);
        assert.match(await whyLeft(), /namespace elsewhere,/);
      });

      it("says in words what to do where a namespace is not listed any more, and where it is", () => {
        const { message: unlisted } = namespacesLeft(["a", "b"], ["b"]);
        assert.match(unlisted, /had children in namespace a, which "namespaces" no longer lists/);
        const { reason, message: listed } = namespacesLeft(["b"], ["b"]);
        assert.equal(reason, "NamespaceNotGranted");
        assert.match(
          listed,
          /may have children in namespace b, where the runner may not list any.*pulumi up --refresh/,
        );
        for (const left of [["a", "b"], ["b"]])
          assert.match(unlessTheyMayStay(namespacesLeft(left, ["b"])).message, /skip-finalize: "true"/);
      });

      it("goes on if that namespace is being deleted, or is gone", async () => {
        namespaceOf({ deletionTimestamp: "2026-01-01T00:00:00Z" });
        assert.deepEqual(await run(), []);
        cluster.remove("Namespace", { name: "elsewhere" });
        assert.deepEqual(await run(), []);
      });

      it("goes on if a child is known there, of which no watch has shown that it went with the namespace", async () => {
        const far = cluster.find("ConfigMap", { namespace: "elsewhere", name: "far" });
        store.learn(CONFIG_MAPS, [far as KubernetesObject]);
        cluster.refusals.set("delete ConfigMap far", DELETION_FORBIDDEN);
        namespaceOf({ deletionTimestamp: "2026-01-01T00:00:00Z" });
        assert.deepEqual(await run(), []);
        cluster.remove("Namespace", { name: "elsewhere" });
        assert.deepEqual(await run(), []);
        cluster.readRefusals.clear();
        namespaceOf({});
        assert.match(await whyLeft(), /kind ConfigMap .* in namespace elsewhere, .*may not list or delete/);
      });

      it("goes on if that is the object's own namespace: the object is being deleted with it", async () => {
        cluster.readRefusals.clear();
        cluster.readRefusals.set("list ConfigMap in shop", FORBIDDEN);
        assert.equal((await run()).length, 1);
      });

      it("says where children may be left, since the namespace is no longer listed and does not go", async () => {
        sweep = sweepOf({ namespaces: ["shop"] });
        const of = widget(
          {},
          { status: { argosy: { uid: "widget-uid", kinds: [], namespaces: ["elsewhere", "shop"] } } },
        );
        namespaceOf({});
        assert.match(await whyLeft(of), /had children in namespace elsewhere,/);
        cluster.readRefusals.set("get Namespace", FORBIDDEN);
        assert.match(await whyLeft(of), /had children in namespace elsewhere,/);
        cluster.readRefusals.clear();
        namespaceOf({ deletionTimestamp: "2026-01-01T00:00:00Z" });
        assert.equal(await whyLeft(of), "");
      });
    });

    it("fails if one may not be deleted, deletes the others, and has them in its changes", async () => {
      for (const name of ["a", "b", "c"]) applied(name, { namespace: "elsewhere" });
      cluster.refusals.set("delete ConfigMap b", new ApiError(422, { message: "still needed" }, "DELETE"));
      assert.match((await failureOf(run())).message, /ConfigMap elsewhere\/b: still needed/);
      assert.deepEqual([changes.map(({ name }) => name), there()], [["a", "c"], ["b"]]);
    });

    it("fails if another client writes such a child all the time: it would be left for ever", async () => {
      applied("far", { namespace: "elsewhere" });
      cluster.beforeRequest = () =>
        cluster.put(cluster.find("ConfigMap", { namespace: "elsewhere", name: "far" }) as KubernetesObject);
      await assert.rejects(run(), (error: ApiError) => error.code === 409);
      assert.deepEqual(there(), ["far"]);
    });
  });
});
