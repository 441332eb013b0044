import assert from "node:assert/strict";
import type { Manifest } from "../../runtime/base/objects";
import { WORKFLOW_TEMPLATES } from "../../runtime/report/workflows";
import type { Reference } from "../../tools/objects";
import { always, eventually } from "../support/eventually";
import type { Api } from "./support/api";
import { INSTANCE_ID } from "./support/argo";
import { configMap, inNamespace } from "./support/manifests";
import type { PlayedArgo } from "./support/playedArgo";
import { type PodBench, useDispatching } from "./support/podRun";
import type { ObjectPlan, TestController, TestOperator } from "./support/testOperator";
import { answering, becomesReady } from "./support/useOperator";

/** What Argo would do with a Workflow, the test does: the real one is tried by the e2e and the chaos run. */
describe("a runner that dispatches", function () {
  this.timeout(90_000);
  let bench: PodBench;
  let operator: TestOperator;
  let api: Api;
  let namespace: string;
  let argo: PlayedArgo;
  let runner: TestController;

  useDispatching({ name: "dispatched", finalize: true, resyncSeconds: 86_400 }, (begun, played, begins) => {
    bench = begun;
    argo = played;
    runner = begins;
    ({ operator, api, namespace } = bench);
  });

  const object = (name: string, plan?: ObjectPlan) => bench.object(name, plan);
  const child = (name: string, data = {}) =>
    inNamespace(configMap(name, data), namespace) as Reference & Manifest;
  const runsOf = async (name: string) => (await bench.workflowsOf(name)).length;

  /** Applies an object and waits until a run has made it ready. */
  async function ready(name: string, plan?: ObjectPlan): Promise<void> {
    await api.apply(object(name, plan));
    await isReady(name);
  }

  const isReady = (name: string) => becomesReady(api, object(name));

  /** Waits until the object has this many runs, and all of them have ended. */
  async function hasRuns(name: string, count: number): Promise<void> {
    await eventually(async () => {
      const workflows = await bench.workflowsOf(name);
      assert.equal(workflows.length, count);
      for (const { metadata } of workflows)
        assert.equal(metadata.labels?.["workflows.argoproj.io/completed"], "true");
    });
  }

  it("begins a run for a new object, with the object's labels, and none for one that is as its run left it", async () => {
    await ready("demo", answering(configMap("of-demo", { a: "1" })));
    await hasRuns("demo", 1);
    const [workflow] = await bench.workflowsOf("demo");
    const { metadata } = await api.get(object("demo"));
    assert.match(workflow?.metadata.name ?? "", /^dispatched-demo-[0-9a-f]{10}$/);
    assert.equal(workflow?.metadata.labels?.["workflows.argoproj.io/controller-instanceid"], INSTANCE_ID);
    assert.equal(workflow?.metadata.labels?.["argosy.dev/object-uid"], metadata.uid);
    await api.patch(child("of-demo"), { data: { b: "of another client" } });
    await always(async () => assert.equal(await runsOf("demo"), 1), { forMs: 4_000 });
  });

  it("begins one for each change, also for one that comes while a run is at work", async () => {
    await ready("demo");
    await ready("demo", answering(configMap("new")));
    await hasRuns("demo", 2);
    await api.annotate(object("demo"), { "argosy.dev/reconcile-at": "now" });
    await hasRuns("demo", 3);
    await api.apply(object("demo", { ...answering(configMap("slow")), delayMs: 1_000 }));
    await eventually(async () => assert.equal(await runsOf("demo"), 4));
    await ready("demo", answering(configMap("newest")));
    await api.get(child("newest"));
    await eventually(() => api.assertGone(child("slow")));
  });

  it("begins one for an event from outside, and one more for those that come while it is at work", async () => {
    const { controller } = runner;
    await ready("demo", { answer: { children: [] }, delayMs: 1_000 });
    await hasRuns("demo", 1);
    assert.equal(controller.wake({ namespace, name: "demo" }), "queued");
    await eventually(async () => assert.equal(await runsOf("demo"), 2));
    for (let time = 0; time < 3; time++) assert.equal(controller.wake({ namespace, name: "demo" }), "queued");
    await hasRuns("demo", 3);
    assert.equal(controller.wake({ namespace, name: "nowhere" }), "absent");
    await always(async () => assert.deepEqual([await runsOf("demo"), await runsOf("nowhere")], [3, 0]), {
      forMs: 3_000,
    });
  });

  it("corrects a child at once that another client changed, deleted, or took the labels from", async () => {
    await ready("demo", answering(configMap("kept", { a: "1" })));
    await api.patch(child("kept"), { data: { a: "2" } });
    await eventually(async () => assert.deepEqual((await api.get(child("kept")))["data"], { a: "1" }));
    await api.delete(child("kept"));
    await eventually(async () => assert.deepEqual((await api.get(child("kept")))["data"], { a: "1" }));
    await api.patch(child("kept"), { metadata: { labels: null } });
    await eventually(async () => assert.ok((await api.get(child("kept"))).metadata.labels));
  });

  it("gives an object back the finalizers that a client took off", async () => {
    const elsewhere = await api.newNamespace("dispatched-elsewhere");
    await ready("demo", answering(inNamespace(configMap("far"), elsewhere)));
    const { finalizers = [] } = (await api.get(object("demo"))).metadata;
    assert.equal(finalizers.length, 2);
    await api.patch(object("demo"), { metadata: { finalizers: null } });
    await eventually(async () =>
      assert.deepEqual((await api.get(object("demo"))).metadata.finalizers?.sort(), finalizers.sort()),
    );
  });

  it("begins one to finalize, and none for an object that is paused or that only others hold", async () => {
    await ready("demo");
    await api.annotate(object("demo"), { "argosy.dev/paused": "true" });
    await api.delete(object("demo"));
    const foreign = object("foreign");
    await api.apply({
      ...foreign,
      metadata: {
        ...foreign.metadata,
        finalizers: ["example.com/hold"],
        annotations: { "argosy.dev/paused": "true" },
      },
    });
    await api.delete(foreign);
    await api.patch(foreign, { metadata: { annotations: { "argosy.dev/paused": null } } });
    await always(async () => assert.deepEqual([await runsOf("demo"), await runsOf("foreign")], [1, 0]), {
      forMs: 3_000,
    });
    await api.patch(object("demo"), { metadata: { annotations: { "argosy.dev/paused": null } } });
    await eventually(() => api.assertGone(object("demo")));
    assert.deepEqual(operator.calls("demo").at(-1)?.event, "finalize");
    await api.patch(foreign, { metadata: { finalizers: null } });
  });

  it("deletes the children of a deleted object that had the name before, and no others", async () => {
    const elsewhere = await api.newNamespace("dispatched-namesakes");
    const far = (name: string, data = {}) =>
      inNamespace(configMap(name, data), elsewhere) as Reference & Manifest;
    for (const name of ["namesake", "neighbour"])
      await ready(name, answering(far(`${name}-kept`, { of: "former" }), far(`${name}-left`)));
    argo.unseen.add("namesake");
    await api.patch(object("namesake"), { metadata: { finalizers: null } });
    await api.delete(object("namesake"));
    await api.apply(object("namesake", answering(far("namesake-kept", { of: "later" }))));
    argo.unseen.delete("namesake");
    await eventually(async () =>
      assert.deepEqual((await api.get(far("namesake-kept")))["data"], { of: "later" }),
    );
    await eventually(() => api.assertGone(far("namesake-left")));
    await isReady("namesake");
    for (const name of ["neighbour-kept", "neighbour-left"]) await api.get(far(name));
  });

  it("tries a failed object again after a growing pause, and keeps only the newest Workflows that failed", async () => {
    await api.apply(object("failed", { exitCode: 3, log: "no plan" }));
    await eventually(() => assert.ok(operator.calls("failed").length >= 5));
    const times = operator.calls("failed").map(({ askedAt = 0 }) => askedAt);
    const pauses = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    assert.ok((pauses[3] ?? 0) > 2_000, `the pauses are ${pauses}`);
    assert.equal((await bench.readyOf(object("failed"))).reason, "HandlerCrashed");
    await ready("failed", answering());
    const failed = (await bench.workflowsOf("failed")).filter(
      ({ status }) => (status as { phase?: string } | undefined)?.phase === "Failed",
    );
    assert.ok(failed.length <= 4, `${failed.length} are left`);
  });

  it("begins one for each object when the template has another program, and leaves begun runs alone", async () => {
    const template = (name: string): Reference & Manifest => ({
      apiVersion: WORKFLOW_TEMPLATES.apiVersion,
      kind: WORKFLOW_TEMPLATES.kind,
      metadata: { name: operator.operator.name, namespace: operator.runnerNamespace },
      spec: { templates: [{ name: "reconcile", volumes: [{ name: "engine", configMap: { name } }] }] },
    });
    await api.apply(template("old"));
    await ready("calm");
    await api.annotate(object("calm"), { "argosy.dev/reconcile-at": "1" });
    await hasRuns("calm", 2);
    argo.pending.add("waiting");
    await api.apply(object("waiting"));
    await eventually(async () => {
      const [workflow] = await bench.workflowsOf("waiting");
      assert.equal((workflow?.["status"] as { phase?: string } | undefined)?.phase, "Pending");
    });
    const [before] = await bench.workflowsOf("waiting");
    await api.apply(template("new"));
    await hasRuns("calm", 3);
    await eventually(async () => {
      const [workflow] = await bench.workflowsOf("waiting");
      assert.notEqual(workflow?.metadata.uid, before?.metadata.uid);
    });
    argo.pending.delete("waiting");
    await isReady("waiting");
  });
});
