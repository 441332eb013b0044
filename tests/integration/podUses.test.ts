import assert from "node:assert/strict";
import { RUN_WORKFLOW_RULES, resyncWorkflowRules } from "../../components/manifests/operator/rules";
import { lookAtObjects } from "../../runtime/pod/resync/lookAtObjects";
import { submit } from "./support/argo";
import { configMap, inNamespace } from "./support/manifests";
import { type PodBench, usePods } from "./support/podRun";
import { answering } from "./support/useOperator";

const OPTIONS = {
  name: "pod-uses",
  uses: {
    settings: { apiVersion: "v1", kind: "ConfigMap", name: "spec.settings" },
    team: { apiVersion: "v1", kind: "ConfigMap", labels: { team: "metadata.name" } },
    secret: { apiVersion: "v1", kind: "Secret", name: "spec.secret" },
    gadget: { apiVersion: "pod-gadgets.example.com/v1", kind: "PodGadget", name: "'none'" },
  },
};

describe("what an object uses, in the form pod", function () {
  this.timeout(60_000);
  let bench: PodBench;
  usePods(
    OPTIONS,
    (operator) => [...RUN_WORKFLOW_RULES, ...resyncWorkflowRules(operator)],
    (begun) => {
      bench = begun;
    },
  );
  let runs = 0;

  async function run(name: string): Promise<void> {
    const { operator, namespace } = bench;
    const workflow = `${namespace}-${name}-${++runs}`;
    await submit(operator, workflow, { namespace, name });
    const { exitCode, message } = await bench.run(workflow);
    assert.equal(exitCode, 0, message);
  }

  const usedBy = (name: string) => bench.operator.calls(name).at(-1)?.used as Record<string, unknown>;

  /** What a resync thinks of an object, when no object has its turn. */
  async function needOf(name: string): Promise<string | undefined> {
    const { operator, client } = bench;
    const looked = await lookAtObjects({
      operator: { ...operator.operator, resyncSeconds: Number.NaN },
      client,
      namespace: "argosy",
      program: undefined,
      now: Date.now(),
      onError: (what, error) => assert.fail(`${what}: ${error.message}`),
    });
    return looked.find((each) => each.name === name)?.need;
  }

  const settings = (value: string, labels = {}) =>
    inNamespace(configMap("settings", { value }, { labels }), bench.namespace);
  const secret = (value: string) => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "db", namespace: bench.namespace, labels: { "argosy.dev/used-by": "argosy.pod-uses" } },
    data: { password: Buffer.from(value).toString("base64") },
  });

  it("is read by the run, and its change gives the object a run at the next resync", async () => {
    const { api } = bench;
    await api.apply(bench.object("wakes", { ...answering(), settings: "settings", secret: "db" } as never));
    await run("wakes");
    assert.deepEqual(usedBy("wakes"), { settings: null, team: [], secret: null, gadget: null });
    assert.equal(await needOf("wakes"), undefined);
    const changes = [
      () => api.apply(settings("one")),
      () => api.apply(settings("two")),
      () => api.apply(settings("two", { team: "wakes" })),
      () => api.apply(secret("first")),
      () => api.apply(secret("second")),
      () => api.delete(settings("")),
    ];
    for (const change of changes) {
      await change();
      assert.equal(await needOf("wakes"), "routine", String(change));
      await run("wakes");
      assert.equal(await needOf("wakes"), undefined, String(change));
    }
    const { settings: none, secret: given } = usedBy("wakes");
    assert.equal(none, null);
    assert.equal((given as { data: { password: string } }).data.password, "c2Vjb25k");
  });
});
