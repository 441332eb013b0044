import assert from "node:assert/strict";
import { conditionsIn, type JsonObject, type KubernetesObject } from "../../runtime/base/objects";
import { builtIn } from "../../runtime/kubernetes/discovery";
import { always, eventually } from "../support/eventually";
import { submit } from "./support/argo";
import { configMap, deployment, inNamespace, namespace as namespaceOf } from "./support/manifests";
import type { PlayedArgo } from "./support/playedArgo";
import { type PodBench, useDispatching } from "./support/podRun";
import { saying } from "./support/useWatching";

const ROLE_BINDINGS = builtIn("rbac.authorization.k8s.io/v1", "RoleBinding");
const LABELS = { "example.com/by": "pod-watch" };
const NAMESPACES = ["pod-watch-a", "pod-watch-b"];
const OPTIONS = {
  name: "pod-watch",
  resyncSeconds: 86_400,
  watch: {
    apiVersion: "apps/v1",
    kind: "Deployment",
    labels: LABELS,
    on: ["spec" as const, "labels" as const],
  },
  uses: { settings: { apiVersion: "v1", kind: "ConfigMap", name: "metadata.name" } },
  namespaces: NAMESPACES,
};

describe("an operator that watches a kind that others own, if runs have pods of their own", function () {
  this.timeout(200_000);
  let bench: PodBench;
  let argo: PlayedArgo;
  useDispatching(OPTIONS, (begun, played) => {
    bench = begun;
    argo = played;
  });

  const [first = "", second = ""] = NAMESPACES;
  const child = (name: string, namespace = first, data = {}) => inNamespace(configMap(name, data), namespace);
  const watched = (name: string, namespace = first): Promise<KubernetesObject> =>
    bench.api.apply(inNamespace(deployment(name, {}, { labels: LABELS }), namespace));
  const unlabel = (object: KubernetesObject) =>
    bench.api.patch(object, { metadata: { labels: { "example.com/by": null } } });
  const memoryOf = (object: KubernetesObject) => bench.api.get(bench.operator.memoryOf(object));
  const isThere = (object: Parameters<typeof bench.api.get>[0]) => eventually(() => bench.api.get(object));

  it("gets a run for an object that is new or changed, and for what belongs to it", async () => {
    bench.operator.plan("web", saying([configMap("of-web", { a: "1" })], { seen: 1 }));
    const object = await watched("web");
    const { api } = bench;
    const made = await isThere(child("of-web"));
    assert.equal(made.metadata.ownerReferences?.[0]?.uid, object.metadata.uid);
    await eventually(async () => {
      const { state } = (await memoryOf(object))["memory"] as JsonObject;
      assert.deepEqual(state, { seen: 1 });
    });
    const asked = () => bench.operator.calls("web").length;
    let before = asked();
    await api.patch(object, { metadata: { labels: { "example.com/commit": "abc" } } });
    await eventually(() => assert.ok(asked() > before));
    assert.deepEqual(bench.operator.calls("web").at(-1)?.state, { seen: 1 });
    await api.patch(child("of-web"), { data: { a: "2" } });
    await eventually(async () => assert.deepEqual((await api.get(child("of-web")))["data"], { a: "1" }));
    before = asked();
    await api.apply(child("web", first, { used: "1" }));
    await eventually(() => assert.ok(bench.operator.calls("web").at(-1)?.used["settings"]));
    assert.equal((await api.get(object)).metadata.finalizers, undefined);
  });

  it("clears up after an object that lost its labels or is gone, even if nothing is remembered of it", async () => {
    for (const [name, leave] of [
      ["left", unlabel],
      ["deleted", (object: KubernetesObject) => bench.api.delete(object)],
      [
        "forgotten",
        async (object: KubernetesObject) => {
          await bench.api.delete(bench.operator.memoryOf(object));
          await unlabel(object);
        },
      ],
    ] as const) {
      bench.operator.plan(
        name,
        saying([configMap(`of-${name}`), inNamespace(configMap(`far-${name}`), second)]),
      );
      const object = await watched(name);
      await isThere(child(`far-${name}`, second));
      await eventually(() => memoryOf(object));
      await leave(object);
      await eventually(() => bench.api.assertGone(child(`far-${name}`, second)));
      await eventually(() => bench.api.assertGone(child(`of-${name}`)));
      await eventually(() => bench.api.assertGone(bench.operator.memoryOf(object)));
    }
  });

  it("harms no object by a run that names one object with the uid of another", async () => {
    bench.operator.plan("victim", saying([configMap("of-victim")]));
    const object = await watched("victim");
    await isThere(child("of-victim"));
    await eventually(() => memoryOf(object));
    const { uid } = object.metadata;
    await submit(bench.operator, "missing", { namespace: first, name: "missing", uid });
    await eventually(() => assert.ok(argo.begun.includes("missing")));
    await always(async () => void (await bench.api.get(child("of-victim"))), { forMs: 2_000 });
    await memoryOf(object);
  });

  it("reports a run that failed without a word, and that one is suspended, in what it remembers and in an Event", async () => {
    argo.silent.add("silent");
    const silent = await watched("silent");
    await eventually(async () => {
      const [ready] = conditionsIn((await memoryOf(silent))["status"]);
      assert.deepEqual([ready?.status, ready?.reason], ["False", "RunFailed"]);
    });
    argo.silent.delete("silent");
    await bench.api.delete(silent);
    const { operator } = bench;
    const label = { "argosy.dev/operator": "argosy.pod-watch" };
    argo.unseen.add("held");
    await submit(operator, "held", { namespace: first, name: "held" }, label);
    await bench.api.patch(bench.workflow("held"), { spec: { suspend: true }, status: { phase: "Running" } });
    const held = await watched("held");
    await eventually(async () => {
      const [ready] = conditionsIn((await memoryOf(held))["status"]);
      assert.deepEqual([ready?.status, ready?.reason], ["False", "RunSuspended"]);
    });
    await eventually(async () => {
      const events = await bench.api.list({ apiVersion: "events.k8s.io/v1", kind: "Event" }, first);
      assert.equal(events.filter(({ reason }) => reason === "RunSuspended").length, 1);
    });
  });

  // The last one: it takes a namespace away.
  it("serves the other namespaces when it may not see one of its own, and clears up when that is gone", async () => {
    const { api } = bench;
    const far = child("far-of-there");
    bench.operator.plan("there", saying([configMap("of-there"), far]));
    const there = await watched("there", second);
    await isThere(far);
    await eventually(() => memoryOf(there));
    for (const { metadata } of await api.list(ROLE_BINDINGS, second))
      await api.delete({ ...ROLE_BINDINGS, metadata: { name: metadata.name, namespace: second } });
    bench.operator.plan("here", saying([configMap("of-here")]));
    await watched("here");
    await isThere(child("of-here"));
    await memoryOf(there);
    await api.delete(namespaceOf(second));
    await eventually(() => api.assertGone(namespaceOf(second)), { timeoutMs: 150_000 });
    await eventually(() => api.assertGone(far), { timeoutMs: 60_000 });
    await eventually(() => api.assertGone(bench.operator.memoryOf(there)));
  });
});
