import assert from "node:assert/strict";
import { FIELD_MANAGER } from "../../cli/local/installOperator";
import type { KubernetesObject } from "../../runtime/base/objects";
import { Collector } from "../support/collector";
import { eventually } from "../support/eventually";
import { ApiProxy } from "./support/apiProxy";
import { announceKind, sharedCluster, type TestCluster } from "./support/cluster";
import { configMap, inNamespace } from "./support/manifests";
import { ResidentOperator } from "./support/residentOperator";
import type { ResidentPod } from "./support/residentPod";
import { customResourceDefinitionOf } from "./support/testOperator";
import { answering, conditionOf } from "./support/useOperator";

const PATIENT = { timeoutMs: 150_000 };

const OPERATOR = { name: "alone" };

/** The cluster has Argo's kinds because of other tests. A proxy tells whether the runner asks for them. */
describe("a resident runner without Argo", function () {
  this.timeout(240_000);
  announceKind(customResourceDefinitionOf(OPERATOR));
  let cluster: TestCluster;
  let proxy: ApiProxy;
  let operator: ResidentOperator;
  let pod: ResidentPod;
  let namespace: string;
  let collector: Collector;

  before(async function () {
    this.timeout(0);
    collector = await Collector.start();
    cluster = await sharedCluster();
    proxy = await ApiProxy.start(cluster.connection);
    operator = await ResidentOperator.install(cluster, OPERATOR, {
      leaseSeconds: 6,
      without: ["events", "workflows"],
      traces: collector.endpoint,
    });
    namespace = await cluster.api.newNamespace("alone");
    await cluster.api.apply(operator.kind, FIELD_MANAGER);
    pod = (await operator.start(proxy.through(cluster.connection).server)).startHandler();
  });
  after(async () => {
    await operator?.dispose();
    await proxy?.stop();
    await collector?.stop();
  });

  it("reconciles by its own watch, takes no event path for silent, and asks for no kind of Argo's", async () => {
    const manifest = operator.object("first", answering(configMap("first")), namespace);
    await eventually(() => cluster.api.apply(manifest), PATIENT);
    const isReady = (object: KubernetesObject) => assert.equal(conditionOf(object, "Ready")?.status, "True");
    await eventually(async () => isReady(await cluster.api.get(manifest)), PATIENT);
    assert.ok(await cluster.api.find(inNamespace(configMap("first"), namespace)));
    await cluster.api.apply(operator.object("first", answering(configMap("second")), namespace));
    await eventually(async () =>
      assert.ok(await cluster.api.find(inNamespace(configMap("second"), namespace))),
    );
    assert.equal(await pod.metric("argosy_event_silence_seconds"), 0);
    assert.deepEqual(
      proxy.requests.filter(({ path }) => path.includes("argoproj.io")),
      [],
    );
    assert.doesNotMatch(pod.messages.join("\n"), /argoproj|Workflow|recorded|TaskSet/i);
  });

  it("ends when it is told to", async () => {
    assert.equal(await pod.end("SIGTERM"), 0);
  });

  it("has sent its runs as traces, the last of them at its end, and named them in its log", () => {
    const roots = collector.spans.filter(({ parentSpanId }) => parentSpanId === undefined);
    assert.ok(roots.length > 0);
    assert.ok(roots.every(({ name }) => name === "reconcile Alone"));
    const sent = roots.map(({ traceId }) => traceId);
    const logged = pod.log.flatMap(({ traceId }) => traceId ?? []);
    assert.ok(logged.length > 0);
    for (const trace of logged) assert.ok(sent.includes(trace), trace);
    assert.deepEqual(
      pod.messages.filter((message) => message.includes("traces")),
      [],
    );
  });
});
