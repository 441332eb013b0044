import assert from "node:assert/strict";
import { RUN_WORKFLOW_RULES, resyncWorkflowRules } from "../../components/manifests/operator/rules";
import { WORKFLOW_TASK_RESULTS, WORKFLOW_TEMPLATES, WORKFLOWS } from "../../runtime/argo/workflows";
import { KubernetesClient } from "../../runtime/kubernetes/client";
import type { JsonObject, Manifest } from "../../runtime/kubernetes/objects";
import type { ResyncOptions, ResyncResult } from "../../runtime/pod/resync/resyncOnce";
import type { Reference } from "../../tools/objects";
import { eventually } from "../support/eventually";
import { INSTANCE_ID, submit } from "./support/argo";
import { inNamespace } from "./support/manifests";
import { type PodBench, usePods } from "./support/podRun";

const OPTIONS = { name: "stuck-runs", children: [{ apiVersion: "v1", kind: "ConfigMap" }] };

/** What Argo would write into a Workflow, the test does. */
describe("a resync of the form pod, of objects whose runs do not end", () => {
  let bench: PodBench;
  let told: string[];

  usePods(
    OPTIONS,
    (operator) => [...RUN_WORKFLOW_RULES, ...resyncWorkflowRules(operator)],
    (begun) => {
      bench = begun;
      told = [];
    },
  );

  beforeEach(async () => {
    const { apiVersion, kind } = WORKFLOW_TEMPLATES;
    const metadata = { name: OPTIONS.name, namespace: bench.operator.runnerNamespace };
    await bench.api.apply({ apiVersion, kind, metadata, spec: { entrypoint: "reconcile" } });
  });

  /** Nobody else ends what a test leaves unfinished. */
  afterEach(async () => {
    for (const { metadata } of await workflows()) await bench.api.delete(bench.workflow(metadata.name));
  });

  const workflows = () => bench.api.list(WORKFLOWS, bench.operator.runnerNamespace);
  const names = async () => (await workflows()).map(({ metadata }) => metadata.name).sort();
  const anHourAgo = () => new Date(Date.now() - 3_600_000).toISOString().replace(/\.\d+/, "");
  /** An API server whose clock shows an hour later. */
  const inAnHour = () => Object.assign(bench.client.with({}), { now: () => Date.now() + 3_600_000 });

  const resync = (more: Partial<ResyncOptions> = {}): Promise<ResyncResult> =>
    bench.resync({
      operator: { ...bench.operator.operator, namespaces: [bench.namespace], concurrency: 1 },
      onError: (what, { message }) => void told.push(`${what}: ${message}`),
      onNotice: (what, message) => void told.push(`${what}: ${message}`),
      ...more,
    });

  /** A new object with a run that has begun. */
  async function running(
    name: string,
    spec: JsonObject,
    status: JsonObject = {},
    hasUid = true,
  ): Promise<void> {
    const { uid } = (await bench.api.apply(bench.object(name))).metadata;
    const labels = hasUid ? { "argosy.dev/object-uid": uid } : undefined;
    await submit(bench.operator, `run-${name}`, { namespace: bench.namespace, name, uid }, labels);
    await bench.api.patch(bench.workflow(`run-${name}`), { spec, status: { phase: "Running", ...status } });
  }
  const overdue = () => ({
    startedAt: anHourAgo(),
    storedWorkflowTemplateSpec: { activeDeadlineSeconds: 3_000 },
  });

  it("says on the object that its run is suspended, once, and gives the others their runs", async () => {
    await running("held", { suspend: true });
    await submit(bench.operator, "waits", { namespace: bench.namespace, name: "held" });
    await bench.api.apply(bench.object("new"));
    const { submitted, left } = await resync();
    assert.deepEqual([submitted, left], [1, 0]);
    const ready = await bench.readyOf(bench.object("held"));
    assert.deepEqual([ready.status, ready.reason], ["False", "RunSuspended"]);
    // Without the instance id, the command refuses the Workflow.
    const remedy = `argo -n ${bench.operator.runnerNamespace} --instanceid ${INSTANCE_ID} resume run-held`;
    assert.ok(ready.message.endsWith(`: ${remedy} (run run-held)`), ready.message);
    assert.ok(
      told.some((line) => line.startsWith(`${bench.namespace}/held: `)),
      told.join("\n"),
    );
    const { metadata } = await bench.api.get(bench.object("held"));
    await resync();
    const later = await bench.api.get(bench.object("held"));
    assert.equal(later.metadata.resourceVersion, metadata.resourceVersion);
    assert.ok((await names()).includes("run-held"));
  });

  it("says so on each object, though it cannot be said on another one", async () => {
    await running("first", { suspend: true });
    await running("second", { suspend: true });
    const client = bench.client.with({});
    const { get } = client;
    client.get = (resource, name) =>
      name.name === "first" ? Promise.reject(new Error("not now")) : get.call(client, resource, name);
    await resync({ client });
    const ready = await bench.readyOf(bench.object("second"));
    assert.equal(ready.reason, "RunSuspended");
    assert.ok(told.includes(`${bench.namespace}/first: not now`), told.join("\n"));
  });

  it("says so too if the run was suspended while it waited for the lock, and has it now", async () => {
    const lock = { mutex: "argosy/Mutex/stuck-runs", holder: "argosy/run" };
    const holding = { phase: "Pending", synchronization: { mutex: { holding: [lock] } } };
    const waiting = { phase: "Pending", synchronization: { mutex: { waiting: [lock] } } };
    await running("behind", { suspend: true }, holding);
    await running("still-behind", { suspend: true }, waiting);
    await resync();
    assert.equal((await bench.readyOf(bench.object("behind"))).reason, "RunSuspended");
    assert.equal((await bench.api.get(bench.object("still-behind")))["status"], undefined);
  });

  describe("because somebody suspended them while they waited for their turn", () => {
    const queued = {
      "run-x": { phase: "Pending", synchronizationStatus: { waiting: "argosy/ConfigMap/runs" } },
    };

    it("makes such a run again, since all runs behind it in the queue would wait for it", async () => {
      await running("first", { suspend: true }, { nodes: queued });
      await running("patient", {}, { nodes: queued });
      const operator = { ...bench.operator.operator, namespaces: [bench.namespace], concurrency: 2 };
      assert.equal((await resync({ operator })).submitted, 1);
      const left = await names();
      assert.deepEqual([left.includes("run-first"), left.includes("run-patient")], [false, true]);
    });

    it("says what waits for it, if somebody submitted it by hand", async () => {
      await running("by-hand", { suspend: true }, { nodes: queued }, false);
      await resync();
      const ready = await bench.readyOf(bench.object("by-hand"));
      assert.match(
        ready.message,
        /suspended, and all runs of the operator behind it in the queue wait for it/,
      );
    });
  });

  it("makes a run again that has not ended long after its time was over", async () => {
    await running("late", {}, overdue());
    assert.deepEqual(await resync({ client: inAnHour() }), { submitted: 1, running: 0, left: 0, failed: 0 });
    assert.ok(!(await names()).includes("run-late"));
  });

  it("says so on the object if somebody submitted such a run by hand", async () => {
    await running("by-hand", {}, overdue(), false);
    await running(
      "in-time",
      {},
      { ...overdue(), storedWorkflowTemplateSpec: { activeDeadlineSeconds: 3_600 } },
    );
    assert.equal((await resync({ client: inAnHour() })).submitted, 0);
    const ready = await bench.readyOf(bench.object("by-hand"));
    assert.deepEqual([ready.status, ready.reason], ["False", "RunOverdue"]);
    assert.match(ready.message, /kubectl -n \S+ delete workflow run-by-hand/);
    assert.equal((await bench.api.get(bench.object("in-time")))["status"], undefined);
  });

  it("goes by the API server's clock, and neither by this machine's nor by the Workflow controller's", async () => {
    const { uid } = (await bench.api.apply(bench.object("young"))).metadata;
    const labels = { "argosy.dev/object-uid": uid };
    await submit(bench.operator, "run-young", { namespace: bench.namespace, name: "young", uid }, labels);
    await running("at-work", {}, { ...overdue(), startedAt: new Date().toISOString() });
    await running("slow-clock", {}, overdue());
    const { now } = Date;
    Date.now = () => now() + 2 * 3_600_000;
    try {
      assert.deepEqual(await resync(), { submitted: 0, running: 3, left: 0, failed: 0 });
    } finally {
      Date.now = now;
    }
    assert.deepEqual(await names(), ["run-at-work", "run-slow-clock", "run-young"]);
    assert.deepEqual(told, []);
  });

  it("spares a run that begins after it was listed, and makes none beside it", async () => {
    const client = new KubernetesClient(bench.operator.connection);
    const { list } = client;
    client.list = async (...args) => {
      const version = await list.apply(client, args);
      if (args[0].kind === WORKFLOWS.kind)
        await bench.api.patch(bench.workflow("run-slow"), { status: { phase: "Running" } });
      return version;
    };
    const { uid } = (await bench.api.apply(bench.object("slow"))).metadata;
    const labels = { "argosy.dev/object-uid": uid };
    await submit(bench.operator, "run-slow", { namespace: bench.namespace, name: "slow", uid }, labels);
    const result = await resync({ client, untouchedMs: -2_000 });
    assert.deepEqual(result, { submitted: 0, running: 1, left: 0, failed: 0 });
    assert.deepEqual(await names(), ["run-slow"]);
    client.close();
  });

  describe("that the Workflow controller has forgotten", () => {
    const begun = { nodes: { run: { phase: "Running" } } };
    /** The API server knows but whole seconds. */
    const atOnce = { quietMs: -2_000 };
    const reminders = async () =>
      (await bench.api.list(WORKFLOW_TASK_RESULTS, bench.operator.runnerNamespace))
        .map(({ metadata }) => metadata.name)
        .sort();

    /** The pod of a run. */
    async function pod(run: string, phase?: string): Promise<void> {
      const labels = { "workflows.argoproj.io/workflow": run };
      const spec = { containers: [{ name: "main", image: "example.com/main:1" }] };
      const manifest = inNamespace(
        { apiVersion: "v1", kind: "Pod", metadata: { name: run, labels }, spec },
        bench.operator.runnerNamespace,
      ) as Reference & Manifest;
      await bench.api.create(manifest);
      await eventually(async () => {
        const { status } = await bench.api.get(manifest);
        assert.equal((status as { phase?: string }).phase, "Running");
      });
      if (phase !== undefined) await bench.api.applyStatus(manifest, { phase });
    }

    it("reminds it of those whose pods have ended, at most three times, and leaves the others alone", async () => {
      await running("ended", {}, begun);
      await pod("run-ended", "Succeeded");
      await running("gone", {}, begun);
      await running("at-work", {}, begun);
      await pod("run-at-work");
      await running("queued", {}, { nodes: { run: { phase: "Pending" } } });
      await resync();
      assert.deepEqual(await reminders(), []);
      for (let times = 1; times <= 4; times++) await resync(atOnce);
      const expected = ["ended", "gone"].flatMap((name) =>
        [1, 2, 3].map((count) => `run-${name}.reminder-${count}`),
      );
      assert.deepEqual(await reminders(), expected);
      assert.equal((await workflows()).length, 4);
      assert.equal(told.filter((line) => line.startsWith("Workflow run-")).length, 6, told.join("\n"));
    });

    it("reminds it of them though another run cannot be deleted", async () => {
      await running("lost", {}, begun);
      await running("kept", {}, overdue());
      const client = inAnHour();
      client.deleteVersion = () => Promise.reject(new Error("not now"));
      await resync({ client });
      assert.ok((await reminders()).includes("run-lost.reminder-1"));
      assert.ok(told.includes("stranded runs: not now"), told.join("\n"));
      assert.deepEqual(await names(), ["run-kept", "run-lost"]);
    });

    it("gives an object its run as soon as the controller has ended the one before", async () => {
      await running("late", {}, begun);
      const client = new KubernetesClient(bench.operator.connection);
      const { create } = client;
      client.create = async (...args) => {
        const created = await create.apply(client, args);
        // As the controller does when it sees the reminder.
        if (args[0].kind === WORKFLOW_TASK_RESULTS.kind)
          await bench.api.patch(bench.workflow("run-late"), { status: { phase: "Error" } });
        return created;
      };
      assert.equal((await resync({ client, ...atOnce })).submitted, 1);
      client.close();
    });
  });
});
