import assert from "node:assert/strict";
import { RUNNER_ENVIRONMENT } from "../../runtime/programs/layout";
import type { LogLevel } from "../../runtime/programs/logLine";
import { openTraces } from "../../runtime/programs/openTraces";
import { readEnvironment } from "../../runtime/programs/pod";
import { Collector } from "../support/collector";
import { eventually } from "../support/eventually";
import { operator } from "./support/objects";

describe("the traces of a pod", () => {
  let lines: [LogLevel, string][];
  let notices: string[];
  let collector: Collector;
  beforeEach(async () => {
    [lines, notices] = [[], []];
    collector = await Collector.start();
  });
  afterEach(() => collector.stop());

  function open(traces: { endpoint?: string; headers?: string; oneIn?: string }) {
    const environment = readEnvironment("run", {
      [RUNNER_ENVIRONMENT.namespace]: "argosy",
      [RUNNER_ENVIRONMENT.pod]: "shop-runner-0",
      [RUNNER_ENVIRONMENT.instanceId]: "",
      [RUNNER_ENVIRONMENT.workflow]: "shop-x2",
      [RUNNER_ENVIRONMENT.tracesEndpoint]: traces.endpoint,
      [RUNNER_ENVIRONMENT.tracesHeaders]: traces.headers,
      [RUNNER_ENVIRONMENT.tracesOneIn]: traces.oneIn,
    });
    const log = (level: LogLevel, message: string) => void lines.push([level, message]);
    return openTraces({ operator: operator(), environment, log }, (notice) => void notices.push(notice));
  }

  it("are off where the manifests name no collector", () => {
    assert.equal(open({}), undefined);
    assert.deepEqual(lines, []);
  });

  it("say whose they are: the operator, the pod and its namespace", async () => {
    const traces = open({ endpoint: collector.endpoint });
    assert.ok(traces);
    const { traceId, rootId: spanId } = traces.begin();
    traces.add(() => [{ traceId, spanId, name: "a", from: 1, to: 2, attributes: {} }]);
    await traces.close(60_000);
    await eventually(() => assert.equal(collector.bodies.length, 1));
    const { attributes } = JSON.parse(collector.bodies[0] ?? "").resourceSpans[0].resource;
    const pairs = attributes.map((each: { key: string; value: { stringValue: string } }) => [
      each.key,
      each.value.stringValue,
    ]);
    assert.deepEqual(pairs, [
      ["service.name", `${operator().installation}.${operator().name}`],
      ["service.instance.id", "shop-runner-0"],
      ["k8s.namespace.name", "argosy"],
      ["k8s.pod.name", "shop-runner-0"],
    ]);
  });

  it("are off, and that is said without any secret, where the headers or the address cannot be used", () => {
    for (const given of [
      { endpoint: collector.endpoint, headers: "s3cret" },
      { endpoint: "https://me:s3cret@example.com" },
      { endpoint: collector.endpoint, oneIn: "0" },
    ]) {
      lines = [];
      assert.equal(open(given), undefined);
      assert.equal(lines.length, 1);
      assert.match(lines[0]?.join() ?? "", /^warn,traces are off: /);
      assert.ok(!lines.join().includes("s3cret"));
    }
  });
});
