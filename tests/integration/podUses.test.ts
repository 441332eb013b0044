import assert from "node:assert/strict";
import { always, eventually } from "../support/eventually";
import { configMap, inNamespace } from "./support/manifests";
import { type PodBench, useDispatching } from "./support/podRun";
import { answering } from "./support/useOperator";

const OPTIONS = {
  name: "pod-uses",
  resyncSeconds: 86_400,
  uses: {
    settings: { apiVersion: "v1", kind: "ConfigMap", name: "spec.settings" },
    team: { apiVersion: "v1", kind: "ConfigMap", labels: { team: "metadata.name" } },
    secret: { apiVersion: "v1", kind: "Secret", name: "spec.secret" },
    gadget: { apiVersion: "pod-gadgets.example.com/v1", kind: "PodGadget", name: "'none'" },
  },
};

describe("what an object uses, if runs have pods of their own", function () {
  this.timeout(120_000);
  let bench: PodBench;
  useDispatching(OPTIONS, (begun) => {
    bench = begun;
  });

  const usedBy = (name: string) => bench.operator.calls(name).at(-1)?.used as Record<string, unknown>;
  const settings = (value: string, labels = {}) =>
    inNamespace(configMap("settings", { value }, { labels }), bench.namespace);
  const secret = (value: string) => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "db", namespace: bench.namespace, labels: { "argosy.dev/used-by": "argosy.pod-uses" } },
    data: { password: Buffer.from(value).toString("base64") },
  });

  it("is read by the run, and its change gives the object another run", async () => {
    const { api } = bench;
    await api.apply(bench.object("wakes", { ...answering(), settings: "settings", secret: "db" } as never));
    const ran = (runs: number) =>
      eventually(async () => {
        const workflows = await bench.workflowsOf("wakes");
        assert.equal(workflows.length, runs);
        for (const { metadata } of workflows)
          assert.equal(metadata.labels?.["workflows.argoproj.io/completed"], "true");
      });
    await ran(1);
    assert.deepEqual(usedBy("wakes"), { settings: null, team: [], secret: null, gadget: null });
    const changes = [
      () => api.apply(settings("one")),
      () => api.apply(settings("two")),
      () => api.apply(settings("two", { team: "wakes" })),
      () => api.delete(settings("")),
    ];
    for (const [index, change] of changes.entries()) {
      await change();
      await ran(index + 2);
    }
    assert.equal(usedBy("wakes")["settings"], null);
    await always(async () => assert.equal((await bench.workflowsOf("wakes")).length, changes.length + 1), {
      forMs: 3_000,
    });
    await api.apply(secret("first"));
    // It is read by its name now and then, since no Secrets may be listed.
    await api.annotate(bench.object("wakes"), { "argosy.dev/reconcile-at": "now" });
    await eventually(() => {
      const { secret: given } = usedBy("wakes");
      assert.equal((given as { data: { password: string } } | null)?.data.password, "Zmlyc3Q=");
    });
  });
});
