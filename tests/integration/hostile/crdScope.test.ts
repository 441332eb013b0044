import assert from "node:assert/strict";
import type { JsonObject, Manifest } from "../../../runtime/base/objects";
import { eventually } from "../../support/eventually";
import { announceKind } from "../support/cluster";
import { configMap, inNamespace } from "../support/manifests";
import { customResourceDefinitionOf } from "../support/testOperator";
import { answering, conditionOf, useOperator } from "../support/useOperator";

const GROUP = "scoped.example.com";
const crd = (scope: "Namespaced" | "Cluster") => customResourceDefinitionOf({ name: "scoped-child", scope });
const child: Manifest = { apiVersion: `${GROUP}/v1`, kind: "ScopedChild", metadata: { name: "scoped" } };

describe("when a CRD of children is created again with another scope", function () {
  this.timeout(90_000);
  const bench = useOperator({
    name: "scoped",
    resyncSeconds: 10,
    children: [{ apiVersion: `${GROUP}/v1`, kind: "ScopedChild", plural: "scopedchilds" }],
  });
  announceKind(crd("Namespaced"));

  it("the child is created at the new path, at the latest with the next resync", async () => {
    const object = await bench.applied("object", answering(child));
    await bench.api.delete(crd("Namespaced"));
    await eventually(() => bench.api.assertGone(crd("Namespaced")), { timeoutMs: 60_000 });
    await bench.api.apply(crd("Cluster"));
    await eventually(() => bench.api.get(child), { timeoutMs: 60_000 });
    await bench.ready(object);
  });
});

describe("when an operator's own CRD is created again with another scope", function () {
  this.timeout(120_000);
  const bench = useOperator({ name: "scoped-own" });
  const ownCrd = customResourceDefinitionOf({ name: "scoped-own" });

  it("its objects say that the operator must be deployed again, and get no children", async () => {
    await bench.applied("before", answering(configMap("before")));
    const { spec } = await bench.api.get(ownCrd);
    await bench.api.delete(ownCrd);
    await eventually(() => bench.api.assertGone(ownCrd), { timeoutMs: 60_000 });
    await bench.api.apply({ ...ownCrd, spec: { ...(spec as JsonObject), scope: "Cluster" } });
    const child = inNamespace(configMap("after"), bench.namespace);
    const object = bench.operator.object("after", answering(child));
    await eventually(() => bench.api.apply(object));
    await eventually(async () => {
      const { status, message } = conditionOf(await bench.api.get(object), "Ready");
      assert.equal(status, "False");
      assert.match(message, /ScopedOwn had the scope Namespaced .*Deploy the operator again/);
    });
    await bench.api.assertGone(child);
  });
});
