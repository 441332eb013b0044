import assert from "node:assert/strict";
import { buildEngineFiles, buildFiles } from "../../components/manifests/operator/configMaps";
import { buildOperator } from "../../components/manifests/operator/operator";
import { WORKFLOW_TEMPLATES, WORKFLOWS } from "../../runtime/argo/workflows";
import type { Operator } from "../../runtime/definition/definition";
import { KubernetesClient } from "../../runtime/kubernetes/client";
import type { JsonObject, Manifest } from "../../runtime/kubernetes/objects";
import { identityOf } from "../../runtime/names";
import type { Reference } from "../../tools/objects";
import { aSecond } from "../support/eventually";
import { operatorOptions } from "../unit/operatorManifests";
import { samplePlatform } from "../unit/support/platform";
import type { Api } from "./support/api";
import { submit } from "./support/argo";
import { type ResyncBench, useResyncs } from "./support/resyncs";
import type { ObjectPlan, TestOperator } from "./support/testOperator";

/** What Argo would write into a Workflow, the test does: the real one is tried by the e2e and the chaos run. */
describe("a resync of the form pod", () => {
  let bench: ResyncBench;
  let operator: TestOperator;
  let api: Api;
  let namespace: string;

  useResyncs("rerun", (begun) => {
    bench = begun;
    ({ operator, api, namespace } = bench);
  });

  const object = (name: string, plan?: ObjectPlan) => bench.object(name, plan);

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
      await api.patch(bench.workflow(run), { status });
    };
    const uids = new Map<string, string>();
    for (const name of ["silent", "healed", "told"]) {
      uids.set(name, (await api.apply(object(name))).metadata.uid);
    }
    for (const name of ["healed", "told"]) await submitted(name, "Failed");
    await aSecond();
    await submitted("silent", "Error");
    await submitted("healed", "Succeeded", "healed-since");
    await bench.runFor("told");
    await bench.resync();
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
    await api.patch(bench.workflow("silent"), { status: { message: "something else" } });
    await bench.resync();
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
      await api.patch(bench.workflow(`run-${name}`), { status });
    }

    it("makes those again that have not begun and name what a roll-out has removed", async () => {
      await submitted("pending", { ...stored("old"), ...nodes("Pending", "Pending"), phase: "Running" });
      await submitted("locked", { ...stored("old"), phase: "Pending" });
      await submitted("new", { ...stored("new"), ...nodes("Pending"), phase: "Running" });
      await submitted("unseen", {});
      await submitted("begun", { ...stored("old"), ...nodes("Running", "Pending"), phase: "Running" });
      await submitted("compressed", { ...stored("old"), compressedNodes: "H4sI", phase: "Running" });
      await submitted("by-hand", { ...stored("old"), phase: "Pending" }, false);

      assert.deepStrictEqual(await bench.resync(), { submitted: 2, running: 5, left: 0, failed: 0 });
      assert.deepStrictEqual(await bench.runs(), [
        "rerun-locked",
        "rerun-pending",
        "run-begun",
        "run-by-hand",
        "run-compressed",
        "run-new",
        "run-unseen",
      ]);
    });

    it("makes one again for an object that it has not seen: the object came after the look at all others", async () => {
      const late = new KubernetesClient(operator.connection);
      const list = late.list.bind(late);
      let isThere = false;
      late.list = async (resource, ...rest) => {
        if (resource.plural === WORKFLOWS.plural && !isThere) {
          isThere = true;
          await submitted("late", { ...stored("old"), phase: "Pending" });
        }
        return list(resource, ...rest);
      };
      const result = await bench.resync({ client: late });
      assert.deepStrictEqual(result, { submitted: 1, running: 0, left: 0, failed: 0 });
      assert.deepStrictEqual(await bench.runs(), ["rerun-late"]);
      late.close();
    });

    it("leaves a run that starts a schedule, since another run would not", async () => {
      const { uid } = (await api.apply(object("daily"))).metadata;
      const labels = { "argosy.dev/object-uid": uid };
      await submit(operator, "run-daily", { namespace, name: "daily", uid, schedule: "daily" }, labels);
      await api.patch(bench.workflow("run-daily"), { status: { ...stored("old"), phase: "Pending" } });
      assert.deepStrictEqual(await bench.resync(), { submitted: 0, running: 1, left: 0, failed: 0 });
      assert.deepStrictEqual(await bench.runs(), ["run-daily"]);
    });

    it("submits none beside those that it cannot delete, and reports them", async () => {
      const told: string[] = [];
      const onError = (object: string, { message }: Error) => told.push(`${object}: ${message}`);
      const powerless = new KubernetesClient(operator.connection);
      powerless.deleteVersion = async () => assert.fail("not now");
      await submitted("kept", {});
      const result = await bench.resync({ client: powerless, untouchedMs: -2_000, onError });
      assert.deepStrictEqual(result, { submitted: 0, running: 1, left: 0, failed: 0 });
      assert.deepStrictEqual(told, ["stranded runs: not now"]);
      powerless.close();
    });

    it("makes those again that the Workflow controller has passed over", async () => {
      await submitted("seen", { phase: "Pending" });
      await submitted("unseen", {});
      await submitted("unseen-by-hand", {}, false);
      assert.deepStrictEqual(await bench.resync(), { submitted: 0, running: 3, left: 0, failed: 0 });
      // The API server knows but whole seconds.
      const later = await bench.resync({ untouchedMs: -2_000 });
      assert.deepStrictEqual(later, { submitted: 1, running: 2, left: 0, failed: 0 });
      assert.deepStrictEqual(await bench.runs(), ["rerun-unseen", "run-seen", "run-unseen-by-hand"]);
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
        await api.patch(bench.workflow(`run-${name}`), { status: { ...stored, phase: "Pending" } });
      }
      await bench.run("run-handled");
      await api.delete(bench.workflow("run-handled"));
      uid = (await api.get(bench.workflow(WAITING))).metadata.uid;
    });

    it("of another concurrency and other resyncSeconds leaves a run in its place, and makes none for it", async () => {
      await deploy({ concurrency: concurrency - 2, resyncSeconds: 2 * operator.operator.resyncSeconds });
      assert.deepStrictEqual(await bench.resync({ operator: bench.withoutTurns }), {
        submitted: 0,
        running: 1,
        left: 0,
        failed: 0,
      });
      assert.equal((await api.get(bench.workflow(WAITING))).metadata.uid, uid);
    });

    it("of another program makes a run again that waits, and one for each object that is handled", async () => {
      await deploy({ concurrency, timeoutSeconds: 2 * operator.operator.timeoutSeconds });
      assert.deepStrictEqual(await bench.resync({ operator: bench.withoutTurns }), {
        submitted: 2,
        running: 0,
        left: 0,
        failed: 0,
      });
      assert.deepStrictEqual(await bench.runs(), ["rerun-handled", "rerun-waiting"]);
    });
  });
});
