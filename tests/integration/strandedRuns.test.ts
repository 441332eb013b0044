import assert from "node:assert/strict";
import { resyncWorkflowRules } from "../../components/manifests/operator/rules";
import { WORKFLOW_TEMPLATES, WORKFLOWS } from "../../runtime/argo/workflows";
import { KubernetesClient } from "../../runtime/kubernetes/client";
import type { JsonObject, Manifest } from "../../runtime/kubernetes/objects";
import { type ResyncOptions, resyncOnce } from "../../runtime/pod/resyncOnce";
import { allowRunner, announceArgo, INSTANCE_ID, submit } from "./support/argo";
import { announceKind, sharedCluster } from "./support/cluster";
import { customResourceDefinitionOf, TestOperator } from "./support/testOperator";

const OPTIONS = { name: "rolled-out", finalize: false, children: [] };

/** What Argo would write into a Workflow's status, the test does: the real one is tried by the chaos run. */
describe("a resync that finds stranded runs", () => {
  announceArgo();
  announceKind(customResourceDefinitionOf(OPTIONS));

  let operator: TestOperator;
  let client: KubernetesClient;
  let namespace: string;

  before(async function () {
    // The control plane may have to be built.
    this.timeout(0);
    operator = await TestOperator.install(await sharedCluster(), OPTIONS);
    await allowRunner(operator, "resync", resyncWorkflowRules(operator.operator));
    client = new KubernetesClient(operator.connection);
    namespace = await operator.cluster.api.newNamespace("rolled-out");
  });

  after(async () => {
    client?.close();
    await operator?.dispose();
  });

  const specWith = (name: string) => ({
    templates: [{ name: "reconcile", volumes: [{ name: "engine", configMap: { name } }] }],
  });
  const stored = (name: string) => ({ storedWorkflowTemplateSpec: specWith(name) });
  const nodes = (...phases: string[]) => ({
    nodes: Object.fromEntries(phases.map((phase, index) => [`node-${index}`, { phase }])),
  });

  const resync = (more: Partial<ResyncOptions> = {}) =>
    resyncOnce({
      operator: { ...operator.operator, namespaces: [namespace] },
      client,
      namespace: operator.runnerNamespace,
      instanceId: INSTANCE_ID,
      instance: "pod",
      withinMs: 300,
      ...more,
    });

  /** The names of all Workflows, those that a resync has submitted without what makes each name its own. */
  async function runs(): Promise<string[]> {
    const all = await operator.cluster.api.list(
      WORKFLOWS.apiVersion,
      WORKFLOWS.kind,
      operator.runnerNamespace,
    );
    return all.map(({ metadata }) => metadata.name.replace(/-[0-9a-f]{10}$/, "")).sort();
  }

  async function submitted(name: string, status: JsonObject, hasUid = true): Promise<void> {
    const { api } = operator.cluster;
    const { uid } = (await api.apply(operator.object(name, {}, namespace) as Manifest)).metadata;
    const labels = hasUid ? { "argosy.dev/object-uid": uid } : undefined;
    const { metadata } = await submit(operator, `run-${name}`, { namespace, name, uid }, labels);
    const { apiVersion, kind } = WORKFLOWS;
    await api.patch({ apiVersion, kind, metadata }, { status });
  }

  it("makes those anew that have not begun and name what a roll-out has removed", async () => {
    const { api } = operator.cluster;
    const { apiVersion, kind } = WORKFLOW_TEMPLATES;
    const metadata = { name: operator.operator.name, namespace: operator.runnerNamespace };
    await api.apply({ apiVersion, kind, metadata, spec: specWith("new") });
    await submitted("pending", { ...stored("old"), ...nodes("Pending", "Pending"), phase: "Running" });
    await submitted("locked", { ...stored("old"), phase: "Pending" });
    await submitted("new", { ...stored("new"), ...nodes("Pending"), phase: "Running" });
    await submitted("unseen", {});
    await submitted("begun", { ...stored("old"), ...nodes("Running", "Pending"), phase: "Running" });
    await submitted("compressed", { ...stored("old"), compressedNodes: "H4sI", phase: "Running" });
    await submitted("by-hand", { ...stored("old"), phase: "Pending" }, false);

    assert.deepStrictEqual(await resync(), { submitted: 2, running: 5, left: 0, failed: 0 });
    assert.deepStrictEqual(await runs(), [
      "rolled-out-locked",
      "rolled-out-pending",
      "run-begun",
      "run-by-hand",
      "run-compressed",
      "run-new",
      "run-unseen",
    ]);
  });

  it("makes those anew that the Workflow controller has passed over", async () => {
    const young = await resync();
    assert.deepStrictEqual(young, { submitted: 0, running: 7, left: 0, failed: 0 });
    // The API server knows but whole seconds. The two that the first test saw submitted have no phase either.
    const old = await resync({ untouchedMs: -2_000 });
    assert.deepStrictEqual(old, { submitted: 3, running: 4, left: 0, failed: 0 });
    assert.ok((await runs()).includes("rolled-out-unseen"));
  });
});
