import assert from "node:assert/strict";
import type { ReconcileReport } from "../../runtime/reconcile/report";
import { attributeOf, Collector, type ReceivedSpan } from "../support/collector";
import { eventually } from "../support/eventually";
import { submit } from "./support/argo";
import { announceKind, sharedCluster } from "./support/cluster";
import { configMap } from "./support/manifests";
import { type PodBench, usePods } from "./support/podRun";
import {
  customResourceDefinitionOf,
  type ObjectPlan,
  type TestController,
  TestOperator,
} from "./support/testOperator";
import { answering, becomesReady } from "./support/useOperator";

/** What is in the object and its children, and in no span. */
const CONTENT = "content-of-the-object";

function assertTree(spans: readonly ReceivedSpan[]): void {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  for (const span of spans) {
    assert.ok(BigInt(span.startTimeUnixNano) <= BigInt(span.endTimeUnixNano), span.name);
    const parent = byId.get(span.parentSpanId ?? "");
    if (!parent) continue;
    assert.ok(BigInt(parent.startTimeUnixNano) <= BigInt(span.startTimeUnixNano), span.name);
    assert.ok(BigInt(span.endTimeUnixNano) <= BigInt(parent.endTimeUnixNano), span.name);
  }
}

describe("traces of a resident engine", function () {
  this.timeout(120_000);
  const OPTIONS = { name: "traces-test" };
  announceKind(customResourceDefinitionOf(OPTIONS));
  let collector: Collector;
  let operator: TestOperator;
  let engine: TestController;
  let namespace: string;

  before(async function () {
    this.timeout(0);
    collector = await Collector.start();
    operator = await TestOperator.install(await sharedCluster(), OPTIONS);
    engine = await operator.start({ traces: collector.exporter() });
    await eventually(() => assert.ok(engine.controller.isLeading, "does not lead"));
    namespace = await operator.cluster.api.newNamespace("traces");
    // An object that exists when the term begins is handled because of that, and not because a watch reported it.
    await apply("first", answering());
    await ready("first");
  });
  after(async () => {
    await operator?.dispose();
    await collector?.stop();
  });

  const apply = (name: string, plan: ObjectPlan) =>
    operator.cluster.api.apply(operator.object(name, plan, namespace));
  const rootsOf = (name: string) =>
    collector.spans.filter(
      (span) => span.parentSpanId === undefined && attributeOf(span, "argosy.object.name") === name,
    );
  const traceOf = ({ traceId }: ReceivedSpan) => collector.spans.filter((span) => span.traceId === traceId);
  const ready = (name: string) => becomesReady(operator.cluster.api, operator.object(name, {}, namespace));

  it("tell how the change came, how long it waited, what the handler took and what became of each child", async () => {
    await apply("told", answering(configMap("told", { key: CONTENT })));
    await ready("told");
    const root = await eventually(() => {
      const found = rootsOf("told").find((span) =>
        traceOf(span).some(({ name }) => name === "created ConfigMap"),
      );
      assert.ok(found, "there is no such trace");
      return found;
    });
    const spans = traceOf(root);
    const names = spans.map(({ name }) => name);
    for (const name of ["watch", "queue", "read", "handler", "status"]) assert.ok(names.includes(name), name);
    assertTree(spans);
    assert.equal(root.name, "reconcile TracesTest");
    assert.equal(attributeOf(root, "argosy.cause"), "watch");
    assert.equal(attributeOf(root, "k8s.namespace.name"), namespace);
    assert.equal(attributeOf(root, "argosy.object.generation"), "1");
    const child = spans.find(({ name }) => name === "created ConfigMap");
    assert.equal(child && attributeOf(child, "argosy.child.name"), "told");
    // The handler's own spans find their place by what it is given.
    const handler = spans.find(({ name }) => name === "handler");
    const given = operator.calls("told").map(({ trace }) => trace);
    assert.ok(given.includes(`00-${root.traceId}-${handler?.spanId}-01`), given.join());
    const traceIds = engine.reportsOf("told").map(({ traceId }) => traceId);
    assert.ok(traceIds.includes(root.traceId));
    assert.ok(!collector.bodies.join().includes(CONTENT));
    assert.ok((await engine.metric("argosy_spans_sent_total")) >= spans.length);
    assert.equal(await engine.metric("argosy_spans_dropped_total"), 0);
  });
});

describe("the traces of a run in a pod of its own", () => {
  let bench: PodBench;
  let collector: Collector;
  usePods({ name: "traced-pods" }, (begun) => {
    bench = begun;
  });
  before(async () => {
    collector = await Collector.start();
  });
  after(() => collector?.stop());

  it("are one for each of its reconciles, which name its Workflow", async () => {
    const exporter = collector.exporter();
    const reports: ReconcileReport[] = [];
    await bench.api.apply(bench.object("demo", answering(configMap("settings", { key: CONTENT }))));
    await submit(bench.operator, "traced", { namespace: bench.namespace, name: "demo" });
    const { exitCode } = await bench.run("traced", {
      traces: exporter,
      onReport: (report) => void reports.push(report),
    });
    assert.equal(exitCode, 0);
    await exporter.close(60_000);
    const { spans } = collector;
    assertTree(spans);
    const roots = spans.filter(({ parentSpanId }) => parentSpanId === undefined);
    const traceIds = roots.map(({ traceId }) => traceId);
    assert.ok(roots.length > 0);
    assert.deepEqual(new Set(roots.map(({ name }) => name)), new Set(["reconcile TracedPods"]));
    assert.deepEqual(new Set(roots.map((root) => attributeOf(root, "argosy.run"))), new Set(["traced"]));
    assert.deepEqual(
      reports.map(({ traceId }) => traceId),
      traceIds,
    );
    const names = spans.map(({ name }) => name);
    for (const name of ["handler", "created ConfigMap", "status"]) assert.ok(names.includes(name), name);
    assert.ok(!collector.bodies.join().includes(CONTENT));
    const [first] = bench.operator.calls("demo");
    assert.match(first?.trace ?? "", new RegExp(`^00-${traceIds[0]}-[0-9a-f]{16}-01$`));
  });
});
