import assert from "node:assert/strict";
import { WORKFLOW_TEMPLATES, WORKFLOWS } from "../../runtime/argo/workflows";
import { ReconcileFailure } from "../../runtime/failure";
import { conditionsIn, type ObjectMeta } from "../../runtime/kubernetes/objects";
import { identityOf } from "../../runtime/names";
import { resyncOnce } from "../../runtime/pod/resync/resyncOnce";
import { FakeCluster } from "./support/fakeCluster";
import { IDENTITY, OPERATOR, observed, operator, widget } from "./support/objects";

const NAMESPACE = "argosy";
const NAME = { namespace: "shop", name: "widget" };
const LABELS = { "argosy.dev/object-uid": "widget-uid", "argosy.dev/operator": identityOf(IDENTITY) };

describe("a resync, of an object that needs a run", () => {
  let cluster: FakeCluster;
  let notices: string[];

  beforeEach(() => {
    cluster = new FakeCluster();
    notices = [];
    cluster.put(widget());
    cluster.put(observed(WORKFLOW_TEMPLATES.kind, { spec: {} }, { name: OPERATOR, namespace: NAMESPACE }));
  });

  /** A run of the object. */
  function run(
    name: string,
    content: { spec?: object; status?: object } = {},
    more: Partial<ObjectMeta> = {},
  ) {
    const parameters = Object.entries({ ...NAME, uid: "widget-uid" }).map(([key, value]) => ({
      name: key,
      value,
    }));
    const spec = { workflowTemplateRef: { name: OPERATOR }, arguments: { parameters }, ...content.spec };
    const creationTimestamp = new Date(cluster.time - 30_000).toISOString();
    const metadata = {
      name,
      namespace: NAMESPACE,
      uid: `${name}-uid`,
      creationTimestamp,
      labels: LABELS,
      ...more,
    };
    cluster.put(observed(WORKFLOWS.kind, { ...content, spec }, metadata));
  }

  const runs = () => cluster.ofKind(WORKFLOWS.kind).map(({ metadata }) => metadata.name);

  /** How many runs a resync submits. */
  async function submitted(): Promise<number> {
    const children = [
      { apiVersion: "v1", kind: "ConfigMap", update: "apply", plural: "configmaps" },
    ] as const;
    const result = await resyncOnce({
      operator: operator({ execution: "pod", children }),
      client: cluster.client(),
      namespace: NAMESPACE,
      instanceId: "",
      instance: "resync-pod",
      lookMs: 1,
      withinMs: 100,
      onError: (what, error) => assert.ok(error instanceof ReconcileFailure, `${what}: ${error.message}`),
      onNotice: (what, message) => void notices.push(`${what}: ${message}`),
    });
    return result.submitted;
  }

  describe("whose run was suspended and then terminated, which Argo does not end", () => {
    const spec = { suspend: true, shutdown: "Terminate" };

    it("says so on the object, and submits no other run, which would wait for this one", async () => {
      run("held", { spec, status: { phase: "Running" } });
      assert.equal(await submitted(), 0);
      const [ready] = conditionsIn(cluster.find("Widget", NAME)?.["status"]);
      assert.equal(ready?.reason, "RunSuspended");
      assert.deepEqual(runs(), ["held"]);
    });

    for (const phase of ["Pending", "Failed"])
      it(`replaces the run if it waits for its turn, with a node that is ${phase}`, async () => {
        const node = { phase, synchronizationStatus: { waiting: "argosy/ConfigMap/runs" } };
        run("held", { spec, status: { phase: "Running", nodes: { held: node } } });
        assert.equal(await submitted(), 1);
        assert.deepEqual(runs(), []);
      });
  });

  describe("that has failed runs", () => {
    /** A run that has ended. @param minute in which it was created */
    function ended(name: string, minute: number, phase: string, labels: Record<string, string> = LABELS) {
      const argo = { "workflows.argoproj.io/completed": "true", "workflows.argoproj.io/phase": phase };
      const creationTimestamp = `2026-01-01T00:0${minute}:00Z`;
      run(name, { status: { phase } }, { creationTimestamp, labels: { ...argo, ...labels } });
    }

    it("keeps the newest of them, and deletes the others", async () => {
      ended("b", 2, "Error");
      ended("d", 4, "Failed");
      for (const [index, name] of ["a", "c"].entries()) ended(name, 2 * index + 1, "Failed");
      ended("later", 5, "Succeeded");
      await submitted();
      assert.deepEqual(runs(), ["d", "later"]);
    });

    it("spares those that succeeded, wait for the archive, or are of another object, of another operator or by hand", async () => {
      const { "argosy.dev/object-uid": _, ...byHand } = LABELS;
      ended("first", 1, "Succeeded");
      ended("unarchived", 2, "Failed", {
        ...LABELS,
        "workflows.argoproj.io/workflow-archiving-status": "Pending",
      });
      ended("other", 1, "Failed", { ...LABELS, "argosy.dev/object-uid": "other-uid" });
      ended("others", 1, "Failed", { ...LABELS, "argosy.dev/operator": "argosy.another" });
      ended("by-hand", 1, "Failed", byHand);
      ended("last", 3, "Failed");
      await submitted();
      assert.deepEqual(runs(), ["first", "unarchived", "other", "others", "by-hand", "last"]);
      assert.deepEqual(notices, []);
    });

    it("deletes the oldest of more than 5,000 that wait for the archive, and says so", async () => {
      const labels = { ...LABELS, "workflows.argoproj.io/workflow-archiving-status": "Pending" };
      ended("oldest", 1, "Failed", labels);
      for (let at = 0; at < 5_000; at++) ended(`run-${at}`, 2, "Failed", labels);
      ended("last", 3, "Failed", labels);
      await submitted();
      assert.equal(runs().length, 5_001);
      assert.ok(!runs().includes("oldest") && runs().includes("last"));
      assert.deepEqual(notices, [
        "failed runs before the last ones: 1 are deleted before they are in the archive, since too many wait for it",
      ]);
    });
  });
});
