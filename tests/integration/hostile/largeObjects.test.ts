import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../../support/eventually";
import { configMap } from "../support/manifests";
import type { ObjectPlan } from "../support/testOperator";
import { useOperator } from "../support/useOperator";

const COUNT = 20;

describe("if a user creates many objects of a megabyte", function () {
  this.timeout(120_000);
  // As much as a runner has room for that may have 256 MiB.
  const bench = useOperator({ name: "large-objects", concurrency: 64 }, { heapBudget: 8 * 1024 * 1024 });

  it("few of them are in memory at once, small ones are served between them, and each has its turn", async () => {
    const { operator, engine, namespace } = bench;
    const names = Array.from({ length: COUNT }, (_, index) => `large-${index}`);
    const large: ObjectPlan & { readonly text: string } = { text: "x".repeat(1024 * 1024) };
    for (const name of names)
      operator.plan(name, { holds: true, answer: { children: [configMap(name)] as never } });
    const objects = await Promise.all(names.map((name) => bench.applyObject(name, large)));
    const working = () =>
      engine.controller.objects().filter((each) => each.namespace === namespace && each.state === "working");
    await eventually(() => assert.ok(working().length > 0, "none is worked on"));
    await sleep(3_000);
    assert.ok(working().length <= 8, `${working().length} at once`);
    await bench.applied("small");
    assert.ok(working().length <= 8, `${working().length} at once`);
    for (const name of names) operator.release(name);
    for (const object of objects) await eventually(() => bench.ready(object), { timeoutMs: 60_000 });
  });
});
