import assert from "node:assert/strict";
import type { KubernetesObject, Manifest } from "../../runtime/base/objects";
import type { Reference } from "../../tools/objects";
import { always, eventually } from "../support/eventually";
import type { Api } from "./support/api";
import { INSTANCE_ID } from "./support/argo";
import { configMap, inNamespace, job } from "./support/manifests";
import type { PlayedArgo } from "./support/playedArgo";
import { type PodBench, useDispatching } from "./support/podRun";
import type { TestController, TestOperator } from "./support/testOperator";
import { answering, becomesReady, conditionOf, statusOf } from "./support/useOperator";

const EVENTS = { apiVersion: "events.k8s.io/v1", kind: "Event" };

describe("a run that a runner has begun", function () {
  this.timeout(120_000);
  let bench: PodBench;
  let operator: TestOperator;
  let api: Api;
  let namespace: string;
  let argo: PlayedArgo;
  let runner: TestController;

  const children = [
    { apiVersion: "batch/v1", kind: "Job", update: "never" as const },
    { apiVersion: "v1", kind: "ConfigMap" },
  ];
  useDispatching(
    { name: "begun", concurrency: 2, resyncSeconds: 86_400, children },
    (given, played, controller) => {
      bench = given;
      argo = played;
      runner = controller;
      ({ operator, api, namespace } = bench);
    },
  );

  const object = (name: string, plan = {}) => bench.object(name, plan);
  const runsOf = (name: string) => bench.workflowsOf(name);
  const phaseOf = (workflow: KubernetesObject | undefined) =>
    (workflow?.["status"] as { readonly phase?: string } | undefined)?.phase;
  const workflowOf = (workflow: KubernetesObject | undefined) =>
    bench.workflow(workflow?.metadata.name ?? "");

  async function ready(name: string, plan = {}): Promise<void> {
    await api.apply(object(name, plan));
    await isReady(name);
  }

  const isReady = (name: string) => becomesReady(api, object(name));

  /** Applies an object whose handler holds it, and waits until its run is at work. @returns its Workflow */
  async function atWork(name: string): Promise<KubernetesObject> {
    const before = operator.calls(name).length;
    await api.apply(object(name, { holds: true, ...answering() }));
    await eventually(() => assert.equal(operator.calls(name).length, before + 1));
    const [workflow] = (await runsOf(name)).filter((each) => phaseOf(each) === "Running");
    assert.ok(workflow);
    return workflow;
  }

  async function eventsOf(name: string, reason: string): Promise<string[]> {
    const all = (await api.list(EVENTS, namespace)) as unknown as {
      readonly reason: string;
      readonly note: string;
      readonly regarding: { readonly name: string };
    }[];
    return all
      .filter((each) => each.regarding.name === name && each.reason === reason)
      .map(({ note }) => note);
  }

  it("is said on its object if its pod does not begin within ten seconds, and only there", async () => {
    await ready("awaited");
    argo.pending.add("awaited");
    await api.apply(object("awaited", answering(configMap("late"))));
    await eventually(
      async () => {
        const found = await api.get(object("awaited"));
        const { status, reason, message } = conditionOf(found, "Reconciling");
        assert.deepEqual([status, reason], ["True", "AwaitingPod"]);
        assert.match(message, /^the pod of Workflow begun-awaited-[0-9a-f]{10} has not begun/);
        assert.equal(conditionOf(found, "Ready").status, "True");
        assert.notEqual(statusOf(found)["observedGeneration"], found.metadata.generation);
      },
      { timeoutMs: 30_000 },
    );
    await ready("other");
    argo.silent.add("awaited");
    argo.pending.delete("awaited");
    await eventually(async () => assert.equal((await bench.readyOf(object("awaited"))).reason, "RunFailed"));
    argo.silent.delete("awaited");
    await isReady("awaited");
    assert.equal(conditionOf(await api.get(object("awaited")), "Reconciling").status, "False");
  });

  it("is said on its object if a user suspends it, holds up no other object, and ends when it is resumed", async () => {
    const workflow = await atWork("suspended");
    await api.patch(workflowOf(workflow), { spec: { suspend: true } });
    await eventually(async () => {
      const { reason, message } = await bench.readyOf(object("suspended"));
      assert.equal(reason, "RunSuspended");
      assert.match(
        message,
        new RegExp(`argo -n \\S+ --instanceid ${INSTANCE_ID} resume ${workflow.metadata.name}`),
      );
    });
    await ready("other");
    await api.patch(workflowOf(workflow), { spec: { suspend: null } });
    operator.release("suspended");
    await isReady("suspended");
  });

  it("has no successor before its object changes, if a user stops it or deletes its Workflow, and an Event says so", async () => {
    for (const name of ["stopped", "deleted"]) {
      const workflow = await atWork(name);
      if (name === "deleted") await api.delete(workflowOf(workflow));
      else
        await api.patch(workflowOf(workflow), {
          metadata: { labels: { "workflows.argoproj.io/completed": "true" } },
          spec: { shutdown: "Terminate" },
          status: { phase: "Failed", message: "Stopped with strategy 'Terminate'" },
        });
      await eventually(async () => assert.equal((await eventsOf(name, "RunStopped")).length, 1));
      // Not before: a run whose handler answers within two seconds of its last look writes its verdict, and then no Event is due.
      operator.release(name);
      const before = (await runsOf(name)).length;
      await always(async () => assert.equal((await runsOf(name)).length, before), { forMs: 3_000 });
      await ready(name, answering(configMap(`of-${name}`)));
    }
  });

  it("outlives the runner, and the next one begins no second run for its object", async () => {
    const workflow = await atWork("outlives");
    await runner.stop();
    const next = bench.dispatch({ identity: "next" });
    await eventually(() => assert.ok(next.controller.isLeading));
    await ready("other");
    await always(async () => assert.equal((await runsOf("outlives")).length, 1), { forMs: 3_000 });
    operator.release("outlives");
    await isReady("outlives");
    assert.deepEqual(
      (await runsOf("outlives")).map(({ metadata }) => metadata.uid),
      [workflow.metadata.uid],
    );
  });

  it("is told from those that people submit, resubmit or retry, which it neither waits for nor replaces nor counts", async () => {
    await ready("copied");
    const [ours] = await runsOf("copied");
    assert.ok(ours);
    await eventually(async () => assert.equal(phaseOf(await api.get(workflowOf(ours))), "Succeeded"));
    await api.patch(workflowOf(ours), {
      metadata: { labels: { "workflows.argoproj.io/completed": "false" } },
      status: { phase: "Running" },
    });
    // Argo's resubmit takes over all labels and annotations, and gives another name.
    const { labels, annotations } = ours.metadata;
    const spec = ours["spec"] as object;
    argo.unseen.add("copied");
    const copy = (name: string): Reference & Manifest => ({
      apiVersion: ours.apiVersion,
      kind: ours.kind,
      metadata: {
        name,
        namespace: operator.runnerNamespace,
        labels: { ...labels, "workflows.argoproj.io/completed": "false" },
        annotations: { ...annotations },
      },
      spec,
    });
    for (const name of ["copied-one", "copied-two", "copied-three"]) await api.apply(copy(name));
    // The operator has only two places.
    await ready("other", answering(configMap("other")));
    argo.unseen.delete("copied");
    await ready("copied", answering(configMap("of-copied")));
    for (const name of ["copied-one", "copied-two", "copied-three"]) await api.get(bench.workflow(name));
  });

  it("finds the memory that a client took from the status, and creates no child again", async () => {
    const once = job("once", "example.com/worker:1");
    await ready("emptied", answering(once));
    const memory = async () =>
      statusOf(await api.get(object("emptied")))["argosy"] as { readonly created?: string[] };
    assert.equal((await memory()).created?.length, 1);
    const child = inNamespace(once, namespace);
    await api.delete(child, "Foreground");
    await eventually(() => api.assertGone(child));
    await api.patchPart(object("emptied"), "status", { status: null });
    await eventually(async () => assert.equal((await memory())?.created?.length, 1));
    await isReady("emptied");
    await always(() => api.assertGone(child), { forMs: 1_500 });
  });
});

describe("a runner that dispatches in two namespaces", function () {
  this.timeout(90_000);
  const [LISTED, LEFT] = ["begun-listed", "begun-left"] as const;
  let bench: PodBench;
  let runner: TestController;
  useDispatching({ name: "begun-lists", finalize: true, namespaces: [LISTED, LEFT] }, (given, _, begun) => {
    bench = given;
    runner = begun;
  });

  it("has an object finalized that is deleted in a namespace that is no longer listed, and leaves the others", async () => {
    const { api, operator } = bench;
    const of = (name: string) => operator.object(name, answering(), LEFT) as Reference & Manifest;
    const isReady = async (each: Reference) => assert.equal((await bench.readyOf(each)).status, "True");
    for (const name of ["goes", "stays"]) {
      await api.apply(of(name));
      await eventually(() => isReady(of(name)));
    }
    await runner.stop();
    bench.dispatch({ identity: "next", operator: { ...operator.operator, namespaces: [LISTED] } });
    const listed = operator.object("listed", answering(), LISTED) as Reference & Manifest;
    await api.apply(listed);
    await eventually(() => isReady(listed));
    await api.annotate(of("stays"), { "argosy.dev/reconcile-at": "now" });
    await api.delete(of("goes"));
    await eventually(() => api.assertGone(of("goes")));
    assert.equal(operator.calls("goes").at(-1)?.event, "finalize");
    assert.equal(operator.calls("stays").length, 1);
  });
});
