import assert from "node:assert/strict";
import { ownerMark } from "../../runtime/observe/ownership";
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

  it("puts its finalizer back soon after a client took it off, as a replace by an old file does", async () => {
    const object = await bench.applied("replaced", answering());
    await bench.idle();
    await bench.api.patch(object, { metadata: { finalizers: null } });
    await eventually(async () => assert.deepEqual(await finalizersOf("replaced"), [finalizer]));
  });

  it("tries again where the handler fails to finalize, and the object says so", async () => {
    const object = await bench.applied("fails", { ...answering(), finalize: { exitCode: 3 } });
    await bench.api.delete(object);
    const { message } = await bench.failed(object, "HandlerCrashed");
    assert.match(message, /exit code 3/);
    bench.operator.plan("fails", { finalize: { answer: { finalized: true } } });
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

  it("leaves a child that was orphaned", async () => {
    const child = inNamespace(configMap("orphan"), bench.namespace);
    const object = await bench.applied("orphans", answering(configMap("orphan")));
    await bench.api.delete(object, "Orphan");
    await eventually(() => bench.api.assertGone(object));
    await always(async () => assert.equal((await bench.api.get(child)).metadata.ownerReferences, undefined), {
      forMs: 1_500,
    });
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

  it("has its finalizer before the first of them exists", async () => {
    const role = { ...clusterRole(`${bench.namespace}-before`), rules: "nonsense" };
    const object = await bench.applyObject("before", answering(role));
    await bench.failed(object, "ChildRefused");
    assert.deepEqual((await bench.api.get(object)).metadata.finalizers, [finalizer]);
  });

  it("needs no finalizer, and sets none, where every child can have an owner reference", async () => {
    const object = await bench.applied("near", answering(configMap("near")));
    assert.deepEqual(object.metadata.finalizers ?? [], []);
    await bench.api.delete(object);
    await eventually(() => bench.api.assertGone(inNamespace(configMap("near"), bench.namespace)));
  });

  it("sets no finalizer, and makes no child, where the object is deleted while it is handled", async () => {
    const role = clusterRole(`${bench.namespace}-vanishes`);
    const object = await bench.applyObject("vanishes", { ...answering(role), delayMs: 4_000 });
    await eventually(() => assert.equal(bench.operator.calls("vanishes").length, 1));
    await bench.api.delete(object);
    await eventually(() => assert.ok(bench.engine.reportsOf("vanishes").length > 0, "it still runs"));
    await always(() => bench.api.assertGone(role));
    await bench.api.assertGone(object);
    assert.deepEqual(bench.failuresOf("vanishes"), []);
  });

  it("deletes nothing of others that is only labelled as the object's", async () => {
    const name = `${bench.namespace}-spoofed`;
    const object = await bench.applied("spoofed", answering(clusterRole(`${name}-own`)));
    const labels = {
      "argosy.dev/child-of": "argosy.elsewhere-test",
      "argosy.dev/owner-uid": object.metadata.uid,
    };
    const annotations = { "argosy.dev/owner": ownerMark(object, object.metadata) };
    const spoofed = await bench.api.create({ ...clusterRole(name), metadata: { name, labels, annotations } });
    await bench.api.delete(object);
    await eventually(() => bench.api.assertGone(object));
    assert.deepEqual(await bench.api.get(spoofed), spoofed);
    await bench.api.assertGone(clusterRole(`${name}-own`));
  });
});
