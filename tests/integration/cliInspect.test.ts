import assert from "node:assert/strict";
import { ARGOSY_VERSION } from "../../components/package";
import { identityOf } from "../../runtime/base/names";
import type { KubernetesObject } from "../../runtime/base/objects";
import { buildRecordedRun } from "../../runtime/report/recordedRun";
import { eventually } from "../support/eventually";
import { runArgosy } from "../unit/support/runArgosy";
import { announceArgo, INSTANCE_ID } from "./support/argo";
import { configMap, deployedDefinition, inNamespace } from "./support/manifests";
import { askForCluster } from "./support/sharedCluster";
import { answering, useOperator } from "./support/useOperator";

describe("the commands that look at a cluster", function () {
  this.timeout(60_000);
  announceArgo();
  const schedules = { nightly: { cron: "0 3 * * *" } };
  const bench = useOperator({ name: "inspected", schedules });
  const kind = () => bench.operator.operator.customResource.kind.toLowerCase();
  let kubeconfig: string;

  before(async () => {
    kubeconfig = await askForCluster();
    const { operator, runnerNamespace: namespace } = bench.operator;
    await bench.api.apply(deployedDefinition(operator, namespace));
  });

  /** Runs a command against the control plane. */
  async function argosy(expectedCode: number, ...args: string[]): Promise<string> {
    const { result, stdout, stderr } = await runArgosy(
      ...args,
      "--kubeconfig",
      kubeconfig,
      "--namespace",
      bench.namespace,
    );
    assert.equal(result, expectedCode, `${stdout}\n${stderr}`);
    return stdout + stderr;
  }
  const explained = async (name: string) =>
    JSON.parse(await argosy(3, "explain", `${kind()}/${name}`, "--json")) as {
      summary: string;
      reason: string;
      operator: string;
      leader: string;
      attempt: number;
      runs: { name: string }[];
      place: object;
    };

  /** A run of an object, as the recorder writes it. */
  async function record(object: KubernetesObject, name: string): Promise<void> {
    const { operator, runnerNamespace: namespace } = bench.operator;
    const log = 'Traceback:\n  File "/argosy/handler/main.py", line 3, in reconcile\nKeyError';
    const report = {
      operator: operator.name,
      kind: object.kind,
      namespace: object.metadata.namespace,
      name: object.metadata.name,
      uid: object.metadata.uid,
      generation: 1,
      event: "reconcile",
      result: "failed",
      failure: { reason: "HandlerCrashed", message: "it broke" },
      changes: [],
      attempt: 1,
      durationMs: 5,
      log,
    } as unknown as Parameters<typeof buildRecordedRun>[0]["report"];
    await bench.api.apply(
      buildRecordedRun(
        { name, report, finishedAt: new Date() },
        { namespace, installation: operator.installation, instanceId: INSTANCE_ID, keptSeconds: 600 },
      ),
    );
  }

  it("explain an object that is Ready, by any name of its kind", async () => {
    await bench.applied("fine");
    const { plural, group } = bench.operator.operator.customResource;
    for (const word of [kind(), plural, `${plural}.${group}`]) {
      assert.match(await argosy(0, "explain", `${word}/fine`), /\/fine: It is Ready\./);
    }
  });

  it("explain a failure: attempts, who leads, the run and its place", async () => {
    const object = await bench.applyObject("broken", { exitCode: 7 });
    await bench.failed(object, "HandlerCrashed");
    await record(object, "inspected-broken");
    await eventually(async () => {
      const { summary, reason, operator, leader, attempt, runs, place } = await explained("broken");
      assert.equal(summary, "It is not Ready: its reconcile fails.");
      assert.deepEqual([reason, operator, leader], ["HandlerCrashed", "inspected", "one"]);
      assert.ok(attempt >= 3, `attempt ${attempt}`);
      assert.deepEqual(
        runs.map(({ name }) => name),
        ["inspected-broken"],
      );
      assert.deepEqual(place, { file: "main.py", line: 3 });
    });
    assert.match(
      await argosy(0, "runs", `${kind()}/broken`, "--log"),
      /✘ inspected-broken .*HandlerCrashed[\s\S]*KeyError/,
    );
    assert.match(await argosy(0, "runs", "inspected", "--failed"), /inspected-broken/);
    // A name that is mistyped.
    assert.match(await argosy(0, "runs", "inspectd"), /no such runs\. Operators with runs: .*\binspected\b/);
  });

  it("pause an object, explain that, and resume it", async () => {
    const object = await bench.applied("paused", answering(configMap("paused", { a: "1" })));
    const paused = await argosy(0, "pause", `${kind()}/paused`);
    assert.match(paused, /\/paused: paused$/m);
    assert.ok(!paused.includes("No operator"), paused);
    assert.match(await argosy(0, "pause", `${kind()}/paused`), /was paused already/);
    assert.match((await explained("paused")).summary, /^It is paused/);
    await bench.applyObject("paused", answering(configMap("paused", { a: "2" })));
    await argosy(0, "resume", `${kind()}/paused`);
    assert.match(await argosy(0, "resume", `${kind()}/paused`), /\/paused: was not paused$/m);
    await eventually(async () => {
      const child = await bench.api.get(inNamespace(configMap("paused"), bench.namespace));
      assert.deepEqual(child["data"], { a: "2" });
    });
    await bench.ready(object);
  });

  it("replay an object: its operator is asked at once", async () => {
    const object = await bench.applied("again");
    await bench.idle();
    const before = bench.engine.reportsOf("again").length;
    assert.match(await argosy(0, "replay", `${kind()}/again`), /its operator will reconcile it at once/);
    await eventually(() => assert.ok(bench.engine.reportsOf("again").length > before));
    await bench.ready(object);
  });

  it("replay a run: the same is submitted again, without the uid of the object", async () => {
    const object = await bench.applied("resubmitted");
    await record(object, "inspected-resubmitted");
    const run = JSON.parse(await argosy(0, "replay", "inspected-resubmitted", "--no-wait", "--json")) as {
      name: string;
      namespace: string;
      object: object;
    };
    const { apiVersion, kind: kindName } = object;
    const reference = { apiVersion, kind: kindName, namespace: bench.namespace, name: "resubmitted" };
    assert.deepEqual(run.object, reference);
    const workflow = await bench.api.get({
      apiVersion: "argoproj.io/v1alpha1",
      kind: "Workflow",
      metadata: run,
    });
    assert.deepEqual(workflow["spec"], {
      workflowTemplateRef: { name: "inspected" },
      arguments: {
        parameters: [
          { name: "namespace", value: bench.namespace },
          { name: "name", value: "resubmitted" },
        ],
      },
    });
    assert.equal(workflow.metadata.labels?.["workflows.argoproj.io/controller-instanceid"], INSTANCE_ID);
    // No controller runs it.
    assert.match(
      await argosy(1, "replay", "inspected-resubmitted", "--timeout", "1"),
      /This did not happen within 1 s: the end of the run inspected-again-/,
    );
  });

  it("replay a schedule: a run of it is submitted where Argo Workflows can run it", async () => {
    const { metadata } = await bench.applied("nightly");
    const of = `${kind()}/nightly`;
    assert.match(
      await argosy(2, "replay", "inspected-nightly", "--due", "nightly"),
      /write KIND\/NAME instead/,
    );
    assert.match(
      await argosy(1, "replay", of, "--due", "nightly"),
      /The schedule nightly can only run at its own times: inspected was deployed without Argo Workflows/,
    );
    const { operator, runnerNamespace: namespace } = bench.operator;
    const deployed = deployedDefinition(operator, namespace);
    const ofThisVersion = { ...deployed.metadata.labels, "app.kubernetes.io/version": ARGOSY_VERSION };
    await bench.api.apply({ ...deployed, metadata: { ...deployed.metadata, labels: ofThisVersion } });
    assert.match(
      await argosy(2, "replay", of, "--due", "nightl"),
      /inspected has no schedule nightl\. Its schedules: nightly\./,
    );
    await bench.api.apply(deployed);
    const labels = {
      "argosy.dev/operator": identityOf(operator),
      "workflows.argoproj.io/controller-instanceid": INSTANCE_ID,
      "app.kubernetes.io/name": "inspected",
    };
    const argo = "argoproj.io/v1alpha1";
    const template = { name: "inspected", namespace, labels };
    await bench.api.apply({ apiVersion: argo, kind: "WorkflowTemplate", metadata: template, spec: {} });
    const text = await argosy(0, "replay", of, "--due", "nightly", "--no-wait", "--json");
    const run = JSON.parse(text) as { name: string; namespace: string; operator: string };
    assert.equal(run.operator, "inspected");
    assert.match(run.name, /^inspected-nightly-/);
    const workflow = await bench.api.get({ apiVersion: argo, kind: "Workflow", metadata: run });
    assert.deepEqual(workflow["spec"], {
      workflowTemplateRef: { name: "inspected" },
      arguments: {
        parameters: [
          { name: "namespace", value: bench.namespace },
          { name: "name", value: "nightly" },
          { name: "uid", value: metadata.uid },
          { name: "schedule", value: "nightly" },
        ],
      },
    });
    assert.equal(workflow.metadata.labels?.["workflows.argoproj.io/controller-instanceid"], INSTANCE_ID);
  });

  it("say what does not exist", async () => {
    assert.match(
      await argosy(1, "explain", `${kind()}/missing`),
      /^There is no \w+ .*\/missing in this cluster\./,
    );
    assert.match(await argosy(2, "explain", "nonsense/a"), /The cluster has no kind "nonsense"/);
    assert.match(await argosy(1, "replay", "nothing"), /There is no run nothing in this cluster/);
    assert.match(await argosy(1, "logs", "inspected"), /The operator inspected has no pod in the namespace/);
  });

  it("say of an object of a kind that is Kubernetes' own, by its short name too, that no operator handles it", async () => {
    await bench.api.apply(inNamespace(configMap("plain"), bench.namespace));
    assert.match(
      await argosy(3, "explain", "cm/plain"),
      /No operator for ConfigMap is installed in this cluster/,
    );
    assert.match(
      await argosy(0, "pause", "configmap/plain"),
      /No operator for ConfigMap is installed in this cluster\. Only argosy dev respects this pause\./,
    );
  });
});
