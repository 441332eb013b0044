import assert from "node:assert/strict";
import { announceKind } from "../support/cluster";
import { inNamespace } from "../support/manifests";
import { customResourceDefinitionOf } from "../support/testOperator";
import { answering, statusOf, useOperator } from "../support/useOperator";

const MAP = { type: "object", additionalProperties: { type: "string" } };
const CHILD_KIND = customResourceDefinitionOf({
  name: "map-holder",
  specSchema: { type: "object", properties: { m: MAP } },
});

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
        await bench.applied("status", saying({ m: { a: "1" } }));
        const emptied = await bench.applied("status", saying({ m: {} }));
        assert.deepEqual(statusOf(emptied)["m"] ?? {}, {});
        const filled = await bench.applied("status", saying({ m: { b: "2" } }));
        assert.deepEqual(statusOf(filled)["m"], { b: "2" });
      });

      it("and keeps what others have written into it", async () => {
        const object = await bench.applied("shared", saying({ m: { a: "1" } }));
        await bench.api.applyStatus(object, { m: { theirs: "1" } });
        const emptied = await bench.applied("shared", saying({ m: {} }));
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
      await bench.applied("child", answering(holder("child", { a: "1" })));
      await bench.applied("child", answering(holder("child", {})));
      assert.deepEqual((await found())?.m ?? {}, {});
      await bench.applied("child", answering(holder("child", { b: "2" })));
      assert.deepEqual((await found()).m, { b: "2" });
    });
  });
});
