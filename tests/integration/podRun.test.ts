import assert from "node:assert/strict";
import { RUN_WORKFLOW_RULES } from "../../components/manifests/operator/rbac";
import { KubernetesClient } from "../../runtime/kubernetes/client";
import type { Manifest } from "../../runtime/kubernetes/objects";
import type { HttpTransport } from "../../runtime/kubernetes/transport";
import type { RunOnceOptions } from "../../runtime/pod/runOnce";
import type { RunOutcome } from "../../runtime/pod/runOutcome";
import type { ReconcileReport } from "../../runtime/reconcile/report";
import type { Reference } from "../../tools/objects";
import { aSecond, eventually } from "../support/eventually";
import type { Api } from "./support/api";
import { submit } from "./support/argo";
import { configMap, deployment, inNamespace } from "./support/manifests";
import { Meddler, type Meddling, once } from "./support/meddler";
import { type PodBench, usePods } from "./support/podRun";
import type { ObjectPlan, TestOperator } from "./support/testOperator";
import { answering } from "./support/useOperator";

const OPTIONS = {
  name: "in-pods",
  finalize: true,
  children: [
    { apiVersion: "v1", kind: "ConfigMap" },
    { apiVersion: "apps/v1", kind: "Deployment" },
  ],
};

/**
 * What the engine does in a pod of a Workflow, without the pod and without Argo: the test submits the Workflow, and
 * the handler is a child process. The pod itself is tried in the e2e.
 */
describe("the engine in a pod of its own", () => {
  let bench: PodBench;
  let operator: TestOperator;
  let api: Api;
  let namespace: string;
  let reports: ReconcileReport[];
  let meddler: Meddler | undefined;
  let runs = 0;
  const clients: KubernetesClient[] = [];

  usePods(
    OPTIONS,
    () => RUN_WORKFLOW_RULES,
    (begun) => {
      bench = begun;
      ({ operator, api, namespace } = bench);
      reports = [];
    },
  );

  after(() => {
    meddler?.close();
    for (const client of clients) client.close();
  });

  const object = (name: string, plan?: ObjectPlan) => bench.object(name, plan);
  const inTest = (manifest: Manifest) => inNamespace(manifest, namespace) as Reference & Manifest;
  const readyOf = (manifest: Reference) => bench.readyOf(manifest);

  /** A run that waits for nothing but changes, and somebody who meddles with its object. */
  const impatient = (meddling: Meddling): Partial<RunOnceOptions> => {
    meddler?.close();
    meddler = new Meddler(operator.connection, meddling);
    return { client: meddler, patienceMs: 0 };
  };
  /** A client, and what was asked of the API server with it. */
  const counting = () => {
    const calls: string[] = [];
    const client = new KubernetesClient(operator.connection);
    const { transport } = client as unknown as { transport: HttpTransport };
    const told = (method: string, path: string) => {
      const [, resource = "", subresource] =
        /\/(?:apis\/[^/]+\/|api\/)v[^/]+(?:\/namespaces\/[^/]+)?\/([a-z]+)(?:\/[^/?]+(\/[a-z]+)?)?/.exec(
          path,
        ) ?? [];
      calls.push(`${method} ${resource}${subresource ?? ""}`);
    };
    const { send, open } = transport;
    transport.send = (request) => {
      told(request.method, request.path);
      return send.call(transport, request) as never;
    };
    transport.open = (request) => {
      told("WATCH", request.path);
      return open.call(transport, request);
    };
    clients.push(client);
    return { calls: () => calls, client };
  };
  const assertNewest = async (manifest: Reference) => {
    const { metadata, status } = await api.get(manifest);
    const { observedGeneration } = status as { observedGeneration?: number };
    assert.equal(observedGeneration, metadata.generation);
    assert.equal((await readyOf(manifest)).status, "True");
  };

  /** Submits a Workflow and does what its pod would. */
  async function run(
    parameters: Parameters<typeof submit>[2],
    more: Partial<RunOnceOptions> = {},
  ): Promise<RunOutcome & { workflow: string }> {
    const workflow = `run-${++runs}`;
    await submit(operator, workflow, parameters);
    const onReport = (report: ReconcileReport) => void reports.push(report);
    // Enough for Deployments that become ready late, on a busy machine.
    const patienceMs = 120_000;
    // The same: a run of ten seconds looks once more at its Workflow.
    const lookMs = patienceMs;
    return { ...(await bench.run(workflow, { onReport, patienceMs, lookMs, ...more })), workflow };
  }

  it("brings about the object that its Workflow names, and Ready names the Workflow", async () => {
    const manifest = object("demo", answering(configMap("settings")));
    await api.apply(manifest);
    const { exitCode, message, workflow } = await run({ namespace, name: "demo" });
    assert.deepStrictEqual([exitCode, message], [0, "created ConfigMap settings"]);
    await api.get(inTest(configMap("settings")));
    const ready = await readyOf(manifest);
    assert.equal(ready.status, "True");
    assert.equal(ready.message, `every child is applied and ready (run ${workflow})`);
  });

  it("makes at most eight calls for an object that is new, and asks the API server for nothing twice", async () => {
    await api.apply(object("demo", answering(deployment("web"), configMap("settings"))));
    const { calls, client } = counting();
    const { exitCode } = await run({ namespace, name: "demo" }, { client });
    assert.equal(exitCode, 0);
    assert.equal((await readyOf(object("demo"))).status, "True");
    assert.deepStrictEqual(calls(), [
      "GET workflows",
      "GET inpodss",
      // This operator finalizes.
      "PATCH inpodss",
      "PATCH configmaps",
      "PATCH deployments",
      "PATCH inpodss/status",
      "WATCH deployments",
      "PATCH inpodss/status",
    ]);
  });

  it("makes at most eight calls for an update whose children take their time to be ready", async () => {
    const plan = (version: number) => {
      const containers = [{ name: "main", image: `example.com/worker:${version}` }];
      const template = { metadata: { labels: { app: "web" } }, spec: { containers } };
      return answering(deployment("web", { template }), configMap("settings"));
    };
    await api.apply(object("demo", plan(1)));
    await run({ namespace, name: "demo" });
    // As long as somebody holds the Deployment, it is not rolled out.
    await api.patch(inTest(deployment("web")), { spec: { paused: true } });
    await aSecond();
    await api.apply(object("demo", plan(2)));
    const { calls, client } = counting();
    const running = run({ namespace, name: "demo" }, { client });
    await eventually(() => assert.ok(calls().includes("WATCH deployments")));
    await eventually(async () => assert.equal((await readyOf(object("demo"))).reason, "ChildrenNotReady"));
    await api.patch(inTest(deployment("web")), { spec: { paused: false } });
    assert.equal((await running).exitCode, 0);
    await assertNewest(object("demo"));
    assert.deepStrictEqual(calls(), [
      "GET workflows",
      "GET inpodss",
      "GET configmaps",
      "GET deployments",
      "PATCH deployments",
      "PATCH inpodss/status",
      "WATCH deployments",
      "PATCH inpodss/status",
    ]);
  });

  it("lists the children of an object that has not changed, and writes nothing", async () => {
    await api.apply(object("demo", answering(configMap("settings", { a: "1" }))));
    await run({ namespace, name: "demo" });
    const { calls, client } = counting();
    const { message } = await run({ namespace, name: "demo" }, { client });
    assert.equal(message, "nothing to change");
    assert.deepStrictEqual(calls(), ["GET workflows", "GET inpodss", "GET configmaps", "GET deployments"]);
  });

  it("begins nothing until its handler's container is there, and fails where that does not come", async () => {
    const manifest = object("demo", answering(configMap("settings")));
    await api.apply(manifest);
    const handlerReady = () => Promise.reject(new Error("it was not there"));
    const { exitCode, message } = await run({ namespace, name: "demo" }, { handlerReady });
    assert.deepStrictEqual([exitCode, message, reports], [1, "it was not there", []]);
    await api.assertGone(inTest(configMap("settings")));
  });

  it("tells where the cluster does not serve a kind of Kubernetes' own in that version", async () => {
    const apiVersion = "apps/v1beta1";
    const manifest = object("demo", answering({ ...deployment("web"), apiVersion }));
    await api.apply(manifest);
    const child = { apiVersion, kind: "Deployment", plural: "deployments" };
    const children = [{ ...child, update: "apply" as const }];
    const { exitCode, message } = await run(
      { namespace, name: "demo" },
      { operator: { ...operator.operator, children } },
    );
    assert.equal(exitCode, 1);
    assert.match(message, /^KindMissing: the cluster serves no kind Deployment \(apps\/v1beta1\)/);
    assert.equal((await readyOf(manifest)).reason, "KindMissing");
  });

  it("prunes what an earlier run made, and leaves a calm object's status", async () => {
    const manifest = object("demo", answering(configMap("old"), configMap("kept")));
    await api.apply(manifest);
    await run({ namespace, name: "demo" });
    await api.apply(object("demo", answering(configMap("kept"))));
    const pruned = await run({ namespace, name: "demo" });
    assert.equal(pruned.message, "deleted ConfigMap old");
    await api.assertGone(inTest(configMap("old")));
    const before = await api.get(manifest);
    assert.equal((await run({ namespace, name: "demo" })).message, "nothing to change");
    assert.equal((await api.get(manifest)).metadata.resourceVersion, before.metadata.resourceVersion);
  });

  it("finds a child without its labels by its name, and labels it again", async () => {
    await api.apply(object("demo", answering(configMap("settings"))));
    await run({ namespace, name: "demo" });
    const before = await api.get(inTest(configMap("settings")));
    await api.patch(inTest(configMap("settings")), { metadata: { labels: null } });
    assert.equal((await run({ namespace, name: "demo" })).message, "patched ConfigMap settings");
    const { metadata } = await api.get(inTest(configMap("settings")));
    assert.deepStrictEqual([metadata.uid, metadata.labels], [before.metadata.uid, before.metadata.labels]);
  });

  it("prunes a child of a run that ended before it could report it", async () => {
    const manifest = object("demo", answering(configMap("old")));
    await api.apply(manifest);
    const { client } = counting();
    const { apply } = client;
    client.apply = (...args) =>
      args[2].subresource === "status" ? Promise.reject(new Error("killed")) : apply.apply(client, args);
    await run({ namespace, name: "demo" }, { client });
    assert.equal((await api.get(manifest))["status"], undefined);
    await api.apply(object("demo", answering()));
    await run({ namespace, name: "demo" });
    await api.assertGone(inTest(configMap("old")));
  });

  it("heals a child that somebody changed, and prunes one in another namespace", async () => {
    const elsewhere = await api.newNamespace("in-pods-other");
    const far = inNamespace(configMap("far"), elsewhere) as Reference & Manifest;
    const manifest = object("demo", answering(configMap("settings", { a: "1" }), far));
    await api.apply(manifest);
    await run({ namespace, name: "demo" });
    await api.get(far);
    await api.apply(inTest(configMap("settings", { a: "2" })));
    assert.equal((await run({ namespace, name: "demo" })).message, "patched ConfigMap settings");
    await api.apply(object("demo", answering(configMap("settings", { a: "1" }))));
    await run({ namespace, name: "demo" });
    await api.assertGone(far);
  });

  it("stays until the children are ready, and then says so", async () => {
    const manifest = object("demo", answering(deployment("web")));
    await api.apply(manifest);
    const { exitCode } = await run({ namespace, name: "demo" });
    assert.equal(exitCode, 0);
    assert.equal((await readyOf(manifest)).status, "True");
  });

  it("ends all the same where its patience is over, and leaves the rest to the resync", async () => {
    const manifest = object("demo", { answer: { children: [], requeueAfterSeconds: 3_600 } });
    await api.apply(manifest);
    const { exitCode, message } = await run({ namespace, name: "demo" });
    assert.equal(exitCode, 0);
    assert.match(message, /to be asked again after 3600 s: by the next resync/);
    await api.apply(object("late", answering(deployment("web"))));
    const { message: late } = await run({ namespace, name: "late" }, { patienceMs: 0 });
    assert.match(late, /not every child is ready yet: the next resync looks again/);
  });

  it("asks again where the handler wishes it soon", async () => {
    const manifest = object("demo", { answer: { children: [], requeueAfterSeconds: 0.2 } });
    await api.apply(manifest);
    const enough = new AbortController();
    const onReport = (report: ReconcileReport) => {
      reports.push(report);
      if (reports.length === 2) enough.abort();
    };
    await run({ namespace, name: "demo" }, { onReport, signal: enough.signal });
    assert.ok(reports.length >= 2, `asked ${reports.length} times`);
  });

  it("fails with a last word where the handler fails, and the object reports it", async () => {
    const manifest = object("demo", { exitCode: 3, log: "no plan" });
    await api.apply(manifest);
    const { exitCode, message, workflow } = await run({ namespace, name: "demo" });
    assert.equal(exitCode, 1);
    assert.match(message, /^HandlerCrashed: the handler ended with exit code 3/);
    assert.equal(reports[0]?.log, "no plan\n");
    const ready = await readyOf(manifest);
    assert.equal(ready.reason, "HandlerCrashed");
    assert.ok(ready.message.endsWith(`(run ${workflow})`), ready.message);
  });

  it("does nothing for an object that is gone, is another one, or is paused", async () => {
    assert.match((await run({ namespace, name: "gone" })).message, /^nothing to do: InPods .*\/gone is gone/);
    await api.apply(object("demo", answering(configMap("settings"))));
    const other = await run({ namespace, name: "demo", uid: "another" });
    assert.deepStrictEqual([other.exitCode, reports.length], [0, 0]);
    assert.match(other.message, /is another one by now/);
    await api.annotate(object("demo"), { "argosy.dev/paused": "true" });
    const paused = await run({ namespace, name: "demo" });
    assert.deepStrictEqual([paused.exitCode, paused.message], [0, "nothing to do: the object is paused"]);
    await api.assertGone(inTest(configMap("settings")));
  });

  it("stays with an object that changes while the handler works, however long that takes", async () => {
    const manifest = object("demo", answering(configMap("old")));
    await api.apply(manifest);
    const change = () => api.apply(object("demo", answering(configMap("new"))));
    const { exitCode } = await run({ namespace, name: "demo" }, impatient({ before: once(change) }));
    assert.deepStrictEqual([exitCode, reports.map(({ skipped }) => skipped)], [0, [undefined, undefined]]);
    await assertNewest(manifest);
    await api.get(inTest(configMap("new")));
  });

  it("leaves a change after its last word to the run of that change", async () => {
    const manifest = object("demo", { exitCode: 3 });
    await api.apply(manifest);
    const change = () => api.apply(object("demo", answering(configMap("new"))));
    const { exitCode } = await run({ namespace, name: "demo" }, impatient({ after: once(change) }));
    assert.deepStrictEqual([exitCode, reports.map(({ attempt }) => attempt)], [1, [1]]);
    await run({ namespace, name: "demo" });
    await assertNewest(manifest);
    await api.get(inTest(configMap("new")));
  });

  it("follows an object that changes while it waits for the children", async () => {
    const manifest = object("demo", answering(deployment("web", { paused: true })));
    await api.apply(manifest);
    const running = run({ namespace, name: "demo" });
    await eventually(async () => assert.equal((await readyOf(manifest)).status, "False"));
    await api.apply(object("demo", answering(configMap("new"))));
    assert.equal((await running).exitCode, 0);
    await assertNewest(manifest);
    await api.assertGone(inTest(deployment("web")));
  });

  it("leaves an object that never rests to the next run when its time is over", async () => {
    await api.apply(object("demo", answering(configMap("settings"))));
    let change = 0;
    const before = () =>
      api.apply(object("demo", { ...answering(configMap("settings")), delayMs: ++change }));
    const more = { ...impatient({ before }), changesPatienceMs: 6_000 };
    const { exitCode } = await run({ namespace, name: "demo" }, more);
    assert.equal(exitCode, 0);
    assert.ok(reports.length > 1, `${reports.length} reconciles`);
  });

  it("makes others of its object needless that wait for its lock, but for the last, and no other Workflow", async () => {
    const { metadata } = await api.apply(object("hot", answering(configMap("settings"))));
    const { uid } = metadata;
    const hot = { namespace, name: "hot", uid };
    const labels = { "argosy.dev/object-uid": uid };
    const waits = (name: string) => submit(operator, `${namespace}-${name}`, hot, labels);
    for (const name of ["old", "pending", "running", "ended"]) await waits(name);
    await submit(operator, `${namespace}-nightly`, { ...hot, schedule: "nightly" }, labels);
    await aSecond();
    for (const name of ["newest", "stopped"]) await waits(name);
    await submit(operator, `${namespace}-by-hand`, hot);
    await submit(operator, `${namespace}-other`, { namespace, name: "other", uid }, labels);
    await submit(operator, `${namespace}-trial`, { ...hot, object: "{}" }, labels);
    const workflow = (name: string) => bench.workflow(`${namespace}-${name}`);
    await api.patch(workflow("pending"), { status: { phase: "Pending", message: "Waiting for a lock" } });
    await api.patch(workflow("stopped"), { spec: { shutdown: "Stop" } });
    await api.patch(workflow("running"), { status: { phase: "Running" } });
    const completed = { "workflows.argoproj.io/completed": "true" };
    await api.patch(workflow("ended"), { metadata: { labels: completed }, status: { phase: "Succeeded" } });
    const change = async () => {
      await aSecond();
      await api.apply(object("hot", answering(configMap("settings"), configMap("more"))));
    };
    const nightly = { cron: "0 3 * * *", timeZone: "UTC", spreadSeconds: 0 };
    const scheduled = { ...operator.operator, schedules: { nightly } };
    const { exitCode, message } = await run(hot, {
      ...impatient({ before: once(change) }),
      operator: scheduled,
    });
    assert.deepStrictEqual(
      [exitCode, message],
      [0, "created ConfigMap more; 2 further runs were not needed any more"],
    );
    const left = [
      "nightly",
      "old",
      "pending",
      "newest",
      "stopped",
      "running",
      "ended",
      "by-hand",
      "other",
      "trial",
    ];
    const there = await Promise.all(left.map((name) => api.find(workflow(name))));
    assert.deepStrictEqual(
      left.filter((_, index) => there[index]),
      ["nightly", "newest", "stopped", "running", "ended", "by-hand", "other", "trial"],
    );
  });

  it("finalizes an object that is being deleted, asking until the handler has finished", async () => {
    const plan = answering(configMap("settings"));
    const manifest = object("demo", plan);
    await api.apply(manifest);
    await run({ namespace, name: "demo" });
    operator.plan("demo", {
      ...plan,
      finalize: { answer: { finalized: false, requeueAfterSeconds: 0.2 } },
    });
    await api.delete(manifest);
    const unfinished = await run({ namespace, name: "demo" }, { patienceMs: 500 });
    assert.equal(unfinished.exitCode, 0);
    await api.get(manifest);
    operator.unplan("demo");
    assert.equal((await run({ namespace, name: "demo" })).message, "finalized");
    await api.assertGone(manifest);
  });

  it("tries the handler on an object alone: it gives the answer, and applies nothing", async () => {
    const example = object("example", answering(configMap("never")));
    const { exitCode, answer } = await run({ object: JSON.stringify(example) });
    assert.equal(exitCode, 0);
    assert.deepStrictEqual(JSON.parse(answer ?? ""), { children: [configMap("never")] });
    await api.assertGone(inTest(configMap("never")));
    await api.assertGone(example);
  });

  it("gives only the beginning of an answer that is too long for a Workflow", async () => {
    const example = object("example", answering(configMap("large", { text: "x".repeat(1_000_000) })));
    const { exitCode, message, answer = "" } = await run({ object: JSON.stringify(example) });
    assert.equal(exitCode, 0);
    assert.ok(answer.length <= 512 * 1024, `${answer.length} characters`);
    assert.match(message, /of which the first 524288 are here/);
  });

  it("fails where its Workflow makes no sense, and says why", async () => {
    const { exitCode, message } = await run({ object: "{" });
    assert.deepStrictEqual([exitCode, message.slice(0, 30)], [1, 'parameter "object" is not JSON']);
    assert.equal((await run({})).exitCode, 1);
  });
});
