import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually, whileRepeating } from "../../support/eventually";
import { configMap, inNamespace } from "../support/manifests";
import { answering, useOperator } from "../support/useOperator";

describe("an object whose handler finalizes", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "leaks", finalize: true, timeoutSeconds: 20 });
  const finalized = (name: string) => bench.operator.calls(name).some(({ event }) => event === "finalize");

  it("has its finalizer before the handler is asked for the first time", async () => {
    await bench.applied("first", answering());
    const [call] = bench.operator.calls("first");
    assert.deepEqual(call?.object.metadata.finalizers, [bench.operator.finalizer]);
  });

  for (const [what, plan] of [
    ["whose first answer is invalid", { raw: "no answer" }],
    ["whose handler crashes the first time", { exitCode: 1 }],
    ["whose handler has not answered yet", { ...answering(configMap("late")), delayMs: 3_000 }],
  ] as const) {
    it(`and that is deleted ${what} is finalized`, async () => {
      const name = what.replaceAll(" ", "-");
      const object = await bench.applyObject(name, plan);
      await eventually(() => assert.ok(bench.operator.calls(name).length > 0));
      await bench.api.delete(object);
      await eventually(() => bench.api.assertGone(object));
      assert.ok(finalized(name), "the handler was not asked to finalize");
    });
  }

  it("and that another controller takes the finalizer from each time is not handled over and over, and has it in the end", async () => {
    const { finalizer } = bench.operator;
    const object = await bench.applied("stripped", answering());
    const hasIt = async () => (await bench.api.get(object)).metadata.finalizers?.includes(finalizer) === true;
    const strip = async () => {
      await sleep(20);
      if (await hasIt()) await bench.api.patch(object, { metadata: { finalizers: null } });
    };
    await whileRepeating(strip, () => sleep(6_000));
    const calls = bench.operator.calls("stripped").length;
    assert.ok(calls > 1 && calls <= 10, `the handler was asked ${calls} times`);
    await eventually(async () => assert.ok(await hasIt()), { timeoutMs: 20_000 });
  });

  it("reports a failure of its first run, which also adds the finalizer", async () => {
    const child = { ...configMap("refused"), nonsense: 1 };
    const object = await bench.applyObject("fails-first", answering(child));
    await bench.failed(object, "ChildRefused");
    await eventually(() => {
      const [first] = bench.engine.reportsOf("fails-first");
      assert.deepEqual([first?.attempt, first?.result], [1, "failed"]);
    });
    await bench.api.assertGone(inNamespace(configMap("refused"), bench.namespace));
  });
});
