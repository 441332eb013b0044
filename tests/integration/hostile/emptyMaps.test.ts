import assert from "node:assert/strict";
import { announceKind } from "../support/cluster";
import { deployment, inNamespace } from "../support/manifests";
import type { ObjectPlan } from "../support/testOperator";
import { customResourceDefinitionOf } from "../support/testOperator";
import { answering, type Bench, statusOf, useOperator } from "../support/useOperator";

const MAP = { type: "object", additionalProperties: { type: "string" } };
/** Where a schema has a rule, the API server says of each null also that no rule was checked. */
const RULES = { "x-kubernetes-validations": [{ rule: "!has(self.m) || size(self.m) < 5" }] };
const CHILD_KIND = customResourceDefinitionOf({
  name: "map-holder",
  specSchema: { type: "object", properties: { m: MAP, filled: { ...MAP, minProperties: 1 } }, ...RULES },
});

let step = 0;

/**
 * Lets the handler answer so, and waits until the object is ready. The answer cannot stand in the object's own
 * specification: the empty map would be lost there in the same way.
 */
async function applied(bench: Bench, name: string, plan: ObjectPlan) {
  return bench.ready(await answered(bench, name, plan));
}

/** The same for an answer that the API server may refuse. */
function answered(bench: Bench, name: string, plan: ObjectPlan) {
  bench.operator.plan(name, plan);
  return bench.applyObject(name, { log: `step ${++step}` });
}

describe("a map that becomes empty", function () {
  this.timeout(60_000);
  announceKind(CHILD_KIND);
  for (const [what, name, more] of [
    ["in a status without a schema", "maps-free", {}],
    [
      "in a status with a schema",
      "maps-typed",
      {
        statusSchema: {
          type: "object",
          properties: { m: MAP },
          ...RULES,
        },
      },
    ],
  ] as const) {
    describe(what, () => {
      const bench = useOperator({
        name,
        children: [{ apiVersion: "map.example.com/v1", kind: "MapHolder", plural: "mapholders" }],
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
      children: [
        { apiVersion: "map.example.com/v1", kind: "MapHolder", plural: "mapholders" },
        "apps/v1/Deployment",
      ],
    });
    const holding = (name: string, spec: object) => ({
      apiVersion: "map.example.com/v1",
      kind: "MapHolder",
      metadata: { name },
      spec,
    });
    const holder = (name: string, m: object) => holding(name, { m });

    it("is written as it is answered, and filled again", async () => {
      const found = async () =>
        (await bench.api.get(inNamespace(holder("child", {}), bench.namespace)))["spec"] as { m?: object };
      await applied(bench, "child", answering(holder("child", { a: "1" })));
      await applied(bench, "child", answering(holder("child", {})));
      assert.deepEqual((await found())?.m ?? {}, {});
      await applied(bench, "child", answering(holder("child", { b: "2" })));
      assert.deepEqual((await found()).m, { b: "2" });
    });

    describe("that must not be empty", () => {
      const said = /spec\.filled: Invalid value: 0: spec\.filled in body should have at least 1 properties/;

      it("is not left out where nothing was: the child is refused, and not created without it", async () => {
        const child = holding("refused", { filled: {} });
        const object = await answered(bench, "refused", answering(child));
        assert.match((await bench.failed(object, "ChildRefused")).message, said);
        await bench.api.assertGone(inNamespace(child, bench.namespace));
      });

      it("stays as it was, with all else that was answered", async () => {
        const child = (filled: object, m: object) => holding("kept", { filled, m });
        const before = child({ a: "1" }, { a: "1" });
        const object = await applied(bench, "kept", answering(before));
        const there = () => bench.api.get(inNamespace(before, bench.namespace));
        const { metadata } = await there();
        await answered(bench, "kept", answering(child({}, {})));
        assert.match((await bench.failed(object, "ChildRefused")).message, said);
        assert.deepEqual((await there())["spec"], before.spec);
        assert.equal((await there()).metadata.resourceVersion, metadata.resourceVersion);
      });
    });

    it("of a kind of Kubernetes makes no other volume of one that is wrong", async () => {
      const child = deployment("volumes");
      const { template, ...spec } = child["spec"] as { template: { spec: object } };
      const volumes = [{ name: "data", persistentVolumeClaim: {} }];
      const wrong = {
        ...child,
        spec: { ...spec, template: { ...template, spec: { ...template.spec, volumes } } },
      };
      const object = await answered(bench, "volumes", answering(wrong));
      const { message } = await bench.failed(object, "ChildRefused");
      assert.match(message, /persistentVolumeClaim\.claimName: Required value/);
      await bench.api.assertGone(inNamespace(child, bench.namespace));
    });
  });
});
