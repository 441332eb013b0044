import assert from "node:assert/strict";
import type { Condition } from "../../runtime/base/objects";
import { resourceOf } from "../../runtime/programs/workflows/runTarget";
import { StatusWriter } from "../../runtime/remember/statusMemories";
import { deployment } from "./support/manifests";
import type { ObjectPlan } from "./support/testOperator";
import { answering, conditionOf, statusOf, useOperator } from "./support/useOperator";

/** A condition of a foreign controller's. */
function condition(type: string, message = "so it is"): Condition {
  const lastTransitionTime = "2024-01-01T00:00:00Z";
  return { type, status: "True", reason: "Because", message, lastTransitionTime };
}

function saying(status: object, ...children: object[]): ObjectPlan {
  return { answer: { ...answering(...children).answer, status: { ...status } } };
}

describe("the engine patches the status", function () {
  this.timeout(60_000);
  const bench = useOperator({
    name: "status-test",
    children: ["v1/ConfigMap", "apps/v1/Deployment"],
  });

  it("and leaves fields and conditions of others alone, even when a reconcile fails", async () => {
    const object = await bench.applied("foreign", saying({ ours: 1 }));
    const theirs = (message: string) => ({ theirs: 1, conditions: [{ ...condition("Theirs", message) }] });
    await bench.api.applyStatus(object, theirs("first"));
    await bench.applied("foreign", saying({ ours: 2 }));
    await bench.applyObject("foreign", { exitCode: 1 });
    await bench.failed(object, "HandlerCrashed");
    // Without force: this is refused where a field has become ours.
    await bench.api.applyStatus(object, theirs("second"), { force: false });
    const failed = await bench.api.get(object);
    assert.equal(conditionOf(failed, "Theirs").message, "second");
    assert.equal(statusOf(failed)["ours"], 2, "the last answer's fields stay while none comes");
    const { theirs: kept } = statusOf(await bench.applied("foreign", saying({ ours: 3 })));
    assert.equal(kept, 1);
  });

  it("and does not take over a condition that existed before the first reconcile", async () => {
    const manifest = bench.operator.object("late", { exitCode: 1 }, bench.namespace);
    const annotations = { "argosy.dev/paused": "true" };
    const object = await bench.api.apply({ ...manifest, metadata: { ...manifest.metadata, annotations } });
    await bench.api.applyStatus(object, { conditions: [{ ...condition("Theirs", "first") }] });
    await bench.api.annotate(object, { "argosy.dev/paused": null });
    await bench.failed(object, "HandlerCrashed");
    const theirs = { conditions: [{ ...condition("Theirs", "second") }] };
    await bench.api.applyStatus(object, theirs, { force: false });
  });
});

describe("the engine checks the status against the schema that the author gave", function () {
  this.timeout(60_000);
  const bench = useOperator({
    name: "schema-test",
    children: ["apps/v1/Deployment"],
    statusSchema: {
      type: "object",
      properties: {
        size: { type: "integer" },
        parts: {
          type: "object",
          properties: { wheels: { type: "integer" }, colour: { type: "string", default: "red" } },
        },
        steps: {
          type: "array",
          items: {
            type: "object",
            properties: { name: { type: "string" }, after: { type: "integer", default: 0 } },
            required: ["name"],
          },
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name"],
        },
      },
    },
  });

  it("and neither writes again nor takes for ours what the schema adds by default within a field of the handler's", async () => {
    const parts = { wheels: 4 };
    // A verdict that the Deployment is not ready is written alone.
    const paused = deployment("defaulted", { paused: true });
    const object = await bench.applyObject("defaulted", saying({ parts }, paused));
    await bench.failed(object, "ChildrenNotReady");
    await bench.idle();
    const now = await bench.api.get(object);
    assert.deepEqual(statusOf(now)["parts"], { ...parts, colour: "red" });
    const { operator, fieldManager } = bench.operator;
    const writer = new StatusWriter({ resource: resourceOf(operator.customResource), fieldManager });
    const entry = now.metadata.managedFields?.find(({ manager }) => manager === fieldManager);
    const owned = entry?.fieldsV1 as { "f:status": { "f:parts": object } } | undefined;
    assert.deepEqual(owned?.["f:status"]["f:parts"], { "f:wheels": {} });
    assert.equal(await writer.write(bench.api.client, now, { fields: { parts } }), now);
  });

  it("and keeps the order of the handler's lists, which a verdict that is written alone must not change", async () => {
    const steps = [{ name: "b" }, { name: "a" }];
    const object = await bench.applied("ordered", saying({ steps }));
    await bench.idle();
    const { operator, fieldManager } = bench.operator;
    const writer = new StatusWriter({ resource: resourceOf(operator.customResource), fieldManager });
    const verdict = { verdict: { kind: "progressing", message: "on its way" } as const, generation: 1 };
    const written = await writer.write(bench.api.client, await bench.api.get(object), { verdict });
    assert.ok(written);
    assert.deepEqual(statusOf(written)["steps"], [
      { name: "b", after: 0 },
      { name: "a", after: 0 },
    ]);
    assert.equal(await writer.write(bench.api.client, written, { fields: { steps } }), written);
    const reversed = await writer.write(bench.api.client, written, { fields: { steps: steps.toReversed() } });
    assert.deepEqual(reversed && statusOf(reversed)["steps"], [
      { name: "a", after: 0 },
      { name: "b", after: 0 },
    ]);
  });
});
