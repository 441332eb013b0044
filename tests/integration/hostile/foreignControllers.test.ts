import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { CHILD_OF_LABEL, OWNER_ANNOTATION, OWNER_UID_LABEL } from "../../../runtime/base/names";
import type { JsonObject, KubernetesObject, Manifest } from "../../../runtime/base/objects";
import { ownerMark } from "../../../runtime/observe/ownership";
import { always, eventually, whileRepeating } from "../../support/eventually";
import { configMap, inNamespace, type Metadata } from "../support/manifests";
import { answering, useOperator } from "../support/useOperator";

/** The owner reference of a controller to its custom resource. */
function controlledBy({ apiVersion, kind, metadata }: KubernetesObject): Metadata {
  const { name, uid } = metadata;
  return { ownerReferences: [{ apiVersion, kind, name, uid, controller: true }] };
}

describe("where other controllers work on the same objects", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "foreigners" });
  const here = (name: string, data = {}, metadata: Metadata = {}) =>
    inNamespace(configMap(name, data, metadata), bench.namespace);
  const assertUntouched = async (before: KubernetesObject) =>
    assert.deepEqual(await bench.api.get(before), before);
  /** Has the object reconciled several times, and children of it pruned. */
  const workOn = async (object: KubernetesObject) => {
    await bench.reconcileAgain(object);
    await bench.applied(object.metadata.name, answering(configMap("own", { step: "2" })));
    await bench.applied(object.metadata.name, answering());
    await bench.api.assertGone(here("own"));
  };
  /** The marks of a child elsewhere. */
  const marksOf = (object: KubernetesObject): Metadata => ({
    labels: { ...bench.operator.childLabels, [OWNER_UID_LABEL]: object.metadata.uid },
    annotations: { [OWNER_ANNOTATION]: ownerMark(object, object.metadata) },
  });

  it("an object that a backup brings back with the status of its former life gets a status of its own", async () => {
    const object = await bench.applied("restored", answering(configMap("restored", { step: "1" })));
    await bench.api.applyStatus(object, { observedGeneration: 57 });
    // Ready at the generation that the object has.
    await bench.applied("restored", answering(configMap("restored", { step: "2" })));
    const { status } = await bench.api.get(object);
    assert.equal((status as { observedGeneration?: number }).observedGeneration, 2);
  });

  it("one that gives a child elsewhere another owner's name cannot make that owner delete it", async () => {
    const elsewhere = await bench.api.newNamespace("foreigners-elsewhere");
    const far = inNamespace(configMap("far"), elsewhere);
    await bench.applied("owner", answering(far));
    const other = await bench.applied("other", answering(configMap("other")));
    await bench.idle();
    const { metadata } = await bench.api.get(far);
    await bench.api.annotate(far, { [OWNER_ANNOTATION]: ownerMark(other, other.metadata) });
    await bench.applied("other", answering(configMap("other", { step: "2" })));
    await eventually(async () => {
      const now = (await bench.api.get(far)).metadata;
      assert.deepEqual([now.uid, now.annotations], [metadata.uid, metadata.annotations]);
    });
  });

  it("one that takes the label of a child away each time is told of on the object, and the child is kept", async () => {
    const object = await bench.applied("stripped", answering(configMap("stripped")));
    const { uid } = (await bench.api.get(here("stripped"))).metadata;
    const contested = async () =>
      (await bench.eventsOf(object)).filter(({ reason }) => reason === "ChildContested");
    const strip = async () => {
      await bench.api.patch(here("stripped"), { metadata: { labels: { [CHILD_OF_LABEL]: null } } });
      await sleep(100);
    };
    await whileRepeating(strip, () => eventually(async () => assert.equal((await contested()).length, 1)));
    assert.match((await contested())[0]?.note ?? "", /removes its label argosy\.dev\/child-of/);
    await eventually(async () => {
      const { metadata } = await bench.api.get(here("stripped"));
      assert.deepEqual([metadata.uid, metadata.labels?.[CHILD_OF_LABEL]], [uid, "argosy.foreigners"]);
    });
  });

  for (const [what, name, make] of [
    [
      "what another controller posts as controlled by the object is neither a child nor deleted",
      "posted",
      (object) => bench.api.create(here("theirs", { of: "others" }, controlledBy(object))),
    ],
    [
      "what another controller applies as controlled by the object is neither a child nor deleted",
      "applied",
      (object) => {
        const marked = { ...controlledBy(object), labels: bench.operator.childLabels };
        return bench.api.apply(here("theirs", { of: "others" }, marked));
      },
    ],
    [
      "a forged entry of our field manager that owns no mark makes no object a child",
      "forged",
      async (object) => {
        await bench.api.create(here("theirs", { of: "others" }, controlledBy(object)));
        return bench.api.apply(here("theirs", { forged: "yes" }), bench.operator.fieldManager);
      },
    ],
  ] as readonly (readonly [string, string, (object: KubernetesObject) => Promise<KubernetesObject>])[])
    it(what, async () => {
      const object = await bench.applied(name, answering(configMap("own")));
      const foreign = await make(object);
      await workOn(object);
      await always(() => assertUntouched(foreign));
      assert.deepEqual(bench.childrenShown(name), ["own"]);
    });

  it("what another controller has created as controlled by the object is not taken over without adoption", async () => {
    const object = await bench.applied("takes", answering(configMap("own")));
    const foreign = await bench.api.create(here("wanted", { of: "others" }, controlledBy(object)));
    await bench.applyObject("takes", answering(configMap("wanted", { of: "ours" })));
    await bench.failed(object, "ChildConflict");
    await assertUntouched(foreign);
  });

  it("what one has made is taken with all its fields if its entry of managedFields is handed over", async () => {
    const object = await bench.applied("heir", answering(configMap("own")));
    const foreign = await bench.api.create(
      here(
        "inherited",
        { of: "others", left: "over" },
        { ...controlledBy(object), labels: { theirs: "too" } },
      ),
    );
    const taken = { manager: bench.operator.fieldManager, operation: "Apply" };
    const made = foreign.metadata.managedFields as JsonObject[];
    const managedFields = made.map((entry) => ({ ...entry, ...taken }));
    await bench.api.patch(foreign, { metadata: { managedFields } });
    await bench.applied("heir", answering(configMap("own"), configMap("inherited", { of: "ours" })));
    const { metadata, data } = await bench.api.get(foreign);
    assert.equal(metadata.uid, foreign.metadata.uid);
    assert.deepEqual(data, { of: "ours" });
    assert.equal(metadata.labels?.["theirs"], undefined);
  });

  it("nor does one elsewhere, when the object is deleted too", async () => {
    const elsewhere = await bench.api.newNamespace("elsewhere");
    const far = (name: string, data = {}, metadata: Metadata = {}) =>
      inNamespace(configMap(name, data, metadata), elsewhere);
    const object = await bench.applied("forged-far", answering(far("own")));
    await bench.api.create(far("theirs", { of: "others" }, marksOf(object)));
    const foreign = await bench.api.apply(far("theirs", { forged: "yes" }), bench.operator.fieldManager);
    await bench.reconcileAgain(object);
    assert.deepEqual(bench.childrenShown("forged-far"), ["own"]);
    await bench.api.delete(object);
    await eventually(() => bench.api.assertGone(object));
    await bench.api.assertGone(far("own"));
    await assertUntouched(foreign);
  });

  it("a complete forgery harms no other object", async () => {
    const elsewhere = await bench.api.newNamespace("elsewhere");
    const own: Manifest[] = [configMap("near"), inNamespace(configMap("far"), elsewhere)];
    const object = await bench.applied("victim", answering(...own));
    const bystander = await bench.api.create(inNamespace(configMap("bystander"), elsewhere));
    const before = await Promise.all([here("near"), ...own.slice(1)].map((child) => bench.api.get(child)));
    const forged = inNamespace(configMap("forged", {}, marksOf(object)), elsewhere);
    await bench.api.apply(forged, bench.operator.fieldManager);
    await bench.reconcileAgain(object);
    await bench.ready(object);
    for (const untouched of [bystander, ...before]) await assertUntouched(untouched);
  });
});
