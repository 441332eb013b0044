import assert from "node:assert/strict";
import { RUN_WORKFLOW_RULES, resyncWorkflowRules } from "../../components/manifests/operator/rules";
import { conditionsIn, type JsonObject, type KubernetesObject } from "../../runtime/kubernetes/objects";
import { lookAtObjects } from "../../runtime/pod/resync/lookAtObjects";
import { eventually } from "../support/eventually";
import { submit } from "./support/argo";
import { configMap, deployment, inNamespace, namespace as namespaceOf } from "./support/manifests";
import { type PodBench, usePods } from "./support/podRun";
import { saying } from "./support/useWatching";

const ROLE_BINDINGS = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "RoleBinding",
  plural: "rolebindings",
  namespaced: true,
};
const LABELS = { "example.com/by": "pod-watch" };
const NAMESPACES = ["pod-watch-a", "pod-watch-b"];
const OPTIONS = {
  name: "pod-watch",
  watch: {
    apiVersion: "apps/v1",
    kind: "Deployment",
    labels: LABELS,
    on: ["spec" as const, "labels" as const],
  },
  uses: { settings: { apiVersion: "v1", kind: "ConfigMap", name: "metadata.name" } },
  schedules: { yearly: { cron: "0 0 1 1 *", timeZone: "UTC", spreadSeconds: 0 } },
  namespaces: NAMESPACES,
};

describe("an operator that watches a kind that others own, in the form pod", function () {
  this.timeout(120_000);
  let bench: PodBench;
  let runs = 0;
  usePods(
    OPTIONS,
    (operator) => [...RUN_WORKFLOW_RULES, ...resyncWorkflowRules(operator)],
    (begun) => {
      bench = begun;
    },
  );

  const [first = "", second = ""] = NAMESPACES;
  const child = (name: string, namespace = first, data = {}) => inNamespace(configMap(name, data), namespace);
  /** A Deployment that nobody annotates any more: its controller does so once, a moment after it was made. */
  async function watched(name: string, namespace = first): Promise<KubernetesObject> {
    const made = await bench.api.apply(inNamespace(deployment(name, {}, { labels: LABELS }), namespace));
    return eventually(async () => {
      const now = await bench.api.get(made);
      assert.ok(
        now.metadata.annotations?.["deployment.kubernetes.io/revision"],
        "not seen by its controller",
      );
      return now;
    });
  }
  const unlabel = (object: KubernetesObject) =>
    bench.api.patch(object, { metadata: { labels: { "example.com/by": null } } });

  async function run({ metadata: { namespace, name, uid } }: KubernetesObject): Promise<string> {
    const { operator } = bench;
    const workflow = `run-${name}-${++runs}`;
    await submit(operator, workflow, { namespace: namespace ?? "", name, uid });
    const { exitCode, message } = await bench.run(workflow);
    assert.equal(exitCode, 0, message);
    return message;
  }

  /** What a resync thinks of an object, when no object has its turn. */
  async function needOf(name: string, now = Date.now()): Promise<string | undefined> {
    const { operator, client } = bench;
    const looked = await lookAtObjects({
      operator: { ...operator.operator, resyncSeconds: Number.NaN },
      client,
      namespace: operator.runnerNamespace,
      program: undefined,
      onError: () => {},
      now,
    });
    return looked.find((each) => each.name === name)?.need;
  }

  const memoryOf = (object: KubernetesObject) => bench.api.get(bench.operator.memoryOf(object));

  it("gets a run for an object that is new or changed, and for what belongs to it", async () => {
    bench.operator.plan("web", saying([configMap("of-web", { a: "1" })], { seen: 1 }));
    const object = await watched("web");
    const { api } = bench;
    const expectRun = async (need: string) => {
      assert.equal(await needOf("web"), need);
      await run(object);
      assert.equal(await needOf("web"), undefined);
    };
    await expectRun("urgent");
    assert.equal((await api.get(child("of-web"))).metadata.ownerReferences?.[0]?.uid, object.metadata.uid);
    const { state } = (await memoryOf(object))["memory"] as JsonObject;
    assert.deepEqual(state, { seen: 1 });
    await api.annotate(object, { "example.com/commit": "abc" });
    await expectRun("urgent");
    assert.deepEqual(bench.operator.calls("web").at(-1)?.state, { seen: 1 });
    await api.applyStatus(object, { observedGeneration: 1 });
    assert.equal(await needOf("web"), undefined);
    await api.patch(child("of-web"), { data: { a: "2" } });
    await expectRun("routine");
    assert.deepEqual((await api.get(child("of-web")))["data"], { a: "1" });
    await api.apply(child("web", first, { used: "1" }));
    await expectRun("routine");
    assert.ok(bench.operator.calls("web").at(-1)?.used["settings"]);
    const nextYear = Date.UTC(new Date().getUTCFullYear() + 1, 0, 2);
    assert.equal(await needOf("web", nextYear), "routine");
    assert.equal((await api.get(object)).metadata.finalizers, undefined);
  });

  it("clears up after an object that lost its labels or is gone, and then needs no run", async () => {
    for (const [name, leave] of [
      ["left", unlabel],
      ["deleted", (object: KubernetesObject) => bench.api.delete(object)],
    ] as const) {
      bench.operator.plan(
        name,
        saying([configMap(`of-${name}`), inNamespace(configMap(`far-${name}`), second)]),
      );
      const object = await watched(name);
      await run(object);
      await bench.api.get(child(`far-${name}`, second));
      await leave(object);
      assert.equal(await needOf(name), "urgent");
      assert.match(await run(object), /cleaned up after Deployment/);
      await bench.api.assertGone(child(`far-${name}`, second));
      await eventually(() => bench.api.assertGone(child(`of-${name}`)));
      await bench.api.assertGone(bench.operator.memoryOf(object));
      assert.equal(await needOf(name), undefined);
    }
  });

  it("clears up what is left of an object of which nothing is remembered", async () => {
    bench.operator.plan(
      "forgotten",
      saying([configMap("of-forgotten"), inNamespace(configMap("far"), second)]),
    );
    const object = await watched("forgotten");
    await run(object);
    await bench.api.delete(bench.operator.memoryOf(object));
    await unlabel(object);
    assert.equal(await needOf("forgotten"), "urgent");
    await run(object);
    await bench.api.assertGone(child("of-forgotten"));
    await bench.api.assertGone(child("far", second));
    assert.equal(await needOf("forgotten"), undefined);
  });

  it("harms no object by a run that names one object with the uid of another", async () => {
    bench.operator.plan("victim", saying([configMap("of-victim")]));
    const object = await watched("victim");
    await run(object);
    await run({ ...object, metadata: { ...object.metadata, name: "nobody" } });
    await bench.api.get(child("of-victim"));
    await memoryOf(object);
    assert.equal(await needOf("victim"), undefined);
  });

  it("reports a run that failed without a word in what it remembers", async () => {
    const object = await watched("silent");
    const { operator } = bench;
    const { name, uid } = object.metadata;
    await submit(
      operator,
      "silent",
      { namespace: first, name, uid },
      {
        "argosy.dev/object-uid": uid,
        "argosy.dev/operator": "argosy.pod-watch",
        "workflows.argoproj.io/completed": "true",
        "workflows.argoproj.io/phase": "Failed",
      },
    );
    await bench.api.patch(bench.workflow("silent"), { status: { phase: "Failed", message: "no node" } });
    await bench.resync();
    const [ready] = conditionsIn((await memoryOf(object))["status"]);
    assert.deepEqual([ready?.status, ready?.reason], ["False", "RunFailed"]);
  });

  it("reports once that a run is suspended, in what it remembers and in an Event", async () => {
    const object = await watched("held");
    const { name, uid } = object.metadata;
    const labels = { "argosy.dev/object-uid": uid };
    await submit(bench.operator, "held", { namespace: first, name, uid }, labels);
    await bench.api.patch(bench.workflow("held"), { spec: { suspend: true }, status: { phase: "Running" } });
    await bench.resync();
    await bench.resync();
    const [ready] = conditionsIn((await memoryOf(object))["status"]);
    assert.deepEqual([ready?.status, ready?.reason], ["False", "RunSuspended"]);
    const events = await bench.api.list({ apiVersion: "events.k8s.io/v1", kind: "Event" }, first);
    assert.equal(events.filter(({ reason }) => reason === "RunSuspended").length, 1);
  });

  // The last one: it takes a namespace away.
  it("serves the other namespaces when it may not see one of its own, and clears up when that is gone", async () => {
    const { api } = bench;
    const far = child("far-of-there");
    bench.operator.plan("there", saying([configMap("of-there"), far]));
    const there = await watched("there", second);
    await run(there);
    await api.get(far);
    for (const { metadata } of await api.list(ROLE_BINDINGS, second))
      await api.delete({ ...ROLE_BINDINGS, metadata: { name: metadata.name, namespace: second } });
    await watched("here");
    await eventually(async () => assert.equal(await needOf("there"), undefined));
    assert.equal(await needOf("here"), "urgent");
    await memoryOf(there);
    await api.delete(namespaceOf(second));
    await eventually(() => api.assertGone(namespaceOf(second)), { timeoutMs: 150_000 });
    assert.equal(await needOf("here"), "urgent");
    assert.equal(await needOf("there"), "urgent");
    await run(there);
    await api.assertGone(far);
    await api.assertGone(bench.operator.memoryOf(there));
    assert.equal(await needOf("there"), undefined);
  });
});
