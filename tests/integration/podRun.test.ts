import assert from "node:assert/strict";
import type { Manifest } from "../../runtime/base/objects";
import { KubernetesClient } from "../../runtime/kubernetes/client";
import { ApiError } from "../../runtime/kubernetes/errors";
import type { HttpTransport } from "../../runtime/kubernetes/transport";
import type { Reference } from "../../tools/objects";
import { aSecond, eventually } from "../support/eventually";
import type { Api } from "./support/api";
import {
  configMap,
  customResourceDefinition,
  deployment,
  inNamespace,
  OPEN_SCHEMA,
} from "./support/manifests";
import { type RunBench, useRuns } from "./support/runs";
import type { ObjectPlan, TestOperator } from "./support/testOperator";
import { answering, UNTOUCHED } from "./support/useOperator";

type Child = ReturnType<RunBench["inTest"]>;

/**
 * What the engine does in a pod of a Workflow, without the pod and without Argo: the test submits the Workflow, and
 * the handler is a child process. The pod itself is tried in the e2e.
 */
describe("the engine in a pod of its own", () => {
  let bench: RunBench;
  let operator: TestOperator;
  let api: Api;
  let namespace: string;

  useRuns("in-pods", (begun) => {
    bench = begun;
    ({ operator, api, namespace } = bench);
  });

  const object = (name: string, plan?: ObjectPlan) => bench.object(name, plan);

  it("brings about the object that its Workflow names, and Ready names the Workflow", async () => {
    const manifest = object("demo", answering(configMap("settings")));
    await api.apply(manifest);
    const { exitCode, message, workflow } = await bench.submitted({ namespace, name: "demo" });
    assert.deepStrictEqual([exitCode, message], [0, "created ConfigMap settings"]);
    await api.get(bench.inTest(configMap("settings")));
    const ready = await bench.readyOf(manifest);
    assert.equal(ready.status, "True");
    assert.equal(ready.message, `every child is applied and ready (run ${workflow})`);
  });

  it("deletes children in the reverse order of after, each when what follows it is gone", async () => {
    const follows = (name: string, other: string) =>
      configMap(name, {}, { annotations: { "argosy.dev/after": `ConfigMap/${other}` } });
    await api.apply(object("demo", answering(configMap("a"), follows("b", "a"), follows("c", "b"))));
    await bench.submitted({ namespace, name: "demo" });
    const [a, b, c] = ["a", "b", "c"].map((name) => bench.inTest(configMap(name))) as [Child, Child, Child];
    await api.patch(c, { metadata: { finalizers: ["example.com/hold"] } });
    await api.delete(object("demo"));
    const running = bench.submitted({ namespace, name: "demo" });
    await eventually(async () => assert.ok((await api.get(c)).metadata.deletionTimestamp));
    await aSecond();
    assert.equal((await api.get(b)).metadata.deletionTimestamp, undefined);
    await api.patch(c, { metadata: { finalizers: null } });
    assert.equal((await running).exitCode, 0);
    await api.assertGone(object("demo"));
    await eventually(async () => assert.equal(await api.find(a), undefined));
    assert.equal(operator.calls("demo").filter(({ event }) => event === "finalize").length, 1);
  });

  /** Without what a run asks only because it takes long: whether its Workflow still runs, and for changes of its object. */
  const untimed = (calls: readonly string[]) =>
    calls.filter((call, index) => call !== "WATCH inpodss" && (call !== "GET workflows" || index === 0));

  it("makes at most eight calls for an object that is new, and asks the API server for nothing twice", async () => {
    await api.apply(object("demo", answering(deployment("web"), configMap("settings"))));
    const { calls, client } = bench.counting();
    const { exitCode } = await bench.submitted({ namespace, name: "demo" }, { client });
    assert.equal(exitCode, 0);
    assert.equal((await bench.readyOf(object("demo"))).status, "True");
    assert.deepStrictEqual(untimed(calls()), [
      "GET workflows",
      "GET inpodss",
      // This operator finalizes.
      "PATCH inpodss",
      "PATCH configmaps",
      "PATCH deployments",
      "PATCH inpodss/status",
      "WATCH deployments",
      "PATCH inpodss/status",
    ]);
  });

  it("makes at most eight calls for an update whose children take their time to be ready", async () => {
    const plan = (version: number) => {
      const containers = [{ name: "main", image: `example.com/worker:${version}` }];
      const template = { metadata: { labels: { app: "web" } }, spec: { containers } };
      return answering(deployment("web", { template }), configMap("settings"));
    };
    await api.apply(object("demo", plan(1)));
    await bench.submitted({ namespace, name: "demo" });
    // A paused Deployment is not rolled out.
    await api.patch(bench.inTest(deployment("web")), { spec: { paused: true } });
    await aSecond();
    await api.apply(object("demo", plan(2)));
    const { calls, client } = bench.counting();
    const running = bench.submitted({ namespace, name: "demo" }, { client });
    await eventually(() => assert.ok(calls().includes("WATCH deployments")));
    await eventually(async () =>
      assert.equal((await bench.readyOf(object("demo"))).reason, "ChildrenNotReady"),
    );
    await api.patch(bench.inTest(deployment("web")), { spec: { paused: false } });
    assert.equal((await running).exitCode, 0);
    await bench.assertNewest(object("demo"));
    assert.deepStrictEqual(untimed(calls()), [
      "GET workflows",
      "GET inpodss",
      "GET configmaps",
      "GET deployments",
      "PATCH deployments",
      "PATCH inpodss/status",
      "WATCH deployments",
      "PATCH inpodss/status",
    ]);
  });

  it("lists the children of an object that has not changed, and writes nothing", async () => {
    await api.apply(object("demo", answering(configMap("settings", { a: "1" }))));
    await bench.submitted({ namespace, name: "demo" });
    const { calls, client } = bench.counting();
    const { message } = await bench.submitted({ namespace, name: "demo" }, { client });
    assert.equal(message, "nothing to change");
    assert.deepStrictEqual(untimed(calls()), [
      "GET workflows",
      "GET inpodss",
      "GET configmaps",
      "GET deployments",
    ]);
  });

  it("begins nothing until its handler's container runs, and fails if it never does", async () => {
    const manifest = object("demo", answering(configMap("settings")));
    await api.apply(manifest);
    const handlerReady = () => Promise.reject(new Error("it never ran"));
    const { exitCode, message } = await bench.submitted({ namespace, name: "demo" }, { handlerReady });
    assert.deepStrictEqual([exitCode, message, bench.reports], [1, "it never ran", []]);
    await api.assertGone(bench.inTest(configMap("settings")));
  });

  it("tells where the cluster does not serve a kind of Kubernetes' own in that version", async () => {
    const apiVersion = "apps/v1beta1";
    const manifest = object("demo", answering({ ...deployment("web"), apiVersion }));
    await api.apply(manifest);
    const child = { apiVersion, kind: "Deployment", plural: "deployments" };
    const children = [{ ...child, update: "apply" as const }];
    const { exitCode, message } = await bench.submitted(
      { namespace, name: "demo" },
      { operator: { ...operator.operator, children }, patienceMs: 0 },
    );
    assert.equal(exitCode, 1);
    assert.match(message, /^KindMissing: the cluster serves no kind Deployment \(apps\/v1beta1\)/);
    assert.equal((await bench.readyOf(manifest)).reason, "KindMissing");
  });

  it("asks no handler without the children of a kind that is missing for a moment, which would then be deleted", async () => {
    const [path, plural] = ["/apis/moments.example.com/v1", "moments"];
    await api.apply(customResourceDefinition("moments.example.com", "Moment", { spec: OPEN_SCHEMA }));
    const child = { apiVersion: "moments.example.com/v1", kind: "Moment", metadata: { name: "made" } };
    const children = [{ apiVersion: child.apiVersion, kind: child.kind, plural, update: "apply" as const }];
    const client = new KubernetesClient(operator.cluster.connection);
    await eventually(() => client.read(path));
    const more = { operator: { ...operator.operator, children }, client, patienceMs: 0 };
    await api.apply(object("demo", answering(child)));
    await bench.submitted({ namespace, name: "demo" }, more);
    await api.apply(object("demo", answering()));
    const { transport } = client as unknown as { transport: HttpTransport };
    const { send } = transport;
    transport.send = (request) => {
      if (request.path !== path) return send.call(transport, request) as never;
      transport.send = send;
      throw new ApiError(404, { message: "404 page not found" }, `GET ${path}`);
    };
    const asked = operator.calls("demo").length;
    const { message } = await bench.submitted({ namespace, name: "demo" }, more);
    client.close();
    assert.match(message, /^KindMissing: the cluster serves no kind Moment/);
    assert.equal(operator.calls("demo").length, asked);
    await api.get(bench.inTest(child));
  });

  it("prunes what an earlier run made, and leaves a calm object's status", async () => {
    const manifest = object("demo", answering(configMap("old"), configMap("kept")));
    await api.apply(manifest);
    await bench.submitted({ namespace, name: "demo" });
    await api.apply(object("demo", answering(configMap("kept"))));
    const pruned = await bench.submitted({ namespace, name: "demo" });
    assert.equal(pruned.message, "deleted ConfigMap old");
    await api.assertGone(bench.inTest(configMap("old")));
    const before = await api.get(manifest);
    assert.equal((await bench.submitted({ namespace, name: "demo" })).message, "nothing to change");
    assert.equal((await api.get(manifest)).metadata.resourceVersion, before.metadata.resourceVersion);
  });

  it("finds a child without its labels by its name, and labels it again", async () => {
    await api.apply(object("demo", answering(configMap("settings"))));
    await bench.submitted({ namespace, name: "demo" });
    const before = await api.get(bench.inTest(configMap("settings")));
    await api.patch(bench.inTest(configMap("settings")), { metadata: { labels: null } });
    assert.equal((await bench.submitted({ namespace, name: "demo" })).message, "patched ConfigMap settings");
    const { metadata } = await api.get(bench.inTest(configMap("settings")));
    assert.deepStrictEqual([metadata.uid, metadata.labels], [before.metadata.uid, before.metadata.labels]);
  });

  /** A run of an object that ends before it can report what it made. */
  async function killedBeforeReport(made: Manifest): Promise<void> {
    await api.apply(object("demo", answering(made)));
    const { client } = bench.counting();
    const { apply } = client;
    client.apply = (...args) =>
      args[2].subresource === "status" ? Promise.reject(new Error("killed")) : apply.apply(client, args);
    await bench.submitted({ namespace, name: "demo" }, { client });
    assert.deepEqual((await api.get(object("demo")))["status"], UNTOUCHED);
  }

  it("prunes a child of a run that ended before it could report it", async () => {
    await killedBeforeReport(configMap("old"));
    await api.apply(object("demo", answering()));
    await bench.submitted({ namespace, name: "demo" });
    await api.assertGone(bench.inTest(configMap("old")));
  });

  it("asks the handler with the children of a run of the same generation that was ended while it wrote", async () => {
    await killedBeforeReport(configMap("settings"));
    assert.equal((await bench.submitted({ namespace, name: "demo" })).exitCode, 0);
    assert.deepStrictEqual(
      operator
        .calls("demo")
        .at(-1)
        ?.children.map(({ metadata }) => metadata.name),
      ["settings"],
    );
    await bench.assertNewest(object("demo"));
  });

  it("asks the handler with the children that it made before the API server was away", async () => {
    await api.apply(object("away", answering(configMap("settings"), deployment("web"))));
    const { client } = bench.counting();
    const { apply } = client;
    // First the Deployment, and then what was to be remembered of the ConfigMap.
    const refused = ["Deployment", "status"];
    client.apply = (...args) => {
      if ((args[2].subresource ?? args[0].kind) !== refused[0]) return apply.apply(client, args);
      refused.shift();
      return Promise.reject(new ApiError(503, { message: "the API server is away" }, "PATCH"));
    };
    assert.equal((await bench.submitted({ namespace, name: "away" }, { client })).exitCode, 0);
    assert.deepStrictEqual(
      operator
        .calls("away")
        .slice(0, 2)
        .map(({ children }) => children.map(({ kind }) => kind)),
      [[], ["ConfigMap"]],
    );
  });

  it("heals a child that another client changed, and prunes one in another namespace", async () => {
    const elsewhere = await api.newNamespace("in-pods-other");
    const far = inNamespace(configMap("far"), elsewhere) as Reference & Manifest;
    const manifest = object("demo", answering(configMap("settings", { a: "1" }), far));
    await api.apply(manifest);
    await bench.submitted({ namespace, name: "demo" });
    await api.get(far);
    await api.apply(bench.inTest(configMap("settings", { a: "2" })));
    assert.equal((await bench.submitted({ namespace, name: "demo" })).message, "patched ConfigMap settings");
    await api.apply(object("demo", answering(configMap("settings", { a: "1" }))));
    await bench.submitted({ namespace, name: "demo" });
    await api.assertGone(far);
  });

  it("ends all the same where its patience is over, and leaves the rest to another run", async () => {
    const manifest = object("demo", { answer: { children: [], requeueAfterSeconds: 3_600 } });
    await api.apply(manifest);
    const { exitCode, message } = await bench.submitted({ namespace, name: "demo" });
    assert.equal(exitCode, 0);
    assert.match(message, /the handler is asked again after 3600 s, by another run/);
    await api.apply(object("late", answering(deployment("web"))));
    const { message: late } = await bench.submitted({ namespace, name: "late" }, { patienceMs: 0 });
    assert.match(late, /not every child is ready yet: another run follows when they are/);
  });

  it("fails with a last word where the handler fails, and the object reports it", async () => {
    const manifest = object("demo", { exitCode: 3, log: "no plan" });
    await api.apply(manifest);
    const { exitCode, message, workflow } = await bench.submitted({ namespace, name: "demo" });
    assert.equal(exitCode, 1);
    assert.match(message, /^HandlerCrashed: the handler ended with exit code 3/);
    assert.equal(bench.reports[0]?.log, "no plan\n");
    const ready = await bench.readyOf(manifest);
    assert.equal(ready.reason, "HandlerCrashed");
    assert.ok(ready.message.endsWith(`(run ${workflow})`), ready.message);
  });

  it("does nothing for an object that is gone, is another one, or is paused", async () => {
    assert.match(
      (await bench.submitted({ namespace, name: "gone" })).message,
      /^nothing to do: InPods .*\/gone is gone/,
    );
    await api.apply(object("demo", answering(configMap("settings"))));
    const other = await bench.submitted({ namespace, name: "demo", uid: "another" });
    assert.deepStrictEqual([other.exitCode, bench.reports.length], [0, 0]);
    assert.match(other.message, /is a different object now/);
    await api.annotate(object("demo"), { "argosy.dev/paused": "true" });
    const paused = await bench.submitted({ namespace, name: "demo" });
    assert.deepStrictEqual([paused.exitCode, paused.message], [0, "nothing to do: the object is paused"]);
    await api.assertGone(bench.inTest(configMap("settings")));
  });

  it("finalizes an object that is being deleted, asking until the handler has finished", async () => {
    const plan = answering(configMap("settings"));
    const manifest = object("demo", plan);
    await api.apply(manifest);
    await bench.submitted({ namespace, name: "demo" });
    operator.plan("demo", {
      ...plan,
      finalize: { answer: { finalized: false, requeueAfterSeconds: 0.2 } },
    });
    await api.delete(manifest);
    const unfinished = await bench.submitted({ namespace, name: "demo" }, { patienceMs: 1_500 });
    assert.equal(unfinished.exitCode, 0);
    await api.get(manifest);
    operator.unplan("demo");
    assert.equal((await bench.submitted({ namespace, name: "demo" })).message, "finalized");
    await api.assertGone(manifest);
  });

  it("tries the handler on an object alone: it gives the answer, and applies nothing", async () => {
    const example = object("example", answering(configMap("never")));
    const { exitCode, answer } = await bench.submitted({ object: JSON.stringify(example) });
    assert.equal(exitCode, 0);
    assert.deepStrictEqual(JSON.parse(answer ?? ""), { children: [configMap("never")] });
    await api.assertGone(bench.inTest(configMap("never")));
    await api.assertGone(example);
  });
});
