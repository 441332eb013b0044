import assert from "node:assert/strict";
import { always, eventually } from "../support/eventually";
import {
  CLUSTER_ROLE_GRANTS,
  clusterRole,
  configMap,
  inNamespace,
  namespace,
  priorityClass,
} from "./support/manifests";
import { answering, useOperator } from "./support/useOperator";

describe("the engine, when an object is deleted", function () {
  this.timeout(60_000);
  const bench = useOperator({
    name: "finalize-test",
    finalize: true,
    children: ["v1/ConfigMap", "rbac.authorization.k8s.io/v1/ClusterRole"],
    grants: CLUSTER_ROLE_GRANTS,
  });
  const finalizer = "argosy.dev/argosy.finalize-test";
  const finalizersOf = async (name: string) =>
    (await bench.api.get(bench.operator.object(name, {}, bench.namespace))).metadata.finalizers;

  it("leaves the finalizers of others alone, and removes its own even if a user wrote it twice", async () => {
    const object = await bench.applied("shared", answering());
    await bench.api.patch(object, { metadata: { finalizers: ["example.com/other", finalizer, finalizer] } });
    await bench.api.delete(object);
    await eventually(async () => assert.deepEqual(await finalizersOf("shared"), ["example.com/other"]));
    const calls = bench.operator.calls("shared").length;
    await always(() => assert.equal(bench.operator.calls("shared").length, calls), { forMs: 500 });
    await bench.api.patch(object, { metadata: { finalizers: [] } });
    await eventually(() => bench.api.assertGone(object));
  });

  it("takes an object that is deleted while it is handled for what it is", async () => {
    const object = await bench.applyObject("vanishes", {
      ...answering(configMap("vanishes")),
      delayMs: 4_000,
    });
    await eventually(() => assert.equal(bench.operator.calls("vanishes").length, 1));
    await bench.api.delete(object);
    await eventually(() => bench.api.assertGone(object));
    await eventually(() => assert.ok(bench.engine.reportsOf("vanishes").length > 0, "it still runs"));
    await always(() => bench.api.assertGone(inNamespace(configMap("vanishes"), bench.namespace)));
    assert.deepEqual(bench.failuresOf("vanishes"), []);
  });

  it("finalizes in foreground deletion too", async () => {
    const object = await bench.applied("foreground", answering(configMap("foreground")));
    await bench.api.delete(object, "Foreground");
    await eventually(() => bench.api.assertGone(object));
    assert.equal(bench.operator.calls("foreground").at(-1)?.event, "finalize");
    await bench.api.assertGone(inNamespace(configMap("foreground"), bench.namespace));
  });

  it("lets the object go where it is annotated, without what a handler would do that is broken for ever, and tells", async () => {
    const role = clusterRole(`${bench.namespace}-far`);
    const near = inNamespace(configMap("near"), bench.namespace);
    const object = await bench.applied("broken", {
      ...answering(configMap("near"), role),
      finalize: { exitCode: 3 },
    });
    await bench.api.annotate(object, { "argosy.dev/skip-finalize": "false" });
    await bench.api.delete(object);
    await bench.failed(object, "HandlerCrashed");
    await bench.api.get(role);
    await bench.api.annotate(object, { "argosy.dev/skip-finalize": "true" });
    await eventually(() => bench.api.assertGone(object));
    await bench.api.assertGone(role);
    await eventually(() => bench.api.assertGone(near));
    await eventually(async () =>
      assert.ok((await bench.eventsOf(object)).some(({ reason }) => reason === "FinalizeSkipped")),
    );
  });
});

describe("the engine, when an object with children elsewhere is deleted", function () {
  this.timeout(60_000);
  const bench = useOperator({
    name: "elsewhere-test",
    children: [
      "v1/ConfigMap",
      "v1/Namespace",
      "rbac.authorization.k8s.io/v1/ClusterRole",
      "scheduling.k8s.io/v1/PriorityClass",
    ],
    grants: CLUSTER_ROLE_GRANTS,
  });
  const finalizer = "elsewhere.argosy.dev/argosy.elsewhere-test";

  it("deletes what no owner reference covers, then drops our finalizer", async () => {
    const elsewhere = await bench.api.newNamespace("elsewhere");
    const name = bench.namespace;
    const children = [
      inNamespace(configMap("far"), elsewhere),
      clusterRole(name),
      priorityClass(name, 7),
      namespace(`${name}-own`),
    ];
    const near = configMap("near");
    const object = await bench.applied("leaves", answering(near, ...children));
    assert.deepEqual(object.metadata.finalizers, [finalizer]);
    await bench.api.delete(object);
    await eventually(() => bench.api.assertGone(object));
    for (const child of children) {
      const left = await bench.api.find(child);
      // A namespace takes its time, once it is deleted.
      assert.ok(!left || left.metadata.deletionTimestamp, `${child.kind} is left`);
    }
    await eventually(() => bench.api.assertGone(inNamespace(near, bench.namespace)));
    assert.ok(bench.operator.calls("leaves").every(({ event }) => event === "reconcile"));
  });
});
