import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Manifest } from "../../runtime/base/objects";
import { eventually } from "../support/eventually";
import { killApiServer, startApiServer } from "./support/apiServer";
import {
  announceKind,
  type OwnCluster,
  sharedCluster,
  startTestCluster,
  type TestCluster,
} from "./support/cluster";
import { configMap, deployment, inNamespace } from "./support/manifests";
import { TcpProxy } from "./support/tcpProxy";
import { customResourceDefinitionOf, type TestController, TestOperator } from "./support/testOperator";
import { answering, statusOf } from "./support/useOperator";

const CHILDREN = [
  { apiVersion: "v1", kind: "ConfigMap" },
  { apiVersion: "v1", kind: "Service" },
  { apiVersion: "apps/v1", kind: "Deployment" },
];
const OUTAGE_SECONDS = 30;
const BURST = 60;
/** The longest wait of a watch between two tries is 15 s. */
const AFTERWARDS = { timeoutMs: 150_000 };

/** The children that a test's objects have at a step. */
function childrenAt(name: string, step: number): Manifest[] {
  const service = { ports: [{ port: 8000 + step }], selector: { app: name } };
  return [
    configMap(name, { step: String(step) }),
    { apiVersion: "v1", kind: "Service", metadata: { name }, spec: service },
    deployment(name, { replicas: step }),
  ];
}

describe("when the API server is gone", function () {
  this.timeout(180_000);
  // One of its own: its controllers notice only long after the outage that it is over.
  let cluster: OwnCluster;
  let operator: TestOperator;
  let proxy: TcpProxy;
  let engine: TestController;
  let namespace: string;
  const uncaught: unknown[] = [];
  const onUncaught = (reason: unknown) => void uncaught.push(reason);

  before(async function () {
    this.timeout(0);
    process.on("unhandledRejection", onUncaught);
    cluster = await startTestCluster();
    operator = await TestOperator.install(cluster, {
      name: "outage-test",
      children: CHILDREN,
      timeoutSeconds: 120,
    });
    proxy = await TcpProxy.start(operator.connection);
    engine = await operator.start({ connection: proxy.through(operator.connection) });
    namespace = await cluster.api.newNamespace("outage");
  });
  after(async () => {
    process.off("unhandledRejection", onUncaught);
    await operator?.dispose();
    await proxy?.stop();
    cluster?.api.close();
    await cluster?.controlPlane.stop();
  });

  it(`for ${OUTAGE_SECONDS} s in the middle of a burst, all objects are right afterwards`, async () => {
    const { api, controlPlane } = cluster;
    const names = Array.from({ length: BURST }, (_, at) => `burst-${at}`);
    const reconciled = () => new Set(engine.reports.map(({ name }) => name)).size;
    // The last ones are still at work when the first are done, however fast the machine is.
    for (const [at, name] of names.entries()) await apply(name, 1, at < BURST - 5 ? 20 : 12_000);
    await eventually(() => assert.ok(reconciled() > BURST / 4));
    await killApiServer(controlPlane);
    assert.ok(reconciled() < BURST, "the burst was over");
    await sleep(OUTAGE_SECONDS * 1_000);

    // The engine must find what happens before it is connected again: a new API server reports nothing older.
    proxy.hold();
    await startApiServer(controlPlane);
    const [changed = "", mended = "", healed = "", ...others] = names;
    await eventually(() => apply(changed, 2));
    await api.delete(inNamespace(configMap(healed), namespace));
    await api.apply(inNamespace(configMap(mended, { step: "by hand" }), namespace));
    await apply("created", 1);
    proxy.release();
    await eventually(() => assertRight(changed, 2), AFTERWARDS);
    for (const name of [mended, healed, "created", ...others]) {
      await eventually(() => assertRight(name, 1), AFTERWARDS);
    }
    assert.ok(engine.notices.some((notice) => /too old resource version/.test(notice)));
    assert.deepEqual(uncaught, []);
  });

  function apply(name: string, step: number, delayMs = 0) {
    const plan = { ...answering(...childrenAt(name, step)), delayMs };
    return cluster.api.apply(operator.object(name, plan, namespace));
  }

  async function assertRight(name: string, step: number): Promise<void> {
    const { api } = cluster;
    for (const child of childrenAt(name, step)) {
      const { metadata, ...found } = await api.get(inNamespace(child, namespace));
      assert.equal(metadata.ownerReferences?.[0]?.name, name);
      if (child.kind === "ConfigMap") assert.deepEqual(found["data"], child["data"]);
      if (child.kind === "Deployment")
        assert.equal((found["spec"] as { replicas?: number }).replicas, step, name);
    }
    const object = await api.get(operator.object(name, {}, namespace));
    assert.equal(statusOf(object)["observedGeneration"], object.metadata.generation, `${name} not observed`);
  }
});

describe("when connections to the API server break", function () {
  this.timeout(120_000);
  const OPERATOR = { name: "breaks-test", children: CHILDREN.slice(0, 2) };
  announceKind(customResourceDefinitionOf(OPERATOR));
  let cluster: TestCluster;
  let operator: TestOperator;
  let proxy: TcpProxy;
  let namespace: string;

  before(async function () {
    this.timeout(0);
    cluster = await sharedCluster();
    operator = await TestOperator.install(cluster, OPERATOR);
    proxy = await TcpProxy.start(operator.connection);
    namespace = await cluster.api.newNamespace(OPERATOR.name);
    const { controller } = await operator.start({ connection: proxy.through(operator.connection) });
    await eventually(() => assert.ok(controller.isLeading));
  });
  after(async () => {
    await operator?.dispose();
    await proxy?.stop();
  });

  it("at random while objects are created, changed and deleted, all are right afterwards", async () => {
    const names = Array.from({ length: 12 }, (_, at) => `cut-${at}`);
    let cutting = true;
    const cuts = (async () => {
      while (cutting) {
        await sleep(Math.random() * 150);
        proxy.cut();
      }
    })();
    for (let step = 1; step <= 4; step++) {
      for (const name of names) await apply(name, step);
    }
    for (const name of names.slice(0, 4)) await cluster.api.delete(operator.object(name, {}, namespace));
    await sleep(1_000);
    cutting = false;
    await cuts;
    for (const name of names.slice(4)) await eventually(() => assertStep(name, 4));
    for (const name of names.slice(0, 4)) {
      // By the garbage collector: whose they are must have been written on every one of them.
      for (const child of childrenOf(name, 4)) {
        await eventually(() => cluster.api.assertGone(inNamespace(child, namespace)));
      }
    }
  });

  it("between a write and its answer, the write is not taken for not done", async () => {
    await apply("unanswered", 1);
    await eventually(() => assertStep("unanswered", 1));
    for (let step = 2; !(await isWrittenUnanswered(step)); step++) {
      // The engine had to open a new connection for it, which takes answers: all is right all the same.
      proxy.release();
      await eventually(() => assertStep("unanswered", step));
    }
    // What was applied before, and would still exist if that write had not been done.
    await apply("unanswered", 1);
    // A request on a kept-alive connection is repeated when that is cut: until it is cut on a new one.
    proxy.cut();
    await eventually(() => assert.ok(proxy.connections > 0));
    proxy.release();
    await eventually(() => assertStep("unanswered", 1));
  });

  /** Changes the object, and loses the answers to what the engine writes for it. Whether it was written. */
  async function isWrittenUnanswered(step: number): Promise<boolean> {
    const { generation } = (await apply("unanswered", step, 500)).metadata;
    const isAsked = () =>
      operator.calls("unanswered").some(({ object }) => object.metadata.generation === generation);
    await eventually(() => assert.ok(isAsked()));
    proxy.loseAnswers();
    const child = inNamespace(configMap("unanswered"), namespace);
    for (let look = 0; look < 100; look++) {
      if (isDeepStrictEqual((await cluster.api.get(child))["data"], { step: `${step}` })) return true;
      await sleep(50);
    }
    return false;
  }

  function childrenOf(name: string, step: number): Manifest[] {
    return childrenAt(name, step).slice(0, 2);
  }

  function apply(name: string, step: number, delayMs = 0) {
    const plan = { ...answering(...childrenOf(name, step)), delayMs };
    return cluster.api.apply(operator.object(name, plan, namespace));
  }

  async function assertStep(name: string, step: number): Promise<void> {
    const object = await cluster.api.get(operator.object(name, {}, namespace));
    const { metadata, ...found } = await cluster.api.get(inNamespace(configMap(name), namespace));
    assert.equal(metadata.ownerReferences?.[0]?.uid, object.metadata.uid);
    assert.deepEqual(found["data"], { step: String(step) }, name);
    assert.equal(statusOf(object)["observedGeneration"], object.metadata.generation, `${name} not observed`);
  }
});
