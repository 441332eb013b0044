import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubernetesObject } from "../../../runtime/base/objects";
import type { Reference } from "../../../tools/objects";
import { always, eventually, whileRepeating } from "../../support/eventually";
import { configMap, inNamespace, job } from "../support/manifests";
import { answering, statusOf, useOperator } from "../support/useOperator";

describe("when another client empties the engine's memory in the status of an object", function () {
  this.timeout(60_000);
  const bench = useOperator({
    name: "emptied",
    schedules: { yearly: { cron: "0 0 1 1 *" } },
    children: [{ apiVersion: "batch/v1", kind: "Job", update: "never" }, "v1/ConfigMap"],
  });
  const once = job("once", "example.com/worker:1");
  const memory = async (object: Reference) => statusOf(await bench.api.get(object))["argosy"];

  async function remembered(name: string): Promise<{ object: KubernetesObject; before: unknown }> {
    const object = await bench.applied(name, answering(once, configMap(name)));
    await bench.idle();
    const before = (await memory(object)) as { created?: string[]; schedules?: object };
    assert.equal(before.created?.length, 1);
    assert.ok(before.schedules);
    return { object, before };
  }

  it("in part or as a whole: the engine writes back what it knew, and creates no child again", async () => {
    const { object, before } = await remembered("emptied");
    const child = inNamespace(once, bench.namespace);
    await bench.api.delete(child, "Foreground");
    await eventually(() => bench.api.assertGone(child));
    // The run that the deletion leads to would write the memory that it began with.
    await bench.reconcileAgain(object);
    for (const status of [
      { argosy: null },
      { argosy: { kinds: null, created: null, schedules: null } },
      // The whole status.
      null,
    ]) {
      await bench.api.patchPart(object, "status", { status });
      await eventually(async () => assert.deepEqual(await memory(object), before));
      await bench.reconcileAgain(object);
    }
    await always(() => bench.api.assertGone(child), { forMs: 1_500 });
  });

  it("and the handler fails: the memory comes back all the same", async () => {
    const { object, before } = await remembered("fails");
    bench.operator.plan("fails", { exitCode: 1 });
    await bench.api.patchPart(object, "status", { status: { argosy: null } });
    await eventually(async () => assert.deepEqual(await memory(object), before));
  });

  it("and does so each time: the handler is not asked over and over, and the memory exists in the end", async () => {
    const { object, before } = await remembered("fought");
    const empty = async () => {
      await sleep(20);
      if (await memory(object)) await bench.api.patchPart(object, "status", { status: { argosy: null } });
    };
    await whileRepeating(empty, () => sleep(6_000));
    const calls = bench.operator.calls("fought").length;
    assert.ok(calls > 1 && calls <= 10, `the handler was asked ${calls} times`);
    await eventually(async () => assert.deepEqual(await memory(object), before), { timeoutMs: 20_000 });
  });

  it("while another process waits to lead: that one knows the memory too", async () => {
    const { object, before } = await remembered("handed");
    const standby = await bench.operator.start({ identity: "two" });
    await eventually(() => assert.equal(standby.controller.objects().length > 0, true));
    await bench.api.annotate(object, { "argosy.dev/paused": "true" });
    await bench.idle();
    await bench.api.patchPart(object, "status", { status: { argosy: null } });
    await always(async () => assert.equal(await memory(object), undefined), { forMs: 500 });
    await bench.engine.stop();
    await bench.api.annotate(object, { "argosy.dev/paused": null });
    await eventually(async () => assert.deepEqual(await memory(object), before), { timeoutMs: 30_000 });
  });
});

describe("when the engine itself has nothing more to remember of an object", function () {
  this.timeout(60_000);
  const bench = useOperator({
    name: "emptying",
    children: [{ apiVersion: "batch/v1", kind: "Job", update: "never" }],
  });

  it("it does not write back what it knew: a child that is created once is created again when it is returned again", async () => {
    const [child, name] = [inNamespace(job("once", "example.com/worker:1"), bench.namespace), "unwanted"];
    const object = await bench.applied(name, answering(child));
    await bench.applyObject(name, answering());
    await bench.ready(object);
    await eventually(() => bench.api.assertGone(child));
    await bench.idle();
    const calls = bench.operator.calls(name).length;
    await sleep(1_500);
    assert.equal(bench.operator.calls(name).length, calls);
    await bench.applyObject(name, answering(child));
    await bench.ready(object);
    await bench.api.get(child);
  });
});
