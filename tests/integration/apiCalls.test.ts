import assert from "node:assert/strict";
import { localHandler } from "../../cli/handler/localHandler";
import { RESIDENT_WORKFLOW_RULES } from "../../components/manifests/operator/rules";
import { Engine } from "../../runtime/engine/engine";
import { KubernetesClient } from "../../runtime/kubernetes/client";
import type { ReconcileReport } from "../../runtime/reconcile/report";
import { RunRecorder } from "../../runtime/report/runRecorder";
import { always, eventually } from "../support/eventually";
import { ApiProxy, type ProxiedRequest } from "./support/apiProxy";
import { allowRunner, announceArgo, INSTANCE_ID, KEPT } from "./support/argo";
import { announceKind, sharedCluster } from "./support/cluster";
import { customResourceDefinitionOf, TestOperator } from "./support/testOperator";
import { becomesReady, conditionOf } from "./support/useOperator";

/** As examples/memcached: a Deployment, a Service, and a status that follows the Deployment's. */
const HANDLER = `
const { createInterface } = require("node:readline");
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, object, children } = JSON.parse(line);
  const { name } = object.metadata;
  const labels = { app: name };
  const container = { name: "main", image: "example.com/cache:1" };
  const template = { metadata: { labels }, spec: { containers: [container] } };
  const spec = { replicas: object.spec.size, selector: { matchLabels: labels }, template };
  const ports = [{ port: 11211 }];
  const seen = children.find(({ kind }) => kind === "Deployment");
  console.log(JSON.stringify({
    id,
    children: [
      { apiVersion: "apps/v1", kind: "Deployment", metadata: { name }, spec },
      { apiVersion: "v1", kind: "Service", metadata: { name }, spec: { clusterIP: "None", selector: labels, ports } },
    ],
    status: { readyReplicas: seen?.status?.readyReplicas ?? 0 },
  }));
});
`;
const OPTIONS = {
  name: "counted",
  handler: HANDLER,
  children: [
    { apiVersion: "apps/v1", kind: "Deployment" },
    { apiVersion: "v1", kind: "Service" },
  ],
};
const OBJECTS = 20;

describe("API calls of the engine, runs recorded as Workflows,", function () {
  this.timeout(90_000);
  announceArgo();
  announceKind(customResourceDefinitionOf(OPTIONS));
  let operator: TestOperator;
  let proxy: ApiProxy;
  let client: KubernetesClient;
  let engine: Engine;
  let namespace: string;
  const reports: ReconcileReport[] = [];

  before(async function () {
    this.timeout(0);
    operator = await TestOperator.install(await sharedCluster(), OPTIONS);
    await allowRunner(operator, "workflows", RESIDENT_WORKFLOW_RULES);
    proxy = await ApiProxy.start(operator.cluster.connection);
    client = new KubernetesClient(proxy.through(operator.connection));
    namespace = await operator.cluster.api.newNamespace("counted");
    engine = await start("one");
  });
  after(async () => {
    await engine?.stop();
    client?.close();
    await proxy?.stop();
    await operator?.dispose();
  });

  it("are at most four for a created object, up to its verdict and its record", async () => {
    const calls = await callsOf("created", 1);
    assert.ok(calls.length <= 4, calls.join("\n"));
  });

  it("are at most three for an update, up to its verdict and its record", async () => {
    await ready("created");
    const calls = await callsOf("created", 2);
    assert.ok(calls.length <= 3, calls.join("\n"));
  });

  it("are none for what is left of a deleted object, while that goes", async () => {
    await ready("created");
    await quiet();
    const before = proxy.requests.length;
    const { api } = operator.cluster;
    await api.delete(operator.object("created", {}, namespace));
    for (const [apiVersion, kind] of [
      ["apps/v1", "Deployment"],
      ["v1", "Service"],
    ] as const)
      await api.delete({ apiVersion, kind, metadata: { name: "created", namespace } });
    await always(() => assert.deepEqual(work(proxy.requests.slice(before)), []), { forMs: 2_000 });
  });

  it("are none at a restart where nothing changed", async () => {
    await Promise.all(Array.from({ length: OBJECTS }, (_, index) => apply(`kept-${index}`, 1)));
    for (let index = 0; index < OBJECTS; index++) await ready(`kept-${index}`);
    await quiet();
    await engine.stop();
    const before = proxy.requests.length;
    reports.length = 0;
    engine = await start("two");
    await eventually(() => assert.ok(reports.length >= OBJECTS, `${reports.length} objects were looked at`));
    await always(() => assert.deepEqual(work(proxy.requests.slice(before)), []), { forMs: 2_000 });
  });

  async function start(identity: string): Promise<Engine> {
    const onReport = (report: ReconcileReport) => void reports.push(report);
    const recorder = new RunRecorder({
      client,
      namespace: operator.runnerNamespace,
      instanceId: INSTANCE_ID,
      kept: KEPT,
      operator: operator.operator,
    });
    const started = new Engine({
      operator: operator.operator,
      connection: proxy.through(operator.connection),
      transport: localHandler(operator.operator, {}),
      namespace: operator.runnerNamespace,
      identity,
      recorder,
      onReport,
    });
    await started.start();
    await eventually(() => assert.ok(started.isLeading));
    return started;
  }

  /** The calls from a change of the object until its verdict and its record are written. */
  async function callsOf(name: string, size: number): Promise<string[]> {
    await quiet();
    const before = proxy.requests.length;
    await apply(name, size);
    await observed(name);
    const calls = () => work(proxy.requests.slice(before));
    const isRecord = (call: string) => call.startsWith("POST") && call.endsWith("/workflows");
    await eventually(() => assert.ok(calls().some(isRecord), calls().join("\n")));
    // The Deployment becomes ready step by step, which is written too.
    const verdict = calls().findIndex((call) => call.endsWith("/status"));
    return calls().filter((call, index) => index <= verdict || isRecord(call));
  }

  /** Without lists, watches and discovery, which are not about one object, and without the lease. */
  function work(requests: readonly ProxiedRequest[]): string[] {
    const isAboutObject = ({ method, path }: ProxiedRequest) =>
      !path.includes("/leases") &&
      (method !== "GET" || (path.includes("/namespaces/") && !path.includes("?")));
    return requests.filter(isAboutObject).map(({ method, path }) => `${method} ${path.split("?")[0]}`);
  }

  function apply(name: string, size: number) {
    return operator.cluster.api.apply({ ...operator.object(name, {}, namespace), spec: { size } });
  }

  async function observed(name: string): Promise<void> {
    await eventually(async () => {
      const object = await operator.cluster.api.get(operator.object(name, {}, namespace));
      assert.equal(conditionOf(object, "Ready").observedGeneration, object.metadata.generation);
    });
  }

  const ready = (name: string) => becomesReady(operator.cluster.api, operator.object(name, {}, namespace));

  /** Waits until nothing has been written for a while. */
  async function quiet(): Promise<void> {
    let [seen, since] = [-1, 0];
    await eventually(() => {
      const now = work(proxy.requests).length;
      if (now !== seen) [seen, since] = [now, performance.now()];
      assert.ok(performance.now() - since > 5_000, "something is still written");
    });
  }
});
