import assert from "node:assert/strict";
import type { KubernetesObject } from "../../runtime/base/objects";
import { always, eventually } from "../support/eventually";
import { configMap, deployment, inNamespace } from "./support/manifests";
import { answering, UNTOUCHED, useOperator } from "./support/useOperator";

describe("the engine reconciles an object", function () {
  this.timeout(60_000);
  const bench = useOperator({
    name: "reconcile-test",
    children: ["v1/ConfigMap", "apps/v1/Deployment"],
  });
  const here = (name: string) => inNamespace(configMap(name), bench.namespace);

  it("that is gone: done", async () => {
    const { engine, namespace } = bench;
    engine.controller.hint({ namespace, name: "nowhere" });
    await eventually(() => {
      const [report] = engine.reportsOf("nowhere");
      assert.deepEqual([report?.result, report?.skipped], ["skipped", "gone"]);
    });
    await always(() => assert.equal(engine.reportsOf("nowhere").length, 1));
  });

  it("that is annotated argosy.dev/paused: done, until the annotation is taken away", async () => {
    const { api, operator, engine, namespace } = bench;
    const manifest = operator.object("paused", answering(configMap("kept-back")), namespace);
    const object = await api.apply({
      ...manifest,
      metadata: { ...manifest.metadata, annotations: { "argosy.dev/paused": "true" } },
    });
    await eventually(() => assert.equal(engine.reportsOf("paused")[0]?.skipped, "paused"));
    await always(() => api.assertGone(here("kept-back")), { forMs: 500 });
    assert.deepEqual(operator.calls("paused"), []);
    assert.deepEqual((await api.get(object))["status"], UNTOUCHED);

    await api.annotate(object, { "argosy.dev/paused": null });
    await bench.ready(object);
    await api.get(here("kept-back"));

    await api.annotate(object, { "argosy.dev/paused": "true" });
    await api.delete(here("kept-back"));
    await always(() => api.assertGone(here("kept-back")), { forMs: 500 });
    await api.annotate(object, { "argosy.dev/paused": "false" });
    await eventually(() => api.get(here("kept-back")));
  });

  it("with its newest state, however many changes there were during a run", async () => {
    const { operator } = bench;
    const slowly = (step: number) => ({
      ...answering(configMap("newest", { step: String(step) })),
      delayMs: 500,
    });
    const begun = performance.now();
    const object = await bench.applyObject("newest", slowly(0));
    await eventually(() => assert.equal(operator.calls("newest").length, 1));
    for (let step = 1; step <= 20; step++) await bench.applyObject("newest", slowly(step));
    await bench.ready(object);
    assert.deepEqual((await bench.api.get(here("newest")))["data"], { step: "20" });
    // One run at a time, half a second each.
    const most = 2 + (performance.now() - begun) / 500;
    assert.ok(operator.calls("newest").length <= most, "changes are not taken together");
  });

  it("with the children from the child index, as they are now, without their managedFields", async () => {
    const { api, operator } = bench;
    const object = await bench.applied("observed", answering(configMap("b", { of: "ours" }), configMap("a")));
    await api.create(inNamespace(configMap("foreign"), bench.namespace));
    await api.patch(here("b"), { data: { added: "by hand" } });
    await eventually(async () => {
      await bench.reconcileAgain(object);
      const children = operator.calls("observed").at(-1)?.children ?? [];
      assert.deepEqual(
        children.map(({ metadata }) => metadata.name),
        ["a", "b"],
      );
      assert.deepEqual(children[1]?.["data"], { of: "ours", added: "by hand" });
      for (const child of children) assert.equal(child.metadata.managedFields, undefined);
    });
  });

  it("again when the status of a child changes, until that says ready", async () => {
    const object = await bench.applied("grows", answering(deployment("grows", { replicas: 2 })));
    const last = bench.operator.calls("grows").at(-1);
    assert.ok(last);
    await bench.ready(object);
    await eventually(() => {
      const child = bench.operator.calls("grows").at(-1)?.children[0] as KubernetesObject | undefined;
      assert.equal((child?.["status"] as { readyReplicas?: number } | undefined)?.readyReplicas, 2);
    });
  });

  it("with the whole request of the contract", async () => {
    const object = await bench.applied("request", answering(configMap("request")));
    const [call] = bench.operator.calls("request");
    assert.equal(call?.apiVersion, "argosy.dev/v1");
    assert.ok(call?.id && call.id !== call.key);
    assert.equal(call?.key, `${object.metadata.uid}/1`);
    assert.deepEqual([call?.used, call?.due, call?.dryRun], [{}, [], undefined]);
    assert.equal(call?.event, "reconcile");
    assert.equal(call?.attempt, 1);
    assert.equal(call?.object.metadata.managedFields, undefined);
    assert.deepEqual(call?.object["spec"], object["spec"]);
  });

  for (const [what, bad] of Object.entries({
    "of a kind that is not declared": { apiVersion: "v1", kind: "Secret", metadata: { name: "bad" } },
    "without a name": { apiVersion: "v1", kind: "ConfigMap", metadata: {} },
    "with a name that reaches another path": configMap("../bad"),
    "that is answered twice": configMap("good"),
    "that names another owner": configMap(
      "bad",
      {},
      { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "other", uid: "other" }] },
    ),
    "whose label is not a string": { ...configMap("bad"), metadata: { name: "bad", labels: { a: 1 } } },
    "whose owner references are not a list": {
      ...configMap("bad"),
      metadata: { name: "bad", ownerReferences: {} },
    },
  })) {
    it(`and validates the whole answer before applying any of it: a child ${what}`, async () => {
      const object = await bench.applyObject("invalid", answering(configMap("good"), bad));
      const { message } = await bench.failed(object, "InvalidAnswer");
      assert.match(message, /children\[1\]/);
      assert.deepEqual(
        (await bench.api.list({ apiVersion: "v1", kind: "ConfigMap" }, bench.namespace)).filter(
          ({ metadata }) => ["good", "bad"].includes(metadata.name),
        ),
        [],
      );
    });
  }
});
