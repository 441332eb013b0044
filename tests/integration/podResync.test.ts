import assert from "node:assert/strict";
import { buildEngineFiles, buildFiles } from "../../components/manifests/operator/configMaps";
import { buildOperator } from "../../components/manifests/operator/operator";
import { RUN_WORKFLOW_RULES, resyncWorkflowRules } from "../../components/manifests/operator/rbac";
import { WORKFLOW_TEMPLATES, WORKFLOWS } from "../../runtime/argo/workflows";
import type { Operator } from "../../runtime/definition/definition";
import { KubernetesClient } from "../../runtime/kubernetes/client";
import type { JsonObject, KubernetesObject, Manifest } from "../../runtime/kubernetes/objects";
import { identityOf } from "../../runtime/names";
import { FULL_LOOK_RESYNCS, lookAtObjects, type NeedsOptions } from "../../runtime/pod/needs";
import { type ResyncOptions, resyncOnce } from "../../runtime/pod/resyncOnce";
import type { Reference } from "../../tools/objects";
import { aSecond } from "../support/eventually";
import { operatorOptions } from "../unit/operatorManifests";
import { samplePlatform } from "../unit/support/platform";
import type { Api } from "./support/api";
import { INSTANCE_ID, submit } from "./support/argo";
import { configMap, inNamespace } from "./support/manifests";
import { type PodBench, usePods } from "./support/podRun";
import type { ObjectPlan, TestOperator } from "./support/testOperator";
import { answering } from "./support/useOperator";

const OPTIONS = { name: "resynced", finalize: true, children: [{ apiVersion: "v1", kind: "ConfigMap" }] };

/** What Argo would write into a Workflow, the test does: the real one is tried by the e2e and the chaos run. */
describe("a resync of the form pod", () => {
  let bench: PodBench;
  let operator: TestOperator;
  let api: Api;
  let namespace: string;

  usePods(
    OPTIONS,
    (operator) => [...RUN_WORKFLOW_RULES, ...resyncWorkflowRules(operator)],
    (begun) => {
      bench = begun;
      ({ operator, api, namespace } = bench);
    },
  );

  /** The operator in a resync in which nobody has a turn: an object's uid decides, and is another one each time. */
  let withoutTurns: Operator;

  beforeEach(() => {
    withoutTurns = { ...operator.operator, namespaces: [namespace], resyncSeconds: Number.NaN };
  });

  /** Nobody else ends what a test leaves unfinished. */
  afterEach(() => deleteWorkflows());

  const object = (name: string, plan?: ObjectPlan) => bench.object(name, plan);
  const workflow = (name: string) => bench.workflow(name);

  const resync = (more: Partial<ResyncOptions> = {}) =>
    resyncOnce({
      operator: { ...operator.operator, namespaces: [namespace] },
      client: bench.client,
      namespace: operator.runnerNamespace,
      instanceId: INSTANCE_ID,
      instance: "resync-pod",
      lookMs: 50,
      withinMs: 300,
      ...more,
    });

  const workflows = (): Promise<KubernetesObject[]> => api.list(WORKFLOWS, operator.runnerNamespace);

  async function deleteWorkflows(): Promise<void> {
    for (const { metadata } of await workflows()) await api.delete(workflow(metadata.name));
  }

  /** The names of all Workflows, those that a resync has submitted without what makes each name its own. */
  async function runs(): Promise<string[]> {
    return (await workflows()).map(({ metadata }) => metadata.name.replace(/-[0-9a-f]{10}$/, "")).sort();
  }

  /** Submits a run for an object, and does what its pod would. */
  async function run(name: string): Promise<void> {
    await submit(operator, `${namespace}-${name}`, { namespace, name });
    await bench.run(`${namespace}-${name}`);
  }

  /** A resync, and what the pods of its runs would do. */
  async function resyncAll(more: Partial<ResyncOptions>): Promise<void> {
    await resync(more);
    for (const { metadata } of await workflows()) await bench.run(metadata.name);
  }

  it("submits a run for every object that is new, which that run then reconciles", async () => {
    for (const name of ["a", "b"]) await api.apply(object(name, answering(configMap(`of-${name}`))));
    assert.deepStrictEqual(await resync(), { submitted: 2, running: 0, left: 0, failed: 0 });
    assert.deepStrictEqual(await runs(), ["resynced-a", "resynced-b"]);
    const [first] = await workflows();
    assert.ok(first);
    assert.match(first.metadata.name, /^resynced-a-[0-9a-f]{10}$/);
    assert.equal(first.metadata.labels?.["workflows.argoproj.io/controller-instanceid"], INSTANCE_ID);
    await bench.run(first.metadata.name);
    await api.get(inNamespace(configMap("of-a"), namespace) as Reference & Manifest);
  });

  it("has the children of a deleted object deleted that had the name before, and spares others'", async () => {
    const elsewhere = await api.newNamespace("resynced-elsewhere");
    const far = (name: string, data = {}) => inNamespace(configMap(name, data), elsewhere);
    const plan = (...names: string[]) => answering(...names.map((each) => far(each, { of: "former" })));
    for (const name of ["namesake", "neighbour"]) {
      await api.apply(object(name, plan(`${name}-kept`, `${name}-left`)));
      await run(name);
    }
    // No owner reference reaches these children, so that the garbage collector never deletes any of them.
    await api.patch(object("namesake"), { metadata: { finalizers: null } });
    await api.delete(object("namesake"));
    await api.apply(object("namesake", answering(far("namesake-kept", { of: "later" }))));
    await deleteWorkflows();
    // Argo's part: the runs that the resync submits.
    await resyncAll({ operator: { ...withoutTurns, namespaces: [namespace, elsewhere] } });
    await api.assertGone(far("namesake-left"));
    assert.deepEqual((await api.get(far("namesake-kept")))["data"], { of: "later" });
    assert.equal((await bench.readyOf(object("namesake"))).status, "True");
    for (const name of ["neighbour-kept", "neighbour-left"]) await api.get(far(name));
    // Nothing is left, so nothing is to be done.
    await deleteWorkflows();
    const again = await resync({ operator: { ...withoutTurns, namespaces: [namespace, elsewhere] } });
    assert.deepEqual(again, { submitted: 0, running: 0, left: 0, failed: 0 });
  });

  it("submits none for an object that has one going on, nor for a paused one, nor one that others finalize", async () => {
    await api.apply(object("busy"));
    await submit(operator, "busy", { namespace, name: "busy" });
    const paused = object("paused");
    const annotations = { "argosy.dev/paused": "true" };
    await api.apply({ ...paused, metadata: { ...paused.metadata, annotations } });
    const foreign = object("foreign");
    await api.apply({ ...foreign, metadata: { ...foreign.metadata, finalizers: ["example.com/hold"] } });
    await api.delete(foreign);
    assert.deepStrictEqual(await resync(), { submitted: 0, running: 1, left: 0, failed: 0 });
    await api.patch(foreign, { metadata: { finalizers: null } });
  });

  it("submits one for an object that is being deleted and has children where no owner reference reaches", async () => {
    const left = object("left");
    const finalizers = [operator.elsewhereFinalizer];
    await api.apply({ ...left, metadata: { ...left.metadata, finalizers } });
    await api.delete(left);
    assert.deepStrictEqual(await resync(), { submitted: 1, running: 0, left: 0, failed: 0 });
    await api.patch(left, { metadata: { finalizers: null } });
  });

  it("has an object finalized that is deleted in a namespace that is no longer listed, and leaves the others", async () => {
    const there = await api.newNamespace("resynced-unlisted");
    const [goes, stays] = ["goes", "stays"].map((name) => operator.object(name, {}, there)) as [
      Manifest,
      Manifest,
    ];
    for (const each of [goes, stays])
      await api.apply({ ...each, metadata: { ...each.metadata, finalizers: [operator.finalizer] } });
    const narrow = { ...withoutTurns, namespaces: [namespace] };
    assert.equal((await resync({ operator: narrow })).submitted, 0);
    await api.delete(goes as Reference & Manifest);
    assert.equal((await resync({ operator: narrow })).submitted, 1);
    for (const { metadata } of await workflows()) await bench.run(metadata.name, { operator: narrow });
    await api.assertGone(goes as Reference & Manifest);
    assert.deepEqual(
      operator.calls("goes").map(({ event, children }) => [event, children]),
      [["finalize", []]],
    );
    await submit(operator, "by-hand", { namespace: there, name: "stays" });
    const { exitCode, message } = await bench.run("by-hand", { operator: narrow });
    assert.equal(exitCode, 1);
    assert.match(message, /handles no Resynced in namespace .*, only in /);
    assert.deepEqual(operator.calls("stays"), []);
    await api.patch(stays as Reference & Manifest, { metadata: { finalizers: null } });
    await api.delete(stays as Reference & Manifest);
  });

  it("submits one again where the former has ended", async () => {
    await api.apply(object("demo"));
    await resync();
    const [former] = await workflows();
    assert.ok(former);
    assert.equal((await resync()).submitted, 0);
    const labels = { "workflows.argoproj.io/completed": "true" };
    await api.patch(workflow(former.metadata.name), { metadata: { labels } });
    assert.equal((await resync()).submitted, 1);
  });

  it("lets no more go on at once than the operator's concurrency, the urgent ones first", async () => {
    for (const name of ["a", "b", "c", "d"]) {
      await api.apply(object(name));
      await run(name);
    }
    await api.apply(object("c", answering(configMap("new"))));
    for (const name of ["a", "b", "d"])
      await api.patch(object(name), { metadata: { labels: { team: "a" } } });
    await deleteWorkflows();
    const narrow = { ...operator.operator, namespaces: [namespace], concurrency: 1 };
    assert.deepStrictEqual(await resync({ operator: narrow }), {
      submitted: 1,
      running: 0,
      left: 3,
      failed: 0,
    });
    assert.deepStrictEqual(await runs(), ["resynced-c"]);
  });

  it("spreads what is not urgent over its time, and leaves half of the room to others", async () => {
    for (const name of ["a", "b", "c"]) {
      await api.apply(object(name));
      await run(name);
      await api.patch(object(name), { metadata: { labels: { team: "a" } } });
    }
    await deleteWorkflows();
    const wide = { ...operator.operator, namespaces: [namespace], concurrency: 100 };
    const first = await resync({ operator: wide, withinMs: 30_000, lookMs: 100_000 });
    assert.deepStrictEqual([first.submitted, first.left], [1, 2]);
    await deleteWorkflows();
    const narrow = { ...operator.operator, namespaces: [namespace], concurrency: 4 };
    // So little time that all of them have had their turn: only the room is left as a limit.
    assert.deepStrictEqual(await resync({ operator: narrow, withinMs: 1 }), {
      submitted: 2,
      running: 0,
      left: 1,
      failed: 0,
    });
  });

  describe("that looks which objects need a run", () => {
    const later = new Date(Date.now() + 24 * 3_600_000);

    /** What each object in the test's namespace needs. */
    const needs = async (more: Partial<NeedsOptions> = {}): Promise<Record<string, string | undefined>> => {
      const looked = await lookAtObjects({
        operator: withoutTurns,
        client: bench.client,
        namespace,
        program: undefined,
        onError: (what, error) => assert.fail(`${what}: ${error.message}`),
        ...more,
      });
      return Object.fromEntries(looked.map(({ name, need }) => [name, need]));
    };

    it("gives none to one that is as its last run left it", async () => {
      await api.apply(object("calm", answering(configMap("settings", { a: "1" }))));
      assert.deepStrictEqual(await needs(), { calm: "urgent" });
      await run("calm");
      assert.deepStrictEqual(await needs(), { calm: undefined });
      await deleteWorkflows();
      assert.deepStrictEqual(await resync({ operator: withoutTurns }), {
        submitted: 0,
        running: 0,
        left: 0,
        failed: 0,
      });
    });

    it("gives one to those that were changed, touched, have failed, or are being deleted", async () => {
      for (const name of ["changed", "labelled", "deleted"]) {
        await api.apply(object(name));
        await run(name);
      }
      await api.apply(object("failed", { exitCode: 3 }));
      await run("failed");
      await api.apply(object("changed", answering(configMap("settings"))));
      await api.patch(object("labelled"), { metadata: { labels: { team: "a" } } });
      await api.delete(object("deleted"));
      assert.deepStrictEqual(await needs(), {
        changed: "urgent",
        deleted: "urgent",
        failed: "routine",
        labelled: "routine",
      });
      // Its namespace is none of the next test's, so that it would still count there.
      await api.patch(object("deleted"), { metadata: { finalizers: null } });
    });

    it("gives one to those whose handler wants to be asked again by then", async () => {
      await api.apply(object("due", { answer: { children: [], requeueAfterSeconds: 3_600 } }));
      await run("due");
      assert.deepStrictEqual(await needs(), { due: undefined });
      assert.deepStrictEqual(await needs({ now: later }), { due: "routine" });
    });

    it("gives one to those for which a schedule is due, which that run then has done", async () => {
      // Twelve hours from now, so that the hour never changes between the run and the look.
      const hour = (new Date().getUTCHours() + 12) % 24;
      const daily = { cron: `0 ${hour} * * *`, timeZone: "UTC", spreadSeconds: 0 };
      const scheduled = { ...withoutTurns, schedules: { daily } };
      await api.apply(object("daily"));
      await submit(operator, "first", { namespace, name: "daily" });
      await bench.run("first", { operator: scheduled });
      assert.deepStrictEqual(await needs({ operator: scheduled }), { daily: undefined });
      assert.deepStrictEqual(await needs({ operator: scheduled, now: later }), { daily: "routine" });
    });

    it("gives one to those of which somebody changed a child, deleted it, or took its labels", async () => {
      const child = (name: string) =>
        inNamespace(configMap(name, { a: "1" }), namespace) as Reference & Manifest;
      const names = ["calm", "gone", "healed", "patched", "unlabelled"];
      for (const name of names) {
        await api.apply(object(name, answering(configMap(name, { a: "1" }))));
        await run(name);
      }
      await api.delete(child("gone"));
      await api.patch(child("patched"), { data: { a: "2" } });
      await api.patch(child("healed"), { data: { a: "2" } });
      await api.patch(child("unlabelled"), { metadata: { labels: null } });
      await api.patch(child("calm"), { data: { b: "of somebody else" } });
      await deleteWorkflows();
      await run("healed");
      assert.deepStrictEqual(await needs(), {
        calm: undefined,
        gone: "routine",
        healed: undefined,
        patched: "routine",
        unlabelled: "routine",
      });
      for (const name of ["gone", "patched", "unlabelled"]) await run(name);
      const none = Object.fromEntries(names.map((name) => [name, undefined]));
      assert.deepStrictEqual(await needs(), none);
    });

    it("gives one to those that another program ran for, or whose kinds are declared no longer", async () => {
      await api.apply(object("demo", answering(configMap("settings"))));
      await run("demo");
      const other = { ...withoutTurns, children: [] };
      assert.deepStrictEqual(await needs({ program: "another" }), { demo: "routine" });
      assert.deepStrictEqual(await needs({ operator: other }), { demo: "routine" });
    });

    it("gives each of them one in one of ten resyncs", async () => {
      await api.apply(object("demo"));
      await run("demo");
      const turns = [];
      for (let resync = 0; resync < 2 * FULL_LOOK_RESYNCS; resync++) {
        const narrow = { ...operator.operator, namespaces: [namespace] };
        const now = new Date(resync * 1000 * narrow.resyncSeconds);
        const { demo } = await needs({ operator: narrow, now });
        if (demo === "routine") turns.push(resync);
      }
      assert.equal(turns.length, 2);
      assert.equal((turns[1] ?? 0) - (turns[0] ?? 0), FULL_LOOK_RESYNCS);
    });
  });

  it("tells objects whose last run failed without a word, once, and no others", async () => {
    const submitted = async (object: string, phase: string, run = object) => {
      const uid = uids.get(object) ?? "";
      const labels = {
        "argosy.dev/object-uid": uid,
        "argosy.dev/operator": identityOf(operator.operator),
        "workflows.argoproj.io/completed": "true",
        "workflows.argoproj.io/phase": phase,
      };
      await submit(operator, run, { namespace, name: object, uid }, labels);
      const lastWord = "main: Error (exit code 1): the handler was not there";
      const nodes = {
        wait: { displayName: "wait", phase },
        main: { displayName: "main", phase, message: lastWord },
      };
      const status = { phase, message: "Pod was active on the node longer than the deadline", nodes };
      await api.patch(workflow(run), { status });
    };
    const uids = new Map<string, string>();
    for (const name of ["silent", "healed", "told"]) {
      uids.set(name, (await api.apply(object(name))).metadata.uid);
    }
    for (const name of ["healed", "told"]) await submitted(name, "Failed");
    await aSecond();
    await submitted("silent", "Error");
    await submitted("healed", "Succeeded", "healed-since");
    await run("told");
    await resync();
    const ready = await bench.readyOf(object("silent"));
    assert.deepStrictEqual([ready.status, ready.reason], ["False", "RunFailed"]);
    assert.match(
      ready.message,
      /longer than the deadline; main: Error \(exit code 1\): the handler was not there/,
    );
    assert.ok(ready.message.endsWith("(run silent)"), ready.message);
    assert.equal((await api.get(object("healed")))["status"], undefined);
    assert.equal((await bench.readyOf(object("told"))).status, "True");
    const { metadata } = await api.get(object("silent"));
    await api.patch(workflow("silent"), { status: { message: "something else" } });
    await resync();
    assert.equal((await api.get(object("silent"))).metadata.resourceVersion, metadata.resourceVersion);
  });

  describe("that finds stranded runs", () => {
    const specWith = (name: string) => ({
      templates: [{ name: "reconcile", volumes: [{ name: "engine", configMap: { name } }] }],
    });
    const stored = (name: string) => ({ storedWorkflowTemplateSpec: specWith(name) });
    const nodes = (...phases: string[]) => ({
      nodes: Object.fromEntries(phases.map((phase, index) => [`node-${index}`, { phase }])),
    });

    before(async () => {
      const { apiVersion, kind } = WORKFLOW_TEMPLATES;
      const metadata = { name: operator.operator.name, namespace: operator.runnerNamespace };
      await api.apply({ apiVersion, kind, metadata, spec: specWith("new") });
    });

    /** Submits a run for a new object, as the Sensor does, and gives it that status. */
    async function submitted(name: string, status: JsonObject, hasUid = true): Promise<void> {
      const { uid } = (await api.apply(object(name))).metadata;
      const labels = hasUid ? { "argosy.dev/object-uid": uid } : undefined;
      await submit(operator, `run-${name}`, { namespace, name, uid }, labels);
      await api.patch(workflow(`run-${name}`), { status });
    }

    it("makes those again that have not begun and name what a roll-out has removed", async () => {
      await submitted("pending", { ...stored("old"), ...nodes("Pending", "Pending"), phase: "Running" });
      await submitted("locked", { ...stored("old"), phase: "Pending" });
      await submitted("new", { ...stored("new"), ...nodes("Pending"), phase: "Running" });
      await submitted("unseen", {});
      await submitted("begun", { ...stored("old"), ...nodes("Running", "Pending"), phase: "Running" });
      await submitted("compressed", { ...stored("old"), compressedNodes: "H4sI", phase: "Running" });
      await submitted("by-hand", { ...stored("old"), phase: "Pending" }, false);

      assert.deepStrictEqual(await resync(), { submitted: 2, running: 5, left: 0, failed: 0 });
      assert.deepStrictEqual(await runs(), [
        "resynced-locked",
        "resynced-pending",
        "run-begun",
        "run-by-hand",
        "run-compressed",
        "run-new",
        "run-unseen",
      ]);
    });

    it("submits none beside those that it cannot delete, and reports them", async () => {
      const told: string[] = [];
      const onError = (object: string, { message }: Error) => told.push(`${object}: ${message}`);
      const powerless = new KubernetesClient(operator.connection);
      powerless.deleteVersion = async () => assert.fail("not now");
      await submitted("kept", {});
      const result = await resync({ client: powerless, untouchedMs: -2_000, onError });
      assert.deepStrictEqual(result, { submitted: 0, running: 1, left: 0, failed: 0 });
      assert.deepStrictEqual(told, ["stranded runs: not now"]);
      powerless.close();
    });

    it("makes those again that the Workflow controller has passed over", async () => {
      await submitted("seen", { phase: "Pending" });
      await submitted("unseen", {});
      await submitted("unseen-by-hand", {}, false);
      assert.deepStrictEqual(await resync(), { submitted: 0, running: 3, left: 0, failed: 0 });
      // The API server knows but whole seconds.
      const later = await resync({ untouchedMs: -2_000 });
      assert.deepStrictEqual(later, { submitted: 1, running: 2, left: 0, failed: 0 });
      assert.deepStrictEqual(await runs(), ["resynced-unseen", "run-seen", "run-unseen-by-hand"]);
    });
  });

  describe("after a roll-out", () => {
    const WAITING = "run-waiting";
    const concurrency = 6;
    let uid: string;

    /** Deploys the template of the operator's runs, as a program would with these changes. Gives what a run stores of it. */
    async function deploy(changes: Partial<Operator>): Promise<JsonObject> {
      const options = operatorOptions({ platform: samplePlatform({ namespace: operator.runnerNamespace }) });
      // The planned handler writes into its folder.
      const files = { image: "registry.example.com/handler:1" };
      const changed: Operator = { ...operator.operator, execution: "pod", files, ...changes };
      const engine = buildEngineFiles("argosy", operator.runnerNamespace, { "engine.js": "//" });
      const { parts } = buildOperator(changed, options, buildFiles(changed, options, engine));
      assert.ok(parts["template"]);
      await api.apply(parts["template"] as Reference & Manifest);
      return { storedWorkflowTemplateSpec: parts["template"].spec as JsonObject };
    }

    /** One run has ended, and one of another object waits for its pod. */
    beforeEach(async () => {
      const stored = await deploy({ concurrency });
      for (const name of ["handled", "waiting"]) {
        const { uid } = (await api.apply(object(name))).metadata;
        const labels = { "argosy.dev/object-uid": uid };
        await submit(operator, `run-${name}`, { namespace, name, uid }, labels);
        await api.patch(workflow(`run-${name}`), { status: { ...stored, phase: "Pending" } });
      }
      await bench.run("run-handled");
      await api.delete(workflow("run-handled"));
      uid = (await api.get(workflow(WAITING))).metadata.uid;
    });

    it("of another concurrency and other resyncSeconds leaves a run in its place, and makes none for it", async () => {
      await deploy({ concurrency: concurrency - 2, resyncSeconds: 2 * operator.operator.resyncSeconds });
      assert.deepStrictEqual(await resync({ operator: withoutTurns }), {
        submitted: 0,
        running: 1,
        left: 0,
        failed: 0,
      });
      assert.equal((await api.get(workflow(WAITING))).metadata.uid, uid);
    });

    it("of another program makes a run again that waits, and one for each object that is handled", async () => {
      await deploy({ concurrency, timeoutSeconds: 2 * operator.operator.timeoutSeconds });
      assert.deepStrictEqual(await resync({ operator: withoutTurns }), {
        submitted: 2,
        running: 0,
        left: 0,
        failed: 0,
      });
      assert.deepStrictEqual(await runs(), ["resynced-handled", "resynced-waiting"]);
    });
  });
});
