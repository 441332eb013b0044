import assert from "node:assert/strict";
import { RUN_WORKFLOW_RULES, resyncWorkflowRules } from "../../components/manifests/operator/rules";
import { WORKFLOWS } from "../../runtime/argo/workflows";
import { ChildProcessTransport } from "../../runtime/handler/childProcessTransport";
import { KubernetesClient } from "../../runtime/kubernetes/client";
import type { KubernetesObject, Manifest } from "../../runtime/kubernetes/objects";
import { type ResyncOptions, resyncOnce } from "../../runtime/pod/resyncOnce";
import { type RunOnceOptions, type RunOutcome, runOnce } from "../../runtime/pod/runOnce";
import type { ReconcileReport } from "../../runtime/reconcileReport";
import type { Api, Reference } from "./support/api";
import { allowRunner, announceArgo, INSTANCE_ID, submit } from "./support/argo";
import { announceKind, sharedCluster } from "./support/cluster";
import { configMap, deployment, inNamespace } from "./support/manifests";
import { Meddler, type Meddling, once } from "./support/meddler";
import { customResourceDefinitionOf, type ObjectPlan, TestOperator } from "./support/testOperator";
import { answering, conditionOf } from "./support/useOperator";

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
  announceArgo();
  announceKind(customResourceDefinitionOf(OPTIONS));

  let operator: TestOperator;
  let api: Api;
  let client: KubernetesClient;
  let namespace: string;
  let reports: ReconcileReport[];
  let meddler: Meddler | undefined;
  let runs = 0;

  before(async function () {
    // The control plane may have to be built.
    this.timeout(0);
    operator = await TestOperator.install(await sharedCluster(), OPTIONS);
    ({ api } = operator.cluster);
    await allowRunner(operator, "run", RUN_WORKFLOW_RULES);
    await allowRunner(operator, "resync", resyncWorkflowRules(operator.operator));
    client = new KubernetesClient(operator.connection);
  });

  beforeEach(async () => {
    namespace = await api.newNamespace("in-pods");
    reports = [];
  });

  after(async () => {
    client?.close();
    meddler?.close();
    await operator?.dispose();
  });

  const object = (name: string, plan: ObjectPlan = {}): Reference & Manifest =>
    operator.object(name, plan, namespace) as Reference & Manifest;
  const inTest = (manifest: Manifest) => inNamespace(manifest, namespace) as Reference & Manifest;
  const readyOf = async (manifest: Reference) => conditionOf(await api.get(manifest), "Ready");

  /** Until it is a second later, as the API server tells times. */
  const aSecond = () => new Promise((resolve) => setTimeout(resolve, 1_100));
  /** A run that waits for nothing but changes, and somebody who meddles with its object. */
  const impatient = (meddling: Meddling): Partial<RunOnceOptions> => {
    meddler?.close();
    meddler = new Meddler(operator.connection, meddling);
    return { client: meddler, patienceMs: 0 };
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
    const { handler, folder } = operator.operator;
    const outcome = await runOnce({
      operator: operator.operator,
      client,
      transport: new ChildProcessTransport({ command: handler.command, folder, env: {} }),
      namespace: operator.runnerNamespace,
      workflow,
      instance: `${workflow}-pod`,
      onReport: (report) => void reports.push(report),
      ...more,
    });
    return { ...outcome, workflow };
  }

  describe("run", () => {
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

    it("asks the API server for nothing twice", async () => {
      await api.apply(object("demo", answering(configMap("settings"))));
      const calls: string[] = [];
      const counting = new KubernetesClient(operator.connection, ({ method }) => calls.push(method));
      const { exitCode } = await run({ namespace, name: "demo" }, { client: counting });
      assert.equal(exitCode, 0);
      // The Workflow, the object, its children of two kinds, and the object once more at the end.
      assert.deepStrictEqual(calls.sort(), [...Array(5).fill("GET"), "PATCH", "PATCH", "PATCH", "POST"]);
      counting.close();
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
      await api.apply(object("demo", answering()));
      const child = { apiVersion: "apps/v1beta1", kind: "Deployment", plural: "deployments" };
      const children = [{ ...child, update: "apply" as const }];
      const { exitCode, message } = await run(
        { namespace, name: "demo" },
        { operator: { ...operator.operator, children } },
      );
      assert.equal(exitCode, 1);
      assert.match(message, /serves no kind Deployment in apps\/v1beta1/);
    });

    it("prunes what an earlier run made, also where its labels are gone, and leaves a calm object's status", async () => {
      const manifest = object("demo", answering(configMap("old"), configMap("kept")));
      await api.apply(manifest);
      await run({ namespace, name: "demo" });
      await api.patch(inTest(configMap("old")), { metadata: { labels: null } });
      await api.apply(object("demo", answering(configMap("kept"))));
      const pruned = await run({ namespace, name: "demo" });
      assert.equal(pruned.message, "deleted ConfigMap old");
      await api.assertGone(inTest(configMap("old")));
      const before = await api.get(manifest);
      assert.equal((await run({ namespace, name: "demo" })).message, "nothing to change");
      assert.equal((await api.get(manifest)).metadata.resourceVersion, before.metadata.resourceVersion);
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
      await run({ namespace, name: "demo" }, { patienceMs: 2_000 });
      assert.ok(reports.length >= 2, `asked ${reports.length} times`);
    });

    it("fails with a last word where the handler fails, and the object tells of it", async () => {
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
      assert.match(
        (await run({ namespace, name: "gone" })).message,
        /^nothing to do: InPods .*\/gone is gone/,
      );
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
      assert.deepStrictEqual(
        [exitCode, reports.map(({ skipped }) => skipped)],
        [0, ["changed meanwhile", undefined]],
      );
      await assertNewest(manifest);
      await api.get(inTest(configMap("new")));
    });

    it("looks once more before it ends, and follows what has changed since its last word", async () => {
      const manifest = object("demo", { exitCode: 3 });
      await api.apply(manifest);
      const change = () => api.apply(object("demo", answering(configMap("new"))));
      const { exitCode } = await run({ namespace, name: "demo" }, impatient({ after: once(change) }));
      assert.deepStrictEqual([exitCode, reports.map(({ attempt }) => attempt)], [0, [1, 1]]);
      await assertNewest(manifest);
      await api.get(inTest(configMap("new")));
    });

    it("leaves an object that never rests to the next run when its time is over", async () => {
      await api.apply(object("demo", answering(configMap("settings"))));
      let change = 0;
      const after = () =>
        api.apply(object("demo", { ...answering(configMap("settings")), delayMs: ++change }));
      const more = { ...impatient({ after }), changesPatienceMs: 2_000 };
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
      await aSecond();
      for (const name of ["newest", "stopped"]) await waits(name);
      await submit(operator, `${namespace}-by-hand`, hot);
      await submit(operator, `${namespace}-other`, { namespace, name: "other", uid }, labels);
      await submit(operator, `${namespace}-trial`, { ...hot, object: "{}" }, labels);
      const workflow = (name: string) => ({
        ...WORKFLOWS,
        metadata: { name: `${namespace}-${name}`, namespace: operator.runnerNamespace },
      });
      await api.patch(workflow("pending"), { status: { phase: "Pending", message: "Waiting for a lock" } });
      await api.patch(workflow("stopped"), { spec: { shutdown: "Stop" } });
      await api.patch(workflow("running"), { status: { phase: "Running" } });
      const completed = { "workflows.argoproj.io/completed": "true" };
      await api.patch(workflow("ended"), { metadata: { labels: completed }, status: { phase: "Succeeded" } });
      const { exitCode, message } = await run(hot);
      assert.deepStrictEqual(
        [exitCode, message],
        [0, "created ConfigMap settings; 2 further runs were not needed any more"],
      );
      const left = ["old", "pending", "newest", "stopped", "running", "ended", "by-hand", "other", "trial"];
      const there = await Promise.all(left.map((name) => api.find(workflow(name))));
      assert.deepStrictEqual(
        left.filter((_, index) => there[index]),
        ["newest", "stopped", "running", "ended", "by-hand", "other", "trial"],
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

    it("fails where its Workflow makes no sense, and says why", async () => {
      const { exitCode, message } = await run({ object: "{" });
      assert.deepStrictEqual([exitCode, message.slice(0, 30)], [1, 'parameter "object" is not JSON']);
      assert.equal((await run({})).exitCode, 1);
    });
  });

  describe("resync", () => {
    const resync = (more: Partial<ResyncOptions> = {}) =>
      resyncOnce({
        operator: { ...operator.operator, namespaces: [namespace] },
        client,
        namespace: operator.runnerNamespace,
        instanceId: INSTANCE_ID,
        instance: "resync-pod",
        lookMs: 50,
        withinMs: 300,
        ...more,
      });

    /** The Workflows of this test's namespace that a resync has submitted, by the object's name. */
    async function submittedFor(): Promise<Map<string, KubernetesObject>> {
      const all = await api.list(WORKFLOWS.apiVersion, WORKFLOWS.kind, operator.runnerNamespace);
      const parameters = (workflow: KubernetesObject) =>
        (workflow["spec"] as { arguments: { parameters: { name: string; value: string }[] } }).arguments
          .parameters;
      const value = (workflow: KubernetesObject, name: string) =>
        parameters(workflow).find((parameter) => parameter.name === name)?.value;
      return new Map(
        all
          .filter((workflow) => value(workflow, "namespace") === namespace)
          .map((workflow) => [value(workflow, "name") ?? "", workflow]),
      );
    }

    /** Ends what other tests have left unfinished: nobody else does here. */
    beforeEach(async () => {
      for (const { metadata } of await api.list(
        WORKFLOWS.apiVersion,
        WORKFLOWS.kind,
        operator.runnerNamespace,
      )) {
        await api.delete({
          ...WORKFLOWS,
          metadata: { name: metadata.name, namespace: operator.runnerNamespace },
        });
      }
    });

    it("submits a run for every object, which that run then reconciles", async () => {
      for (const name of ["a", "b"]) await api.apply(object(name, answering(configMap(`of-${name}`))));
      assert.deepStrictEqual(await resync(), { submitted: 2, running: 0, left: 0, failed: 0 });
      const workflows = await submittedFor();
      assert.deepStrictEqual([...workflows.keys()].sort(), ["a", "b"]);
      const workflow = workflows.get("a")?.metadata;
      assert.match(workflow?.name ?? "", /^in-pods-a-[0-9a-f]{10}$/);
      assert.equal(workflow?.labels?.["workflows.argoproj.io/controller-instanceid"], INSTANCE_ID);
      const { handler, folder } = operator.operator;
      await runOnce({
        operator: operator.operator,
        client,
        transport: new ChildProcessTransport({ command: handler.command, folder, env: {} }),
        namespace: operator.runnerNamespace,
        workflow: workflow?.name ?? "",
        instance: "pod",
      });
      await api.get(inTest(configMap("of-a")));
    });

    it("submits none for an object that has one going on, nor for a paused one, nor one that others finalize", async () => {
      await api.apply(object("busy"));
      await submit(operator, `busy-${++runs}`, { namespace, name: "busy" });
      await api.apply({
        ...object("paused"),
        metadata: { ...object("paused").metadata, annotations: { "argosy.dev/paused": "true" } },
      });
      const foreign = object("foreign");
      await api.apply({ ...foreign, metadata: { ...foreign.metadata, finalizers: ["example.com/hold"] } });
      await api.delete(foreign);
      assert.deepStrictEqual(await resync(), { submitted: 0, running: 1, left: 0, failed: 0 });
      await api.patch(foreign, { metadata: { finalizers: null } });
    });

    it("submits one again where the former has ended", async () => {
      await api.apply(object("demo"));
      await resync();
      const former = (await submittedFor()).get("demo");
      assert.ok(former);
      const named = {
        ...WORKFLOWS,
        metadata: { name: former.metadata.name, namespace: operator.runnerNamespace },
      };
      assert.equal((await resync()).submitted, 0);
      await api.patch(named, { metadata: { labels: { "workflows.argoproj.io/completed": "true" } } });
      assert.equal((await resync()).submitted, 1);
    });

    it("tells objects whose last run failed without a word, once, and no others", async () => {
      const submitted = async (name: string, phase: string, uid: string) => {
        const labels = {
          "argosy.dev/object-uid": uid,
          "argosy.dev/operator": operator.operator.name,
          "workflows.argoproj.io/completed": "true",
          "workflows.argoproj.io/phase": phase,
        };
        const workflow = `${namespace}-${++runs}`;
        await submit(operator, workflow, { namespace, name, uid }, labels);
        const metadata = { name: workflow, namespace: operator.runnerNamespace };
        const lastWord = "main: Error (exit code 1): the handler was not there";
        const nodes = {
          wait: { displayName: "wait", phase },
          main: { displayName: "main", phase, message: lastWord },
        };
        const status = { phase, message: "Pod was active on the node longer than the deadline", nodes };
        await api.patch({ ...WORKFLOWS, metadata }, { status });
        return workflow;
      };
      const uids = new Map<string, string>();
      for (const name of ["silent", "healed", "told"]) {
        uids.set(name, (await api.apply(object(name))).metadata.uid);
      }
      const uidOf = (name: string) => uids.get(name) ?? "";
      for (const name of ["healed", "told"]) await submitted(name, "Failed", uidOf(name));
      await aSecond();
      const silent = await submitted("silent", "Error", uidOf("silent"));
      await submitted("healed", "Succeeded", uidOf("healed"));
      await run({ namespace, name: "told" });
      await resync();
      const ready = await readyOf(object("silent"));
      assert.deepStrictEqual([ready.status, ready.reason], ["False", "RunFailed"]);
      assert.match(
        ready.message,
        /longer than the deadline; main: Error \(exit code 1\): the handler was not there/,
      );
      assert.ok(ready.message.endsWith(`(run ${silent})`), ready.message);
      assert.equal((await api.get(object("healed")))["status"], undefined);
      assert.equal((await readyOf(object("told"))).status, "True");
      const { metadata } = await api.get(object("silent"));
      await api.patch(
        { ...WORKFLOWS, metadata: { name: silent, namespace: operator.runnerNamespace } },
        { status: { message: "something else" } },
      );
      await resync();
      assert.equal((await api.get(object("silent"))).metadata.resourceVersion, metadata.resourceVersion);
    });

    it("lets no more go on at once than the operator's concurrency, the urgent ones first", async () => {
      for (const name of ["a", "b", "c", "d"]) {
        await api.apply(object(name));
        await run({ namespace, name });
      }
      await aSecond();
      await api.apply(object("c", answering(configMap("new"))));
      for (const { metadata } of await api.list(
        WORKFLOWS.apiVersion,
        WORKFLOWS.kind,
        operator.runnerNamespace,
      )) {
        await api.delete({
          ...WORKFLOWS,
          metadata: { name: metadata.name, namespace: operator.runnerNamespace },
        });
      }
      const narrow = { ...operator.operator, namespaces: [namespace], concurrency: 1 };
      assert.deepStrictEqual(await resync({ operator: narrow }), {
        submitted: 1,
        running: 0,
        left: 3,
        failed: 0,
      });
      assert.deepStrictEqual([...(await submittedFor()).keys()], ["c"]);
    });
  });
});
