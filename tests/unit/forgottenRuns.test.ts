import assert from "node:assert/strict";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { ApiError } from "../../runtime/kubernetes/errors";
import type { KubernetesObject, Manifest, ObjectMeta, ObjectName } from "../../runtime/kubernetes/objects";
import type { Resource } from "../../runtime/kubernetes/resource";
import { quietRun, wakeForgottenRuns } from "../../runtime/pod/workflows/forgottenRuns";
import { observed } from "./support/objects";

const MINUTE = 60_000;
const NAMESPACE = "argosy";
const LABEL = "workflows.argoproj.io/workflow";
const BEGUN = { phase: "Running", nodes: { run: { phase: "Running" } } };
const WAITING = { phase: "Pending" };

const ago = (minutes: number) => new Date(Date.now() - minutes * MINUTE).toISOString();

describe("runs that the Workflow controller has forgotten", () => {
  let pods: KubernetesObject[];
  let reminders: Manifest[];
  let deleted: string[];
  let selectors: string[];
  let refusal: ApiError | undefined;

  const client = {
    now: () => Date.now(),
    list: async (
      _: Resource,
      { labelSelector = "" }: { labelSelector?: string },
      onPage: (items: KubernetesObject[]) => void,
    ) => {
      selectors.push(labelSelector);
      onPage(pods);
    },
    create: async (resource: Resource, manifest: Manifest) => {
      assert.equal(resource.kind, "WorkflowTaskResult");
      if (refusal) throw refusal;
      if (reminders.some(({ metadata }) => metadata.name === manifest.metadata.name))
        throw new ApiError(409, { reason: "AlreadyExists" }, "POST");
      reminders.push(manifest);
    },
    deleteVersion: async (_: Resource, { name }: ObjectName, { uid }: { uid: string }) => {
      deleted.push(`${name} ${uid}`);
    },
  } as unknown as KubernetesClient;

  beforeEach(() => {
    pods = [];
    reminders = [];
    deleted = [];
    selectors = [];
    refusal = undefined;
  });

  /** A Workflow to which nobody has written for this many minutes. */
  function run(name: string, status: object, minutes: number, more: object = {}): KubernetesObject {
    const metadata: Partial<ObjectMeta> = {
      name,
      namespace: NAMESPACE,
      uid: `uid-${name}`,
      creationTimestamp: ago(minutes + 1),
      managedFields: [{ manager: "workflow-controller", time: ago(minutes) }],
      labels: { "argosy.dev/object-uid": "1" },
    };
    return observed("Workflow", { status, ...more }, metadata);
  }

  /** The pod of a Workflow that ended this many minutes ago, by a node whose clock is wrong. Undefined: that goes on. */
  function pod(of: string, phase: string, minutes?: number): void {
    const state = minutes === undefined ? { running: {} } : { terminated: { finishedAt: ago(minutes - 60) } };
    const status = { phase, containerStatuses: [{ state }, {}] };
    const labels = { [LABEL]: of };
    const managedFields = [{ manager: "kubelet", subresource: "status", time: ago(minutes ?? 0) }];
    const creationTimestamp = ago(60);
    pods.push(
      observed(
        "Pod",
        { status },
        { name: of, namespace: NAMESPACE, labels, creationTimestamp, managedFields },
      ),
    );
  }

  async function wake(
    ...runs: KubernetesObject[]
  ): Promise<{ acted: boolean; told: string[]; failed: string[] }> {
    const [told, failed]: [string[], string[]] = [[], []];
    const quiet = runs.map((each) => quietRun(each, Date.now())).filter((each) => each !== undefined);
    const acted = await wakeForgottenRuns(quiet, {
      client,
      namespace: NAMESPACE,
      instanceId: "argosy",
      onNotice: (what) => void told.push(what),
      onError: (what) => void failed.push(what),
    });
    return { acted, told, failed };
  }
  const reminded = () => reminders.map(({ metadata }) => metadata.name);

  it("are those whose pods have ended, or are gone, and of which nothing has changed since", async () => {
    pod("ended", "Succeeded", 5);
    pod("failed", "Failed", 5);
    pod("unnoticed", "Failed", 5);
    const { acted, told } = await wake(
      run("ended", BEGUN, 10),
      run("failed", BEGUN, 10),
      run("gone", BEGUN, 10),
      // The write with the beginning of its pod was refused too.
      run("unnoticed", WAITING, 10),
    );
    assert.ok(acted);
    const names = ["ended", "failed", "gone", "unnoticed"];
    assert.deepEqual(
      reminded(),
      names.map((name) => `${name}.reminder-1`),
    );
    assert.deepEqual(
      told,
      names.map((name) => `Workflow ${name}`),
    );
    assert.deepEqual(reminders[0]?.metadata, {
      name: "ended.reminder-1",
      namespace: NAMESPACE,
      labels: { "workflows.argoproj.io/controller-instanceid": "argosy", [LABEL]: "ended" },
      ownerReferences: [
        { apiVersion: "argoproj.io/v1alpha1", kind: "Workflow", name: "ended", uid: "uid-ended" },
      ],
    });
    assert.deepEqual(selectors, [`${LABEL} in (ended,failed,gone,unnoticed)`]);
  });

  it("are not those that wait, or are at work, or have changed just now", async () => {
    pod("at-work", "Running");
    pod("no-room", "Pending");
    pod("lost-node", "Unknown");
    pod("just-ended", "Succeeded", 1);
    pod("changed", "Succeeded", 5);
    const { acted, told } = await wake(
      run("locked", WAITING, 60),
      run("queued", { phase: "Running", nodes: { run: { phase: "Pending" } } }, 60),
      run("at-work", BEGUN, 60),
      run("no-room", { phase: "Running", nodes: { run: { phase: "Pending" } } }, 60),
      run("lost-node", BEGUN, 60),
      run("just-ended", BEGUN, 60),
      run("changed", BEGUN, 1),
      run("suspended", BEGUN, 60, { spec: { suspend: true } }),
      run(
        "overdue",
        { ...BEGUN, startedAt: ago(60), storedWorkflowTemplateSpec: { activeDeadlineSeconds: 60 } },
        50,
      ),
    );
    assert.ok(!acted);
    assert.deepEqual([reminded(), deleted, told], [[], [], []]);
  });

  it("have their pods asked for a hundred at a time, and nothing is asked if there is none", async () => {
    await wake();
    assert.deepEqual(selectors, []);
    await wake(...Array.from({ length: 201 }, (_, index) => run(`run-${index}`, WAITING, 5)));
    assert.equal(selectors.length, 3);
    await wake(run("x".repeat(64), BEGUN, 5));
    assert.equal(selectors.length, 3);
  });

  it("are replaced when three reminders and a quarter of an hour did not help", async () => {
    const old = run("old", BEGUN, 20);
    const young = run("young", BEGUN, 10);
    const byHand = run("by-hand", BEGUN, 20);
    delete byHand.metadata.labels;
    for (let resync = 1; resync <= 3; resync++) assert.ok((await wake(old, young, byHand)).acted);
    assert.deepEqual([reminders.length, deleted], [9, []]);
    assert.deepEqual(await wake(old, young, byHand), { acted: true, told: ["Workflow old"], failed: [] });
    assert.deepEqual(deleted, ["old uid-old"]);
    assert.deepEqual(await wake(young, byHand), { acted: false, told: [], failed: [] });
    assert.equal(reminders.length, 9);
  });

  it("are each tried by itself", async () => {
    refusal = new ApiError(403, { reason: "Forbidden" }, "POST");
    const { acted, told, failed } = await wake(run("one", BEGUN, 5), run("two", BEGUN, 5));
    assert.deepEqual([acted, told, failed], [false, [], ["Workflow one", "Workflow two"]]);
  });
});
