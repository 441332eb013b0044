import assert from "node:assert/strict";
import type { KubernetesObject } from "../../runtime/base/objects";
import { ownerMark } from "../../runtime/observe/ownership";
import { always, eventually } from "../support/eventually";
import { CLUSTER_ROLE_GRANTS, clusterRole, configMap, inNamespace } from "./support/manifests";
import { answering, useOperator } from "./support/useOperator";

describe("the engine owns children", function () {
  this.timeout(60_000);
  const bench = useOperator({
    name: "ownership-test",
    children: ["v1/ConfigMap", "rbac.authorization.k8s.io/v1/ClusterRole"],
    grants: CLUSTER_ROLE_GRANTS,
  });
  const here = (name: string) => inNamespace(configMap(name), bench.namespace);
  const assertUntouched = async (before: KubernetesObject) =>
    assert.deepEqual(await bench.api.get(before), before);

  it("by a controller owner reference with the object's uid", async () => {
    const object = await bench.applied("referenced", answering(configMap("referenced")));
    const { apiVersion, kind, metadata } = object;
    const child = await bench.api.get(here("referenced"));
    assert.deepEqual(child.metadata.ownerReferences, [
      {
        apiVersion,
        kind,
        name: "referenced",
        uid: metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
    assert.equal(child.metadata.labels?.["argosy.dev/child-of"], "argosy.ownership-test");
    assert.deepEqual(object.metadata.finalizers ?? [], [], "needs no finalizer");
  });

  it("by a label with the object's uid where Kubernetes allows no reference", async () => {
    const elsewhere = await bench.api.newNamespace("elsewhere");
    const role = clusterRole(`${bench.namespace}-labelled`);
    const far = inNamespace(configMap("labelled"), elsewhere);
    const object = await bench.applied("labelled", answering(role, far));
    const { metadata } = object;
    for (const child of [role, far]) {
      const { labels, annotations, ownerReferences } = (await bench.api.get(child)).metadata;
      assert.equal(labels?.["argosy.dev/owner-uid"], metadata.uid);
      assert.equal(annotations?.["argosy.dev/owner"], ownerMark(object, metadata));
      assert.equal(ownerReferences, undefined);
    }
    await bench.api.delete(far);
    await eventually(() => bench.api.get(far));
    await bench.api.delete(role);
    await eventually(() => bench.api.get(role));
  });

  it("and refuses an object of that name that is not ours, which stays untouched, as do its siblings", async () => {
    const foreign = await bench.api.create(inNamespace(configMap("taken", { theirs: "1" }), bench.namespace));
    const object = await bench.applyObject("taken", answering(configMap("taken", { ours: "1" })));
    const { message } = await bench.failed(object, "ChildConflict");
    assert.match(message, /ConfigMap .*taken does not belong to this object/);
    assert.match(message, /argosy.dev\/adopt=true/);
    await assertUntouched(foreign);
    await bench.api.delete(object);
    await always(() => assertUntouched(foreign));
  });

  it("and refuses a child that is owned by another custom resource, annotated for adoption or not", async () => {
    await bench.applied("first", answering(configMap("wanted", { of: "first" })));
    const object = await bench.applyObject("second", answering(configMap("wanted", { of: "second" })));
    const { message } = await bench.failed(object, "ChildConflict");
    assert.match(
      message,
      /it belongs to OwnershipTest \S+\/first\. .*remove the object's current owner first/,
    );
    await bench.api.annotate(here("wanted"), { "argosy.dev/adopt": "true" });
    await bench.reconcileAgain(object);
    await bench.failed(object, "ChildConflict");
    assert.deepEqual((await bench.api.get(here("wanted")))["data"], { of: "first" });
  });

  it("and says what to do where two objects exchange the names of their children", async () => {
    await bench.applied("one", answering(configMap("x", { of: "one" })));
    await bench.applied("other", answering(configMap("y", { of: "other" })));
    const objects = [
      await bench.applyObject("one", answering(configMap("y", { of: "one" }))),
      await bench.applyObject("other", answering(configMap("x", { of: "other" }))),
    ];
    for (const object of objects) {
      const { message } = await bench.failed(object, "ChildConflict");
      assert.match(
        message,
        /If that object waits for a child of this one, delete one of the two children\.$/,
      );
    }
    await bench.api.delete(here("y"));
    for (const object of objects) await bench.ready(object);
    assert.deepEqual((await bench.api.get(here("x")))["data"], { of: "other" });
    assert.deepEqual((await bench.api.get(here("y")))["data"], { of: "one" });
  });

  it("and takes back its own child whose owner reference was taken away", async () => {
    const { metadata } = await bench.applied("stripped", answering(configMap("stripped")));
    await bench.api.patch(here("stripped"), { metadata: { ownerReferences: [] } });
    await eventually(async () => {
      const { ownerReferences } = (await bench.api.get(here("stripped"))).metadata;
      assert.equal(ownerReferences?.[0]?.uid, metadata.uid);
    });
  });

  it("and prunes a child that has another owner too: only the controller decides", async () => {
    const other = await bench.api.apply(inNamespace(configMap("co-owner"), bench.namespace));
    const object = await bench.applied("co-owned", answering(configMap("co-owned")));
    const child = inNamespace(configMap("co-owned"), bench.namespace);
    const { ownerReferences = [] } = (await bench.api.get(child)).metadata;
    const { apiVersion, kind } = other;
    const second = { apiVersion, kind, name: "co-owner", uid: other.metadata.uid };
    await bench.api.patch(child, { metadata: { ownerReferences: [...ownerReferences, second] as never } });
    await bench.idle();
    assert.equal((await bench.api.get(child)).metadata.ownerReferences?.length, 2);
    await bench.applyObject(object.metadata.name, answering());
    await eventually(() => bench.api.assertGone(child));
  });
});
