import assert from "node:assert/strict";
import { announceKind } from "../support/cluster";
import { inNamespace } from "../support/manifests";
import type { ObjectPlan } from "../support/testOperator";
import { customResourceDefinitionOf } from "../support/testOperator";
import { answering, type Bench, statusOf, useOperator } from "../support/useOperator";

const MAP = { type: "object", additionalProperties: { type: "string" } };
const CHILD_KIND = customResourceDefinitionOf({
  name: "map-holder",
  specSchema: { type: "object", properties: { m: MAP } },
});

let step = 0;

/**
 * Lets the handler answer so, and waits until the object is ready. The answer cannot stand in the object's own
 * specification: the empty map would be lost there in the same way.
 */
function applied(bench: Bench, name: string, plan: ObjectPlan) {
  bench.operator.plan(name, plan);
  return bench.applied(name, { log: `step ${++step}` });
}

describe("a map that becomes empty", function () {
  this.timeout(60_000);
  announceKind(CHILD_KIND);
  for (const [what, name, more] of [
    ["in a status without a schema", "maps-free", {}],
    ["in a status with a schema", "maps-typed", { statusSchema: { type: "object", properties: { m: MAP } } }],
  ] as const) {
    describe(what, () => {
      const bench = useOperator({
        name,
        children: [{ apiVersion: "engine.example.com/v1", kind: "MapHolder", plural: "mapholders" }],
        ...more,
      });
      const saying = (status: object) => ({ answer: { children: [], status: { ...status } } });

      it("is written as it is answered, and filled again", async () => {
        await applied(bench, "status", saying({ m: { a: "1" } }));
        const emptied = await applied(bench, "status", saying({ m: {} }));
        assert.deepEqual(statusOf(emptied)["m"] ?? {}, {});
        const filled = await applied(bench, "status", saying({ m: { b: "2" } }));
        assert.deepEqual(statusOf(filled)["m"], { b: "2" });
      });

      it("and keeps what others have written into it", async () => {
        const object = await applied(bench, "shared", saying({ m: { a: "1" } }));
        await bench.api.applyStatus(object, { m: { theirs: "1" } });
        const emptied = await applied(bench, "shared", saying({ m: {} }));
        assert.deepEqual(statusOf(emptied)["m"], { theirs: "1" });
      });
    });
  }

  describe("in a child of a custom kind", () => {
    const bench = useOperator({
      name: "maps-child",
      children: [{ apiVersion: "engine.example.com/v1", kind: "MapHolder", plural: "mapholders" }],
    });
    const holder = (name: string, m: object) => ({
      apiVersion: "engine.example.com/v1",
      kind: "MapHolder",
      metadata: { name },
      spec: { m },
    });

    it("is written as it is answered, and filled again", async () => {
      const found = async () =>
        (await bench.api.get(inNamespace(holder("child", {}), bench.namespace)))["spec"] as { m?: object };
      await applied(bench, "child", answering(holder("child", { a: "1" })));
      await applied(bench, "child", answering(holder("child", {})));
      assert.deepEqual((await found())?.m ?? {}, {});
      await applied(bench, "child", answering(holder("child", { b: "2" })));
      assert.deepEqual((await found()).m, { b: "2" });
    });
  });
});
