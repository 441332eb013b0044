import assert from "node:assert/strict";
import { KubernetesClient } from "../../../runtime/kubernetes/client";
import { ApiProxy } from "../support/apiProxy";
import { configMap } from "../support/manifests";
import { type RunBench, useRuns } from "../support/runs";
import type { ObjectPlan } from "../support/testOperator";
import { answering } from "../support/useOperator";

const AWAY = { apiVersion: "away.example.com/v1", kind: "Away" };

describe("in a pod, where the API server cannot say how it serves a kind of the children", () => {
  let bench: RunBench;
  let proxy: ApiProxy;
  let client: KubernetesClient;
  useRuns("pod-unlisted", (begun) => {
    bench = begun;
  });
  beforeEach(async () => {
    proxy = await ApiProxy.start(bench.operator.cluster.connection);
    client = new KubernetesClient(proxy.through(bench.operator.connection));
    // As for an aggregated API whose server is away.
    proxy.before = ({ path }) =>
      path === `/apis/${AWAY.apiVersion}` ? { code: 503, body: "service unavailable\n" } : undefined;
  });
  afterEach(async () => {
    client.close();
    await proxy.stop();
  });

  /** Reconciles an object with an operator that declares the kind too. */
  async function reconciled(name: string, plan: ObjectPlan) {
    const { api, namespace, operator } = bench;
    const manifest = bench.object(name, plan);
    await api.apply(manifest);
    const child = { ...AWAY, plural: "aways", update: "apply" as const };
    const children = [...operator.operator.children, child];
    const run = await bench.submitted(
      { namespace, name },
      { client, operator: { ...operator.operator, children } },
    );
    return { ...run, ready: await bench.readyOf(manifest) };
  }

  it("an object without such children is served", async () => {
    const { exitCode, message, ready } = await reconciled("without", answering(configMap("settings")));
    assert.deepEqual([exitCode, ready.status], [0, "True"], message);
    await bench.api.get(bench.inTest(configMap("settings")));
  });

  it("an object with such a child says so, with the remedy, and nothing of the answer is applied", async () => {
    const away = { ...AWAY, metadata: { name: "away" } };
    const { exitCode, ready } = await reconciled("with", answering(configMap("other"), away));
    assert.deepEqual([exitCode, ready.status, ready.reason], [1, "False", "KindNotListed"]);
    assert.match(ready.message, /Away.*service unavailable.*Repair what serves this kind/s);
    await bench.api.assertGone(bench.inTest(configMap("other")));
  });

  it("the handler of an object that had such children is not asked without them", async () => {
    const { api, operator, namespace } = bench;
    const manifest = bench.object("had", answering(configMap("kept")));
    await api.apply(manifest);
    await bench.submitted({ namespace, name: "had" });
    const asked = operator.calls("had").length;
    // As if a run had made one while the server answered.
    const kinds = ["v1/ConfigMap", `${AWAY.apiVersion}/${AWAY.kind}`];
    await api.applyStatus(manifest, { argosy: { kinds } });
    const { exitCode, ready } = await reconciled("had", answering());
    assert.deepEqual([exitCode, ready.reason], [1, "KindNotListed"], ready.message);
    assert.equal(operator.calls("had").length, asked);
    await api.get(bench.inTest(configMap("kept")));
  });
});
