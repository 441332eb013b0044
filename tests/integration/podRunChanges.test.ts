import assert from "node:assert/strict";
import type { RunOnceOptions } from "../../runtime/programs/run/runOnce";
import { eventually } from "../support/eventually";
import type { Api } from "./support/api";
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

  /** A run that waits for nothing but changes, and another client that meddles with its object. */
  const impatient = (meddling: Meddling): Partial<RunOnceOptions> => {
    meddler?.close();
    meddler = new Meddler(operator.connection, meddling);
    return { client: meddler, patienceMs: 0 };
  };

  it("leaves a change while the handler works to the run of that change", async () => {
    const manifest = object("demo", answering(configMap("old")));
    await api.apply(manifest);
    const change = () => api.apply(object("demo", answering(configMap("new"))));
    const { exitCode } = await bench.submitted(
      { namespace, name: "demo" },
      impatient({ before: once(change) }),
    );
    assert.equal(exitCode, 0);
    await bench.submitted({ namespace, name: "demo" });
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
});
