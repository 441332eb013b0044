import assert from "node:assert/strict";
import type { RunOnceOptions } from "../../runtime/pod/run/runOnce";
import { aSecond, eventually } from "../support/eventually";
import type { Api } from "./support/api";
import { submit } from "./support/argo";
import { configMap, deployment } from "./support/manifests";
import { Meddler, type Meddling, once } from "./support/meddler";
import { type RunBench, useRuns } from "./support/runs";
import type { ObjectPlan, TestOperator } from "./support/testOperator";
import { answering } from "./support/useOperator";

/**
 * What the engine does in a pod of a Workflow, without the pod and without Argo: the test submits the Workflow, and
 * the handler is a child process. The pod itself is tried in the e2e.
 */
describe("the engine in a pod of its own", () => {
  let bench: RunBench;
  let operator: TestOperator;
  let api: Api;
  let namespace: string;
  let meddler: Meddler | undefined;

  useRuns("following", (begun) => {
    bench = begun;
    ({ operator, api, namespace } = bench);
  });

  after(() => meddler?.close());

  const object = (name: string, plan?: ObjectPlan) => bench.object(name, plan);

  /** A run that waits for nothing but changes, and somebody who meddles with its object. */
  const impatient = (meddling: Meddling): Partial<RunOnceOptions> => {
    meddler?.close();
    meddler = new Meddler(operator.connection, meddling);
    return { client: meddler, patienceMs: 0 };
  };

  it("stays with an object that changes while the handler works, however long that takes", async () => {
    const manifest = object("demo", answering(configMap("old")));
    await api.apply(manifest);
    const change = () => api.apply(object("demo", answering(configMap("new"))));
    const { exitCode } = await bench.submitted(
      { namespace, name: "demo" },
      impatient({ before: once(change) }),
    );
    assert.deepStrictEqual(
      [exitCode, bench.reports.map(({ skipped }) => skipped)],
      [0, [undefined, undefined]],
    );
    await bench.assertNewest(manifest);
    await api.get(bench.inTest(configMap("new")));
  });

  it("leaves a change after its last word to the run of that change", async () => {
    const manifest = object("demo", { exitCode: 3 });
    await api.apply(manifest);
    const change = () => api.apply(object("demo", answering(configMap("new"))));
    const { exitCode } = await bench.submitted(
      { namespace, name: "demo" },
      impatient({ after: once(change) }),
    );
    assert.deepStrictEqual([exitCode, bench.reports.map(({ attempt }) => attempt)], [1, [1]]);
    await bench.submitted({ namespace, name: "demo" });
    await bench.assertNewest(manifest);
    await api.get(bench.inTest(configMap("new")));
  });

  it("follows an object that changes while it waits for the children", async () => {
    const manifest = object("demo", answering(deployment("web", { paused: true })));
    await api.apply(manifest);
    const running = bench.submitted({ namespace, name: "demo" });
    await eventually(async () => assert.equal((await bench.readyOf(manifest)).status, "False"));
    await api.apply(object("demo", answering(configMap("new"))));
    assert.equal((await running).exitCode, 0);
    await bench.assertNewest(manifest);
    await api.assertGone(bench.inTest(deployment("web")));
  });

  it("leaves an object that never rests to the next run when its time is over", async () => {
    await api.apply(object("demo", answering(configMap("settings"))));
    let change = 0;
    const before = () =>
      api.apply(object("demo", { ...answering(configMap("settings")), delayMs: ++change }));
    const more = { ...impatient({ before }), changesPatienceMs: 6_000 };
    const { exitCode } = await bench.submitted({ namespace, name: "demo" }, more);
    assert.equal(exitCode, 0);
    assert.ok(bench.reports.length > 1, `${bench.reports.length} reconciles`);
  });

  it("makes others of its object needless that wait for its lock, but for the last, and no other Workflow", async () => {
    const { metadata } = await api.apply(object("hot", answering(configMap("settings"))));
    const { uid } = metadata;
    const hot = { namespace, name: "hot", uid };
    const labels = { "argosy.dev/object-uid": uid };
    const waits = (name: string) => submit(operator, `${namespace}-${name}`, hot, labels);
    for (const name of ["old", "pending", "running", "ended"]) await waits(name);
    await submit(operator, `${namespace}-nightly`, { ...hot, schedule: "nightly" }, labels);
    // It says what the resync has found, and no other run does.
    await submit(operator, `${namespace}-former`, hot, labels);
    const annotations = { "argosy.dev/predecessor-uids": "00000000-0000-4000-8000-000000000000" };
    await api.patch(bench.workflow(`${namespace}-former`), { metadata: { annotations } });
    // Of another operator that watches the same object.
    await submit(operator, `${namespace}-watching`, hot, labels, "watching");
    await aSecond();
    for (const name of ["newest", "stopped"]) await waits(name);
    await submit(operator, `${namespace}-by-hand`, hot);
    await submit(operator, `${namespace}-other`, { namespace, name: "other", uid }, labels);
    await submit(operator, `${namespace}-trial`, { ...hot, object: "{}" }, labels);
    const workflow = (name: string) => bench.workflow(`${namespace}-${name}`);
    await api.patch(workflow("pending"), { status: { phase: "Pending", message: "Waiting for a lock" } });
    await api.patch(workflow("stopped"), { spec: { shutdown: "Stop" } });
    await api.patch(workflow("running"), { status: { phase: "Running" } });
    const completed = { "workflows.argoproj.io/completed": "true" };
    await api.patch(workflow("ended"), { metadata: { labels: completed }, status: { phase: "Succeeded" } });
    const change = async () => {
      await aSecond();
      await api.apply(object("hot", answering(configMap("settings"), configMap("more"))));
    };
    const nightly = { cron: "0 3 * * *", timeZone: "UTC", spreadSeconds: 0 };
    const scheduled = { ...operator.operator, schedules: { nightly } };
    const { exitCode, message } = await bench.submitted(hot, {
      ...impatient({ before: once(change) }),
      operator: scheduled,
    });
    assert.deepStrictEqual(
      [exitCode, message],
      [0, "created ConfigMap more; 2 further runs were not needed any more"],
    );
    const left = [
      "nightly",
      "former",
      "watching",
      "old",
      "pending",
      "newest",
      "stopped",
      "running",
      "ended",
      "by-hand",
      "other",
      "trial",
    ];
    const there = await Promise.all(left.map((name) => api.find(workflow(name))));
    assert.deepStrictEqual(
      left.filter((_, index) => there[index]),
      ["nightly", "former", "watching", "newest", "stopped", "running", "ended", "by-hand", "other", "trial"],
    );
  });

  it("makes others of its object needless while its handler takes long, so that they do not become hundreds", async () => {
    const { metadata } = await api.apply(
      object("busy", { ...answering(configMap("settings")), delayMs: 10_000 }),
    );
    const busy = { namespace, name: "busy", uid: metadata.uid };
    const labels = { "argosy.dev/object-uid": metadata.uid };
    const names = ["first", "second", "third"].map((name) => `${namespace}-${name}`);
    let isOver = false;
    const running = bench.submitted(busy, { lookMs: 500 }).finally(() => {
      isOver = true;
    });
    await eventually(() => assert.ok(operator.calls("busy").length > 0));
    for (const name of names) await submit(operator, name, busy, labels);
    await eventually(async () => {
      const there = await Promise.all(names.map((name) => api.find(bench.workflow(name))));
      assert.equal(there.filter((each) => each !== undefined).length, 1);
    });
    assert.ok(!isOver);
    assert.equal((await running).exitCode, 0);
  });
});
