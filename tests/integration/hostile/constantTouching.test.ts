import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually, whileRepeating } from "../../support/eventually";
import { configMap, inNamespace } from "../support/manifests";
import type { ObjectPlan } from "../support/testOperator";
import { answering, statusOf, useOperator } from "../support/useOperator";

const HANDLER_MS = 3_000;

describe("an object that is changed more often than its handler takes", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "touched", finalize: true });

  it("by an annotation every second gets children, finalizer and status", async () => {
    const object = await bench.applyObject("annotated", plan("annotated", 1));
    const touch = async (time: number) => {
      await sleep(1_000);
      await bench.api.annotate(object, { "example.com/touched": String(time) });
    };
    await whileRepeating(touch, () => assertServed("annotated"));
  });

  it("by a new generation every second gets children, finalizer and status", async () => {
    await bench.applyObject("respecified", plan("respecified", 1));
    const touch = async (time: number) => {
      await sleep(1_000);
      await bench.applyObject("respecified", plan("respecified", time + 1));
    };
    await whileRepeating(touch, () => assertServed("respecified"));
  });

  it("and is observed at its newest generation once it rests", async () => {
    const touch = async (time: number) => {
      await sleep(200);
      await bench.applyObject("rests", plan("rests", time));
    };
    await whileRepeating(touch, () => sleep(2_000));
    await bench.applied("rests", plan("rests", 100));
    const child = await bench.api.get(inNamespace(configMap("rests"), bench.namespace));
    assert.deepEqual(child["data"], { step: "100" });
  });

  it("by reports of another controller twenty times a second is not handled over and over", async () => {
    const object = await bench.applyObject("reported", { ...plan("reported", 1), delayMs: 100 });
    const touch = async (time: number) => {
      await sleep(50);
      await bench.api.applyStatus(object, { reports: time });
    };
    await whileRepeating(touch, async () => {
      await eventually(async () => {
        const { observedGeneration } = statusOf(await bench.api.get(object));
        assert.equal(observedGeneration, object.metadata.generation);
      });
      await sleep(2_000);
    });
    const calls = bench.operator.calls("reported").length;
    assert.ok(calls <= 5, `the handler was asked ${calls} times`);
  });

  function plan(name: string, step: number): ObjectPlan {
    return { ...answering(configMap(name, { step: String(step) })), delayMs: HANDLER_MS };
  }

  async function assertServed(name: string): Promise<void> {
    await eventually(async () => {
      const object = await bench.api.get(bench.operator.object(name, {}, bench.namespace));
      assert.ok(object.metadata.finalizers?.includes(bench.operator.finalizer), "no finalizer");
      assert.ok(await bench.api.find(inNamespace(configMap(name), bench.namespace)), "no child");
      assert.ok(statusOf(object)["observedGeneration"], "no status");
    });
  }
});
