import assert from "node:assert/strict";
import type { KubernetesObject } from "../../runtime/base/objects";
import { always, eventually } from "../support/eventually";
import { configMap, deployment, inNamespace, job, namespace } from "./support/manifests";
import { answering, useOperator } from "./support/useOperator";

describe("the engine applies children", function () {
  this.timeout(60_000);
  const bench = useOperator({
    name: "apply-test",
    children: ["v1/ConfigMap", "v1/Namespace", "apps/v1/Deployment"],
  });
  const here = (name: string) => inNamespace(configMap(name), bench.namespace);
  const dataOf = async (name: string) => (await bench.api.get(here(name)))["data"];
  const changesOf = (name: string) => bench.engine.reportsOf(name).flatMap(({ changes }) => changes);

  it("by server-side apply, as the field manager argosy/<installation>.<operator>", async () => {
    await bench.applied("managed", answering(configMap("managed", { a: "1" })));
    const { managedFields = [] } = (await bench.api.get(here("managed"))).metadata;
    assert.deepEqual(
      managedFields.map(({ manager, operation }) => [manager, operation]),
      [["argosy/argosy.apply-test", "Apply"]],
    );
  });

  it("and a field that is removed from the answer disappears", async () => {
    await bench.applied("shrinks", answering(configMap("shrinks", { stays: "1", goes: "1" })));
    await bench.applied("shrinks", answering(configMap("shrinks", { stays: "1" })));
    assert.deepEqual(await dataOf("shrinks"), { stays: "1" });
  });

  it("and writes nothing where nothing is to be changed", async () => {
    const object = await bench.applied("still", answering(configMap("still", { a: "1" })));
    const { resourceVersion } = (await bench.api.get(here("still"))).metadata;
    const patches = () => bench.engine.metric("argosy_api_requests_total", { method: "PATCH" });
    await bench.idle();
    // To renew the lease is a PATCH too. One of them may come in between, but not each time.
    const sent: number[] = [];
    for (let turn = 0; turn < 3; turn++) {
      const before = await patches();
      await bench.reconcileAgain(object);
      sent.push((await patches()) - before);
    }
    assert.equal((await bench.api.get(here("still"))).metadata.resourceVersion, resourceVersion);
    assert.equal(Math.min(...sent), 0);
    assert.deepEqual(
      changesOf("still").map(({ verb }) => verb),
      ["created"],
    );
  });

  it("and the replicas that an autoscaler sets survive where the handler does not set them", async () => {
    const answer = (image: string) =>
      answering(
        deployment("scaled", {
          template: {
            metadata: { labels: { app: "scaled" } },
            spec: { containers: [{ name: "main", image }] },
          },
        }),
      );
    const object = await bench.applyObject("scaled", answer("example.com/one:1"));
    const child = inNamespace(deployment("scaled"), bench.namespace);
    await eventually(() => bench.api.get(child));
    const { apiVersion, kind, metadata } = child;
    await bench.api.apply({ apiVersion, kind, metadata, spec: { replicas: 3 } }, "autoscaler");
    await bench.applyObject("scaled", answer("example.com/two:1"));
    const ready = await bench.ready(object);
    assert.equal(ready.metadata.generation, 2);
    const { spec } = (await bench.api.get(child)) as KubernetesObject & { spec: { replicas: number } };
    assert.equal(spec.replicas, 3);
    assert.match(JSON.stringify(spec), /example.com\/two:1/);
  });

  it("and a field that is removed from the answer stays as long as another field manager owns it too", async () => {
    await bench.applied("owned", answering(configMap("owned", { stays: "1", common: "1" })));
    await bench.api.apply(inNamespace(configMap("owned", { common: "1" }), bench.namespace));
    await bench.applied("owned", answering(configMap("owned", { stays: "1" })));
    assert.deepEqual(await dataOf("owned"), { stays: "1", common: "1" });
    await bench.api.apply(here("owned"));
    assert.deepEqual(await dataOf("owned"), { stays: "1" });
  });

  it("and labels, annotations and data of other field managers survive", async () => {
    await bench.applied("shared", answering(configMap("shared", { ours: "1" })));
    const labels = { theirs: "label" };
    const annotations = { "example.com/theirs": "annotation" };
    await bench.api.apply(inNamespace(configMap("shared", { theirs: "1" }, { labels }), bench.namespace));
    await bench.api.annotate(here("shared"), annotations);
    await bench.applied("shared", answering(configMap("shared", { ours: "2" })));
    const { metadata, data } = (await bench.api.get(here("shared"))) as KubernetesObject & { data: unknown };
    assert.deepEqual(data, { ours: "2", theirs: "1" });
    assert.equal(metadata.labels?.["theirs"], "label");
    assert.equal(metadata.annotations?.["example.com/theirs"], "annotation");
    assert.deepEqual(
      changesOf("shared").map(({ verb }) => verb),
      ["created", "patched"],
    );
  });

  it("and heals a field of ours that is edited, taken away or taken over", async () => {
    const object = await bench.applied("healed", answering(configMap("healed", { a: "1", b: "1" })));
    const healed = () => eventually(async () => assert.deepEqual(await dataOf("healed"), { a: "1", b: "1" }));
    await bench.api.patch(here("healed"), { data: { a: "edited" } });
    await healed();
    await bench.api.patch(here("healed"), { data: { b: null } });
    await healed();
    await bench.api.apply(inNamespace(configMap("healed", { a: "taken over" }), bench.namespace));
    await healed();
    await bench.api.patch(here("healed"), { metadata: { labels: { "argosy.dev/child-of": null } } });
    await eventually(async () => {
      const { labels } = (await bench.api.get(here("healed"))).metadata;
      assert.equal(labels?.["argosy.dev/child-of"], "argosy.apply-test");
    });
    await bench.ready(object);
  });

  it("and heals replicas that are set by the scale subresource", async () => {
    await bench.applied("rescaled", answering(deployment("rescaled", { replicas: 1 })));
    const child = inNamespace(deployment("rescaled"), bench.namespace);
    await bench.api.scale(child, 2);
    await eventually(async () => {
      const { spec } = await bench.api.get(child);
      assert.equal((spec as { replicas: number }).replicas, 1);
    });
  });

  it("and brings back a child that is deleted, or deleted and made again by another client", async () => {
    const object = await bench.applied("returns", answering(configMap("returns", { a: "1" })));
    const { uid } = (await bench.api.get(here("returns"))).metadata;
    await bench.api.delete(here("returns"));
    await eventually(async () => assert.notEqual((await bench.api.get(here("returns"))).metadata.uid, uid));
    assert.deepEqual(await dataOf("returns"), { a: "1" });
    await bench.ready(object);
  });

  it("in order of kind: a namespace before what is in it", async () => {
    const other = `${bench.namespace}-inner`;
    const child = inNamespace(configMap("inner"), other);
    await bench.applied("ordered", answering(child, deployment("ordered"), namespace(other)));
    await bench.api.get(child);
    await bench.idle();
    const [first] = bench.engine.reportsOf("ordered");
    assert.equal(first?.failure, undefined);
    assert.equal(first?.changes[0]?.kind, "Namespace");
  });

  it("and says so where the API server refuses one; a field that it does not know is refused as well", async () => {
    const bad = { ...configMap("refused"), datta: { a: "1" } };
    const object = await bench.applyObject("refused", answering(bad));
    const { message } = await bench.failed(object, "ChildRefused");
    assert.match(message, /the API server refused ConfigMap .*refused: .*datta/);
    await bench.api.assertGone(here("refused"));
    await bench.applied("refused", answering(configMap("refused")));
  });

  it("and names the remedy where a field is immutable", async () => {
    const immutable = (value: string) => answering({ ...configMap("fixed", { value }), immutable: true });
    await bench.applied("fixed", immutable("1"));
    const object = await bench.applyObject("fixed", immutable("2"));
    const { message } = await bench.failed(object, "ChildRefused");
    assert.match(message, /Declare update: recreate or never for ConfigMap in operator.yaml/);
    assert.deepEqual(await dataOf("fixed"), { value: "1" });
  });

  it("and prunes the child that is no longer answered", async () => {
    await bench.applied("pruned", answering(configMap("pruned-a"), configMap("pruned-b")));
    await bench.applied("pruned", answering(configMap("pruned-b")));
    await bench.api.assertGone(here("pruned-a"));
    await bench.api.get(here("pruned-b"));
    assert.deepEqual(changesOf("pruned").at(-1), {
      verb: "deleted",
      apiVersion: "v1",
      kind: "ConfigMap",
      namespace: bench.namespace,
      name: "pruned-a",
    });
  });
});

describe("the engine changes a child that exists by the update policy of its kind", function () {
  this.timeout(60_000);
  const bench = useOperator({
    name: "update-test",
    children: [
      { apiVersion: "batch/v1", kind: "Job", update: "recreate" },
      { apiVersion: "v1", kind: "ConfigMap", update: "never" },
    ],
  });
  const jobHere = (name: string) => inNamespace(job(name, ""), bench.namespace);

  it("recreate: a Job whose template has changed is deleted and created again", async () => {
    const object = await bench.applyObject("recreated", answering(job("recreated", "example.com/one:1")));
    const { uid } = (await eventually(() => bench.api.get(jobHere("recreated")))).metadata;
    // Kubernetes' Job controller knows Jobs by their names: it may wait minutes for the pod of one that went too soon.
    await bench.ready(object);
    await bench.applyObject("recreated", answering(job("recreated", "example.com/two:1")));
    const found = await eventually(async () => {
      const again = await bench.api.get(jobHere("recreated"));
      assert.notEqual(again.metadata.uid, uid);
      return again;
    });
    assert.match(JSON.stringify(found["spec"]), /example.com\/two:1/);
    await bench.ready(object);
    await bench.idle();
    const verbs = bench.engine
      .reportsOf("recreated")
      .flatMap(({ changes }) => changes.map(({ verb }) => verb));
    assert.deepEqual(verbs, ["created", "recreated"]);
    assert.deepEqual(bench.failuresOf("recreated"), []);
  });

  it("recreate: nothing is deleted where the new one would be refused", async () => {
    const object = await bench.applyObject("spared", answering(job("spared", "example.com/one:1")));
    await bench.ready(object);
    const before = await bench.api.get(jobHere("spared"));
    await bench.applyObject("spared", answering(job("spared", "")));
    const { message } = await bench.failed(object, "ChildRefused");
    assert.doesNotMatch(message, /Declare update/, "that is declared already");
    assert.equal((await bench.api.get(jobHere("spared"))).metadata.uid, before.metadata.uid);
  });

  it("recreate: a Job that does not go at once is made again when it has gone", async () => {
    const object = await bench.applied("lingers", answering(job("lingers", "example.com/one:1")));
    const { uid } = (await bench.api.get(jobHere("lingers"))).metadata;
    await bench.api.patch(jobHere("lingers"), { metadata: { finalizers: ["example.com/wait"] } });
    await bench.applyObject("lingers", answering(job("lingers", "example.com/two:1")));
    await eventually(async () => {
      const { deletionTimestamp } = (await bench.api.get(jobHere("lingers"))).metadata;
      assert.ok(deletionTimestamp, "not deleted");
    });
    await bench.api.patch(jobHere("lingers"), { metadata: { finalizers: [] } });
    await eventually(async () => {
      assert.notEqual((await bench.api.get(jobHere("lingers"))).metadata.uid, uid);
    });
    await bench.ready(object);
    assert.deepEqual(bench.failuresOf("lingers"), []);
  });

  it("never: it is created once and then left alone", async () => {
    const child = inNamespace(configMap("left"), bench.namespace);
    const object = await bench.applied("left", answering(configMap("left", { a: "1" })));
    await bench.api.patch(child, { data: { a: "edited" } });
    await bench.applied("left", answering(configMap("left", { a: "2" })));
    await bench.reconcileAgain(object);
    await always(async () => assert.deepEqual((await bench.api.get(child))["data"], { a: "edited" }));
    await bench.applied("left", answering());
    await bench.api.assertGone(child);
  });
});
