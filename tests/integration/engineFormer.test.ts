import assert from "node:assert/strict";
import { renewGarbageCollector, stopGarbageCollector } from "../../cli/cluster/garbageCollector";
import { always, eventually } from "../support/eventually";
import { type OwnCluster, startTestCluster } from "./support/cluster";
import { configMap, inNamespace } from "./support/manifests";
import { TestOperator } from "./support/testOperator";
import { answering, useOperator } from "./support/useOperator";

describe("an object that was deleted while the garbage collector was stopped", function () {
  this.timeout(120_000);
  // Its own: no other suite should find the garbage collector stopped.
  let cluster: OwnCluster;
  const bench = useOperator({ name: "former-test" }, {}, async () => {
    cluster = await startTestCluster();
    return cluster;
  });
  after(() => cluster?.close());
  const here = (name: string, data = {}) => inNamespace(configMap(name, data), bench.namespace);

  beforeEach(() => stopGarbageCollector(cluster.controlPlane));
  afterEach(() => renewGarbageCollector(cluster));

  it("leaves no children", async () => {
    const object = await bench.applied("gone", answering(configMap("its"), configMap("too")));
    await bench.api.delete(object);
    for (const name of ["its", "too"]) await eventually(() => bench.api.assertGone(here(name)));
  });

  it("leaves none either where the engine is stopped at once", async () => {
    const operator = await TestOperator.install(bench.operator.cluster, { name: "former-stopped" });
    try {
      const { controller } = await operator.start();
      const manifest = operator.object("last", answering(configMap("last")), bench.namespace);
      const { metadata } = await bench.ready(await bench.api.apply(manifest));
      await bench.api.delete(manifest);
      await eventually(() => assert.ok(!controller.knows(metadata, metadata.resourceVersion), "not told"));
      await controller.stop();
      await bench.api.assertGone(here("last"));
    } finally {
      await operator.dispose();
    }
  });

  it("made again, gets its own children, and those of the former one go, wanted or not", async () => {
    const former = await bench.applied("again", answering(configMap("kept", { of: "1" }), configMap("left")));
    await bench.api.delete(former);
    await eventually(() => bench.api.assertGone(former));
    const object = await bench.applied("again", answering(configMap("kept", { of: "2" })));
    assert.notEqual(object.metadata.uid, former.metadata.uid);
    const child = await bench.api.get(here("kept"));
    assert.deepEqual(child["data"], { of: "2" });
    assert.equal(child.metadata.ownerReferences?.[0]?.uid, object.metadata.uid);
    await eventually(() => bench.api.assertGone(here("left")));
  });

  it("leaves to the garbage collector what the operator has not applied, and what has another owner too, made again or not", async () => {
    const former = await bench.applied("owners", answering(configMap("shared")));
    const { apiVersion, kind, metadata } = former;
    const reference = { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true };
    const other = await bench.api.create(here("other"));
    const further = { apiVersion: "v1", kind: "ConfigMap", name: "other", uid: other.metadata.uid };
    await bench.api.patch(here("shared"), { metadata: { ownerReferences: [reference, further] } });
    await bench.idle();
    await bench.api.delete(former);
    await eventually(() => bench.api.assertGone(former));
    const foreign = here("foreign");
    await bench.api.create({ ...foreign, metadata: { ...foreign.metadata, ownerReferences: [reference] } });
    const areThere = async () => {
      for (const name of ["foreign", "shared"]) {
        assert.equal((await bench.api.get(here(name))).metadata.deletionTimestamp, undefined);
      }
    };
    await always(areThere, { forMs: 1_500 });
    await bench.reconcileAgain(await bench.applied("owners", answering(configMap("own"))));
    await areThere();
  });
});
