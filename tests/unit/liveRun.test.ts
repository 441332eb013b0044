import assert from "node:assert/strict";
import type { JsonObject, KubernetesObject } from "../../runtime/base/objects";
import {
  isReplaced,
  type LiveRun,
  liveRunOf,
  nameOfRun,
  stateOfRun,
  whyStuck,
} from "../../runtime/engine/dispatch/liveRun";
import type { Need } from "../../runtime/engine/dispatch/needs";
import { markOf, Places } from "../../runtime/engine/dispatch/places";
import type { Operator } from "../../runtime/operator/definition";
import { hasBegun, statusOf } from "../../runtime/report/workflows";
import { observed } from "./support/objects";

const OPERATOR = { installation: "argosy", name: "heavy", formerNames: [] } as unknown as Operator;
const CREATED = "2026-01-01T00:00:00Z";
const at = (minutes: number) => Date.parse(CREATED) + minutes * 60_000;
const NAME = nameOfRun("heavy", { namespace: "shop", name: "demo", uid: "uid" }, "urgent-1");

function workflow(status: JsonObject = {}, spec: JsonObject = {}, name = NAME): KubernetesObject {
  return {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Workflow",
    metadata: {
      name,
      namespace: "argosy",
      uid: "workflow",
      resourceVersion: "1",
      creationTimestamp: CREATED,
      annotations: { "argosy.dev/run": "urgent-1" },
      labels: { "workflows.argoproj.io/controller-instanceid": "argosy" },
    },
    spec: {
      workflowTemplateRef: { name: "heavy" },
      arguments: {
        parameters: [
          { name: "namespace", value: "shop" },
          { name: "name", value: "demo" },
          { name: "uid", value: "uid" },
        ],
      },
      ...spec,
    },
    status,
  };
}

const templates = (name = "files") => [
  { name: "reconcile", activeDeadlineSeconds: 540, volumes: [{ name: "engine", configMap: { name } }] },
];
const stored = (name?: string) => ({
  storedWorkflowTemplateSpec: { activeDeadlineSeconds: 4_140, templates: templates(name) },
});
const node = (phase: string, more: JsonObject = {}) => ({ nodes: { run: { phase, ...more } } });
const runOf = (...args: Parameters<typeof workflow>) => {
  const run = liveRunOf(workflow(...args), OPERATOR);
  assert.ok(run);
  return run;
};
const RUNNING = { phase: "Running", startedAt: CREATED, ...stored() };

describe("a run that has not ended", () => {
  it("is one of ours by its computed name, so that a copy of it with all marks is not", () => {
    assert.equal(runOf().mark, "urgent-1");
    assert.equal(runOf({}, {}, "heavy-demo-resubmitted").mark, undefined);
    assert.equal(liveRunOf(workflow({}, { workflowTemplateRef: { name: "other" } }), OPERATOR), undefined);
    assert.equal(liveRunOf(workflow({}, { arguments: {} }), OPERATOR), undefined);
  });

  const program = runOf(RUNNING).program;
  const table: readonly [
    state: string,
    minutes: number,
    isReplaced: boolean,
    status: JsonObject,
    spec?: JsonObject,
  ][] = [
    ["pending", 1, false, {}],
    ["unseen", 6, true, {}],
    ["pending", 30, false, { phase: "Pending", ...stored() }],
    ["outdated", 1, true, { phase: "Pending", ...stored("old") }],
    ["running", 1, false, { ...RUNNING, ...stored("old"), ...node("Running") }],
    ["running", 14, false, { ...RUNNING, ...node("Running") }],
    ["forgotten", 16, true, { ...RUNNING, ...node("Running") }],
    ["pending", 60, false, { ...RUNNING, ...node("Pending") }],
    ["overdue", 75, true, { ...RUNNING, ...node("Pending") }],
    ["suspended", 1, false, { ...RUNNING, ...node("Running") }, { suspend: true }],
    [
      "suspended",
      1,
      true,
      { ...RUNNING, ...node("Pending", { synchronizationStatus: { waiting: "argosy/ConfigMap/runs" } }) },
      { suspend: true },
    ],
  ];
  for (const [state, minutes, isGone, status, spec] of table)
    it(`is ${state} after ${minutes} minutes with ${JSON.stringify(status).slice(0, 60)}`, () => {
      const run = runOf(status, spec);
      assert.equal(stateOfRun(run, at(minutes), program), state);
      assert.equal(isReplaced(run, stateOfRun(run, at(minutes), program)), isGone);
    });

  it("is not forgotten while its pod may be at work, however long its handler may take", () => {
    const long = { storedWorkflowTemplateSpec: { templates: [{ activeDeadlineSeconds: 7_200 }] } };
    const run = runOf({ ...RUNNING, ...long, ...node("Running") });
    assert.equal(stateOfRun(run, at(120), undefined), "running");
    assert.equal(stateOfRun(run, at(126), undefined), "forgotten");
  });

  it("says how to resume it, and with the instance id, without which the command refuses it", () => {
    const run = runOf(RUNNING, { suspend: true });
    const failure = whyStuck(run, "suspended");
    assert.equal(failure?.reason, "RunSuspended");
    assert.ok(
      failure.message.endsWith(`: argo -n argosy --instanceid argosy resume ${NAME}`),
      failure.message,
    );
    const queued = runOf(
      { ...RUNNING, ...node("Pending", { synchronizationStatus: { waiting: "x" } }) },
      { suspend: true },
    );
    assert.match(whyStuck(queued, "suspended")?.message ?? "", /all runs of the operator behind it/);
  });

  it("is not stuck as long as it waits for its object's lock", () => {
    const lock = [{ mutex: "argosy/Mutex/heavy", holder: "argosy/run" }];
    const waiting = { phase: "Pending", synchronization: { mutex: { waiting: lock } } };
    const holding = { phase: "Pending", synchronization: { mutex: { holding: lock } } };
    assert.equal(whyStuck(runOf(waiting, { suspend: true }), "suspended"), undefined);
    assert.ok(whyStuck(runOf(holding, { suspend: true }), "suspended"));
    assert.equal(whyStuck(runOf(RUNNING), "overdue")?.reason, "RunOverdue");
    assert.equal(whyStuck(runOf(RUNNING), "running"), undefined);
  });
});

describe("the places of runs", () => {
  let live: Map<string, Need>;
  let free: string[];

  function places(most: number): Places {
    live = new Map();
    free = [];
    return new Places({
      most,
      live: () => [...live].map(([, need]) => ({ mark: markOf(need, "1") }) as LiveRun),
      onFree: (key) => free.push(key),
    });
  }
  /** Begins runs, and says which have begun. */
  async function begin(of: Places, need: Need, ...keys: string[]): Promise<string[]> {
    for (const key of keys) await of.take(key, need, async () => void live.set(key, need));
    return keys.filter((key) => live.has(key));
  }

  it("are as many as may be at once", async () => {
    const three = places(3);
    assert.deepEqual(await begin(three, "urgent", "a", "b", "c", "d"), ["a", "b", "c"]);
    assert.equal(three.depth, 1);
  });

  it("count a run that is being created", async () => {
    const one = places(1);
    let end = () => {};
    const created = new Promise<void>((resolve) => {
      end = resolve;
    });
    const creating = one.take("a", "urgent", () => created);
    assert.deepEqual(await begin(one, "urgent", "b"), []);
    end();
    await creating;
  });

  it("go to routine runs up to half of those that others leave, and at least one", async () => {
    const eight = places(8);
    assert.equal((await begin(eight, "routine", "a", "b", "c", "d", "e")).length, 4);
    const busy = places(8);
    await begin(busy, "urgent", "a", "b", "c", "d");
    assert.deepEqual(await begin(busy, "routine", "e", "f", "g"), ["e", "f"]);
    assert.deepEqual(await begin(busy, "urgent", "h", "i", "j"), ["h", "i"]);
    const one = places(1);
    assert.deepEqual(await begin(one, "retry", "a", "b"), ["a"]);
  });

  it("go to changed objects first when they are free again, and then to the others in their order", async () => {
    const two = places(2);
    await begin(two, "urgent", "a", "b");
    await begin(two, "routine", "c", "d");
    await begin(two, "urgent", "e");
    live.delete("a");
    two.freed();
    assert.equal(free[0], "e");
    assert.deepEqual(await begin(two, "urgent", "e"), ["e"]);
    live.clear();
    free = [];
    two.freed();
    assert.deepEqual(free, ["c"]);
    two.leave("c");
    assert.equal(two.depth, 1);
  });
});

describe("what a Workflow's status says", () => {
  const workflowWith = (status: unknown) => observed("Workflow", { status }, { name: "run" });

  it("is nothing where a client wrote something else", () => {
    for (const status of [undefined, null, 3, "x", []]) assert.deepEqual(statusOf(workflowWith(status)), {});
    for (const nodes of [undefined, null, 3, "x", []]) {
      const said = workflowWith({ phase: "Failed", nodes });
      assert.deepEqual(statusOf(said), { phase: "Failed" });
      assert.equal(hasBegun(said), false);
    }
  });

  it("is of nodes only what is one", () => {
    const nodes = { a: null, b: { phase: "Running" }, c: "x" };
    const said = workflowWith({ nodes });
    assert.deepEqual(statusOf(said).nodes, { b: { phase: "Running" } });
    assert.equal(hasBegun(said), true);
  });
});
