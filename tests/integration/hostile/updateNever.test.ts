import assert from "node:assert/strict";
import type { JsonObject, Manifest } from "../../../runtime/base/objects";
import { ownerMark } from "../../../runtime/observe/ownership";
import { always, eventually } from "../../support/eventually";
import { configMap, inNamespace, job } from "../support/manifests";
import { answering, statusOf, useOperator } from "../support/useOperator";

describe('a Job that is created once (update: "never")', function () {
  this.timeout(60_000);
  const bench = useOperator({
    name: "once",
    children: [{ apiVersion: "batch/v1", kind: "Job", update: "never" }, "v1/ConfigMap"],
  });
  const here = (name: string) => inNamespace(job(name, "example.com/worker:1"), bench.namespace);
  const answer = (name: string, step: string) =>
    answering(job(name, "example.com/worker:1"), configMap(name, { step }));

  it("is not created again when its time to live is over", async () => {
    await bench.applyObject("expires", answer("expires", "1"));
    const { uid } = (await eventually(() => bench.api.get(here("expires")))).metadata;
    // As the controller of ttlSecondsAfterFinished does it.
    await bench.api.delete(here("expires"), "Foreground");
    await eventually(async () => {
      assert.notEqual((await bench.api.find(here("expires")))?.metadata.uid, uid, "it does not go");
    });
    await always(() => bench.api.assertGone(here("expires")), { forMs: 1_500 });
    await bench.applyObject("expires", answer("expires", "2"));
    await eventually(async () => {
      const map = await bench.api.get(inNamespace(configMap("expires"), bench.namespace));
      assert.deepEqual(map["data"], { step: "2" });
    });
    await always(() => bench.api.assertGone(here("expires")));
  });

  it("gets its label back that another client takes away, and nothing else is changed", async () => {
    await bench.applyObject("stripped", answer("stripped", "1"));
    await eventually(() => bench.api.get(here("stripped")));
    await bench.api.patch(here("stripped"), {
      metadata: { labels: { "argosy.dev/child-of": null, own: "1" } },
    });
    await eventually(async () => {
      const { labels } = (await bench.api.get(here("stripped"))).metadata;
      assert.deepEqual([labels?.["argosy.dev/child-of"], labels?.["own"]], ["argosy.once", "1"]);
    });
  });

  it("gets every mark back that another client takes away or changes, wherever it is", async () => {
    const away = inNamespace(job("marked", "example.com/worker:1"), await bench.api.newNamespace("away"));
    const object = await bench.applyObject("marked", answering(job("marked", "example.com/worker:1"), away));
    const marks = async (child: Manifest) => {
      const { labels, annotations, ownerReferences } = (await bench.api.get(child)).metadata;
      return {
        labels: [labels?.["argosy.dev/child-of"], labels?.["argosy.dev/owner-uid"]],
        annotation: annotations?.["argosy.dev/owner"],
        owners: ownerReferences?.map(({ uid }) => uid),
      };
    };
    const { uid } = object.metadata;
    const labels = ["argosy.once", uid];
    const expected = new Map([
      [here("marked"), { labels, annotation: undefined, owners: [uid] }],
      [away, { labels, annotation: ownerMark(object, object.metadata), owners: undefined }],
    ]);
    for (const [child, every] of expected) {
      await eventually(async () => assert.deepEqual(await marks(child), every));
      for (const change of [
        { labels: { "argosy.dev/owner-uid": null } },
        { labels: { "argosy.dev/owner-uid": "another" } },
        { ownerReferences: null },
        { annotations: { "argosy.dev/owner": null } },
      ]) {
        await bench.api.patch(child, { metadata: change });
        await eventually(async () => assert.deepEqual(await marks(child), every, JSON.stringify(change)));
      }
    }
  });

  it("is created for an object that a backup brings back with the status of its former life", async () => {
    const object = await bench.applyObject("restored", answer("restored", "1"));
    await eventually(() => bench.api.get(here("restored")));
    const status = await eventually(async () => {
      const now = statusOf(await bench.api.get(object)) as { argosy?: { created?: string[] } };
      assert.equal(now.argosy?.created?.length, 1);
      return now as JsonObject;
    });
    await bench.api.delete(object);
    await eventually(() => bench.api.assertGone(object));
    await eventually(() => bench.api.assertGone(here("restored")));
    const again = bench.operator.object("restored", answer("restored", "1"), bench.namespace);
    const paused = { ...again.metadata, annotations: { "argosy.dev/paused": "true" } };
    await bench.api.apply({ ...again, metadata: paused });
    await bench.api.applyStatus(again, status);
    await bench.api.annotate(again, { "argosy.dev/paused": null });
    const { uid } = (await eventually(() => bench.api.get(here("restored")))).metadata;
    // From now on it is this object that has had it.
    await bench.idle();
    await bench.api.delete(here("restored"));
    await bench.applyObject("restored", answer("restored", "2"));
    await eventually(async () => {
      const map = await bench.api.get(inNamespace(configMap("restored"), bench.namespace));
      assert.deepEqual(map["data"], { step: "2" });
    });
    await always(async () => {
      const found = await bench.api.find(here("restored"));
      assert.ok(found === undefined || found.metadata.uid === uid, "it is created again");
    });
  });

  it("leaves its name to another client's object after it has gone, and the rest of the answer is applied", async () => {
    await bench.applyObject("replaced", answer("replaced", "1"));
    await eventually(() => bench.api.get(here("replaced")));
    await bench.idle();
    await bench.api.delete(here("replaced"), "Foreground");
    await eventually(() => bench.api.assertGone(here("replaced")));
    const theirs = await bench.api.create(
      inNamespace(job("replaced", "example.com/theirs:1"), bench.namespace),
    );
    await bench.applied("replaced", answer("replaced", "2"));
    const map = await bench.api.get(inNamespace(configMap("replaced"), bench.namespace));
    assert.deepEqual(map["data"], { step: "2" });
    const { metadata } = await bench.api.get(here("replaced"));
    assert.deepEqual([metadata.uid, metadata.labels], [theirs.metadata.uid, theirs.metadata.labels]);
  });

  it("of another name is created", async () => {
    await bench.applyObject("renews", answer("renews-1", "1"));
    await eventually(() => bench.api.get(here("renews-1")));
    await bench.applyObject("renews", answer("renews-2", "2"));
    await eventually(() => bench.api.get(here("renews-2")));
    await eventually(() => bench.api.assertGone(here("renews-1")));
  });
});
