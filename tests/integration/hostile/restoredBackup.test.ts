import assert from "node:assert/strict";
import { ADOPT_ANNOTATION } from "../../../runtime/base/names";
import type { JsonObject, KubernetesObject, Manifest } from "../../../runtime/base/objects";
import { eventually } from "../../support/eventually";
import { configMap, inNamespace } from "../support/manifests";
import { answering, useOperator } from "../support/useOperator";

/** What a backup tool restores of a child's metadata. */
interface Restored {
  readonly ownerReferences?: boolean;
  /** As Velero does it: with a patch after the creation, because the API server ignores it there. */
  readonly managedFields?: boolean;
}

describe("where a backup restores a custom resource after its children", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "restored" });

  it("with their managedFields, it takes them over as they are", async () => {
    const { object, uid } = await restore("kept", { managedFields: true });
    await bench.ready(object);
    const child = await bench.api.get(childOf("kept"));
    assert.equal(child.metadata.uid, uid);
    assert.deepEqual(
      child.metadata.ownerReferences?.map((reference) => reference.uid),
      [object.metadata.uid],
    );
  });

  it("with references to its former uid, they are deleted, and created for it", async () => {
    const { object, uid } = await restore("gone", { ownerReferences: true, managedFields: true });
    await eventually(async () => {
      const child = await bench.api.get(childOf("gone"));
      assert.notEqual(child.metadata.uid, uid);
      assert.equal(child.metadata.labels?.["argosy.dev/owner-uid"], object.metadata.uid);
    });
    await bench.ready(object);
  });

  it("with their labels alone, it says that their names are taken, and takes over those that are offered", async () => {
    const { object, uid } = await restore("offered", {});
    await bench.failed(object, "ChildConflict");
    await bench.api.annotate(childOf("offered"), { [ADOPT_ANNOTATION]: "true" });
    await bench.reconcileAgain(object);
    await bench.ready(object);
    assert.equal((await bench.api.get(childOf("offered"))).metadata.uid, uid);
  });

  function childOf(name: string): Manifest {
    return inNamespace(configMap(name, { a: "1" }), bench.namespace);
  }

  /** Backs up an object and its child, deletes both, and restores the child and then the object. */
  async function restore(name: string, { ownerReferences, managedFields }: Restored) {
    const plan = answering(configMap(name, { a: "1" }));
    const before = await bench.applied(name, plan);
    const backup = await bench.api.get(childOf(name));
    await bench.api.delete(before);
    await eventually(() => bench.api.assertGone(childOf(name)));
    const { labels = {} } = backup.metadata;
    const references = ownerReferences && { ownerReferences: backup.metadata.ownerReferences ?? [] };
    const { metadata, ...content } = childOf(name);
    const child = await bench.api.create({ ...content, metadata: { ...metadata, labels, ...references } });
    if (managedFields) await restoreManagedFields(backup);
    return { object: await bench.applyObject(name, plan), uid: child.metadata.uid };
  }

  async function restoreManagedFields({ metadata }: KubernetesObject): Promise<void> {
    const { managedFields } = metadata as unknown as JsonObject;
    const restored = { metadata: { managedFields: managedFields ?? null } };
    // The garbage collector may be faster.
    await bench.api.patch(childOf(metadata.name), restored).catch(() => undefined);
  }
});
