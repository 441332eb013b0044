import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import path from "node:path";
import { apiCallsOf, buildFlowSchemas, callsPerChange } from "../../tools/bench/inCluster/apiCalls";
import { hintsBetween, parseHints } from "../../tools/bench/inCluster/hints";
import { parseTime } from "../../tools/bench/inCluster/logs";
import { isFresh } from "../../tools/bench/inCluster/measurePods";
import { momentsOf, processedEvents } from "../../tools/bench/inCluster/moments";
import { type PodMemory, podMemoryOf } from "../../tools/bench/inCluster/podMemory";
import { formatInCluster } from "../../tools/bench/inCluster/report";
import { slopePerHour } from "../../tools/bench/inCluster/slope";
import { soakFigures } from "../../tools/bench/inCluster/soakReport";
import { between, stageFigures } from "../../tools/bench/inCluster/stages";
import { parseMetrics } from "../../tools/bench/metrics";

const MEBIBYTE = 2 ** 20;
const pod = (name: string, workingSetMiB: number, part: PodMemory["part"] = "operator"): PodMemory => ({
  namespace: "argosy-bench",
  pod: name,
  part,
  workingSetMiB,
  containers: {},
});

describe("benchmark in a cluster: logs and metrics", () => {
  it("reads times of any precision and zone, in milliseconds with their fraction", () => {
    const seconds = Date.parse("2026-11-21T15:00:01Z");
    assert.equal(parseTime("2026-11-21T15:00:01Z"), seconds);
    assert.equal(parseTime("2026-11-21T15:00:01.25Z"), seconds + 250);
    assert.equal(parseTime("2026-11-21T16:00:01.0005+01:00"), seconds + 0.5);
    assert.equal(parseTime("yesterday"), undefined);
  });

  it("reads the samples of one metric only", () => {
    const text = [
      "# HELP calls x",
      'calls{flow_schema="a",kind="with \\"quotes\\""} 3',
      "calls 4",
      "calls_more 5",
      'calls_more{flow_schema="a"} 6',
    ].join("\n");
    assert.deepEqual(parseMetrics(text, "calls"), [
      { labels: { flow_schema: "a", kind: 'with \\"quotes\\"' }, value: 3 },
      { labels: {}, value: 4 },
    ]);
  });

  it("tells by which way a runner heard first", () => {
    const metrics = 'argosy_hints_total{result="known"} 3\nargosy_hints_total{result="queued"} 5\n';
    const later = 'argosy_hints_total{result="known"} 4\nargosy_hints_total{result="queued"} 15\n';
    const before = parseHints(metrics + metrics);
    assert.deepEqual(before, { watchFirst: 6, eventFirst: 10 });
    assert.deepEqual(hintsBetween(before, parseHints(later + later)), { watchFirst: 2, eventFirst: 20 });
    assert.equal(hintsBetween(before, undefined), undefined);
  });
});

describe("benchmark in a cluster: API calls", () => {
  const accounts = [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "runner", namespace: "argosy-bench" } },
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "other", namespace: "argosy-bench" } },
  ];
  const metrics = (value: number) =>
    [
      `apiserver_flowcontrol_dispatched_requests_total{flow_schema="argosy-bench.argosy-bench.runner",x="1"} ${value}`,
      `apiserver_flowcontrol_dispatched_requests_total{flow_schema="argosy-bench.argosy-bench.runner",x="2"} ${value}`,
      'apiserver_flowcontrol_dispatched_requests_total{flow_schema="service-accounts"} 9',
    ].join("\n");

  it("counts each service account by a FlowSchema of its own", () => {
    const [schema, ...others] = buildFlowSchemas(accounts);
    assert.deepEqual(others, []);
    assert.equal(schema?.metadata.name, "argosy-bench.argosy-bench.runner");
    assert.deepEqual(apiCallsOf(metrics(20)), { "argosy-bench/runner": 40 });
  });

  it("divides what came between two counts by the changes", () => {
    const after = { ...apiCallsOf(metrics(20)), "argosy-bench/new": 5, "argosy-bench/idle": 0 };
    assert.deepEqual(callsPerChange(apiCallsOf(metrics(10)), after, 10), {
      "argosy-bench/runner": 2,
      "argosy-bench/new": 0.5,
    });
  });
});

describe("benchmark in a cluster: memory", () => {
  const stats = (name: string, time: string, workingSetBytes = MEBIBYTE) => ({
    podRef: { name, namespace: "argosy-bench" },
    memory: { time, workingSetBytes },
    containers: [{ name: "main", memory: { time, workingSetBytes: workingSetBytes / 2 } }],
  });

  it("takes the pod's working set, and the sum of its containers' where the kubelet tells none", () => {
    const labels = { "app.kubernetes.io/component": "runner" };
    const { memory: _, ...withoutPod } = stats("a", "1", 8 * MEBIBYTE);
    assert.equal(podMemoryOf(stats("a", "1", 8 * MEBIBYTE), labels).workingSetMiB, 8);
    assert.deepEqual(podMemoryOf(withoutPod, labels), {
      namespace: "argosy-bench",
      pod: "a",
      part: "operator",
      workingSetMiB: 4,
      containers: { main: 4 },
    });
  });

  it("calls a look fresh once every running pod was measured again", () => {
    const [earlier, later] = [[stats("a", "1"), stats("b", "1")], [stats("a", "2")]];
    const both = ["argosy-bench/a", "argosy-bench/b"];
    assert.equal(isFresh(earlier, [...later, stats("b", "1")], both), false);
    assert.equal(isFresh(earlier, later, both), false);
    assert.equal(isFresh(earlier, [...later, stats("b", "2", 0)], both), false);
    assert.equal(isFresh(earlier, [...later, stats("b", "2")], both), true);
    assert.equal(isFresh(earlier, later, ["argosy-bench/a"]), true);
  });
});

describe("benchmark in a cluster: stages", () => {
  const line = (time: number, text: string) => ({ time: 1000 + time, text });
  const passages = [0, 100].map((sentAt, index) => ({
    name: `one-${index}`,
    sentAt,
    answeredAt: sentAt + 5,
    seenAt: sentAt + 60,
  }));
  const eventSource = [0, 100].flatMap((at) => [
    line(at + 10, "detected create event"),
    line(at + 12, `Succeeded to publish an event {"eventID":"id-${at}"}`),
  ]);
  const sensor = [0, 100].flatMap((at) => [
    line(at + 20, "Triggering actions after receiving dependency"),
    line(at + 21, "Making a http request"),
    line(at + 25, `Successfully processed trigger {"triggeredByEvents":["id-${at}"]}`),
  ]);
  const run = (end: number, object: string, changes?: string[]) =>
    line(
      end,
      JSON.stringify({
        time: new Date(1000 + end).toISOString(),
        object,
        durationMs: 30,
        handlerMs: 2,
        changes,
      }),
    );
  const runner = [
    line(1, "not JSON"),
    run(50, "benchmark/one-0", ["created"]),
    run(55, "benchmark/one-0", ["patched"]),
    run(150, "benchmark/one-1"),
  ];

  it("puts together what the parts have logged of each object", () => {
    const [first, second] = momentsOf(passages, { eventSource, sensor, runner }, 1000);
    assert.deepEqual(first, {
      sent: 1000,
      answered: 1005,
      detected: 1010,
      published: 1012,
      triggered: 1020,
      requested: 1021,
      processed: 1025,
      runBegun: 1020,
      runEnded: 1050,
      handlerMs: 2,
      seen: 1060,
    });
    // A run that changed nothing is not the one that made the Deployment.
    assert.equal(second?.runBegun, undefined);
    assert.equal(second?.published, 1112);
    assert.equal(processedEvents(sensor), 2);
  });

  it("concludes nothing from a log that reports more events than there were objects", () => {
    const more = [...sensor, line(300, "Making a http request")];
    const [first] = momentsOf(passages, { eventSource, sensor: more, runner }, 1000);
    assert.equal(first?.requested, undefined);
    assert.equal(first?.triggered, 1020);
  });

  it("takes the median of each stage over the objects that report it, and leaves out what none does", () => {
    const stages = [between("one", "sent", "answered"), between("none", "sent", "podStarted")];
    const objects = [
      { sent: 0, answered: 4 },
      { sent: 0, answered: 6 },
      { sent: 0 },
      { sent: 0, answered: 9 },
    ];
    assert.deepEqual(stageFigures(stages, objects), [{ title: "one", p50Ms: 6, objects: 3 }]);
  });
});

describe("benchmark in a cluster: report", () => {
  it("tells what could not do its work, and what was left out", () => {
    const text = formatInCluster({
      results: [],
      failures: ["pod could not do its work: no pod"],
      leftOut: ["kopf: no image is given"],
      machines: [],
    });
    assert.match(text, /^pod could not do its work: no pod\n\nleft out: kopf: no image is given$/m);
  });
});

describe("benchmark in a cluster: soak", () => {
  const minutes = (minute: number) => minute * 60_000;

  it("finds the straight line with the least squares", () => {
    const line = [0, 15, 30, 45].map((minute) => ({ time: minutes(minute), value: 100 + minute / 6 }));
    assert.ok(Math.abs(slopePerHour(line) - 10) < 1e-9);
    // The noise of these four is symmetrical around the line of 10 per hour.
    const noisy = line.map(({ time, value }, index) => ({
      time,
      value: value + ([1, -1, -1, 1][index] ?? 0),
    }));
    assert.ok(Math.abs(slopePerHour(noisy) - 10) < 1e-9);
    assert.equal(slopePerHour(line.slice(0, 1)), 0);
    assert.equal(slopePerHour([]), 0);
  });

  it("tells the drift of the latency and the slope of each pod", () => {
    const figures = soakFigures({
      latencies: [...Array(50).fill(10), ...Array(50).fill(20)],
      failedCalls: 1,
      missing: 2,
      memory: [0, 20, 40, 60].map((minute) => ({
        time: minutes(minute),
        pods: [
          pod("runner-7d9f8b6c5d-x2x4z", 40 + Math.min(minute, 40)),
          // The kubelet has not measured it yet at first.
          pod("bus-0", minute === 0 ? 0 : 7, "platform"),
        ],
      })),
    });
    const [bus, runner] = [...figures.pods].reverse();
    assert.equal(figures.firstTenthP50Ms, 10);
    assert.equal(figures.lastTenthP50Ms, 20);
    assert.deepEqual(bus, {
      pod: "platform: bus-0",
      firstTenthMiB: 7,
      lastTenthMiB: 7,
      slopeMiBPerHour: 0,
      laterSlopeMiBPerHour: 0,
    });
    assert.equal(runner?.firstTenthMiB, 40);
    assert.equal(runner?.lastTenthMiB, 80);
    assert.ok((runner?.slopeMiBPerHour ?? 0) > 40);
    assert.equal(runner?.laterSlopeMiBPerHour, 0);
    assert.deepEqual([figures.failedCalls, figures.missing], [1, 2]);
  });
});

const ROOT = path.resolve(__dirname, "../..");

describe("benchmark in a cluster: a step of the tutorial", () => {
  const memcached = {
    apiVersion: "cache.example.com/v1alpha1",
    kind: "Memcached",
    metadata: { name: "quoted", namespace: "benchmark", uid: "u-1" },
    spec: { size: 2 },
  };
  const run = (step: string) =>
    execFileSync("python3", ["tools/bench/inCluster/tutorial.py", step, "ADD", JSON.stringify(memcached)], {
      cwd: ROOT,
      env: { ...process.env, HANDLER: "examples/memcached/main.py" },
      encoding: "utf8",
    });

  for (const kind of ["Deployment", "Service"]) {
    it(`asks the operator's own handler for the ${kind}`, () => {
      const child = JSON.parse(run(kind.toLowerCase()));
      assert.equal(child.kind, kind);
      assert.equal(child.metadata.ownerReferences[0].uid, "u-1");
    });
  }
});
