import assert from "node:assert/strict";
import { formatCommands } from "../../tools/bench/commands";
import { CpuMeter } from "../../tools/bench/cpuMeter";
import { firstDifference } from "../../tools/bench/equalWork";
import {
  alternatingOrder,
  median,
  medianFigures,
  medianRatios,
  percentile,
  type RoundFigures,
  type RunFigures,
} from "../../tools/bench/figures";
import { countWrites } from "../../tools/bench/metrics";
import { parseProc, parsePs, sumTree } from "../../tools/bench/processes";
import { formatTable } from "../../tools/bench/report";
import { difference } from "../../tools/bench/restart";
import { Sightings } from "../../tools/bench/sightings";

const figures = (value: number): RoundFigures => ({
  p50Ms: value,
  p99Ms: value,
  burstP99Ms: value,
  perSecond: value,
  operatorCpuMs: value,
  serverCpuMs: value,
  idleMiB: value,
  loadedMiB: value,
});
const work = { objects: 200, burst: 1000, rounds: 2 };

describe("benchmark: figures", () => {
  const oneToHundred = Array.from({ length: 100 }, (_, index) => 100 - index);

  it("takes the nearest rank as the percentile", () => {
    for (const percent of [50, 99, 100]) assert.equal(percentile(oneToHundred, percent), percent);
    assert.equal(percentile(oneToHundred, 0), 1);
    assert.equal(percentile([7], 99), 7);
  });

  it("has no percentile or median of nothing", () => {
    assert.throws(() => percentile([], 50), RangeError);
    assert.throws(() => median([]), RangeError);
  });

  it("takes the mean of the two in the middle as the median of an even number", () => {
    assert.equal(median([4, 1, 3]), 3);
    assert.equal(median([4, 1, 3, 2]), 2.5);
  });

  it("takes each figure's median over the rounds by itself", () => {
    const rounds = [figures(1), { ...figures(3), idleMiB: 0 }, figures(2)];
    assert.deepEqual(medianFigures(rounds), { ...figures(2), idleMiB: 1 });
  });

  it("takes the median of the ratios of each round, not the ratio of the medians", () => {
    // The second round was slow for both.
    const ours = [figures(10), figures(90), figures(20)];
    const theirs = [figures(20), figures(100), { ...figures(10), perSecond: 40 }];
    assert.deepEqual(medianRatios(ours, theirs), { ...figures(0.9), perSecond: 0.5 });
  });

  it("turns the order around in every second round", () => {
    assert.deepEqual(alternatingOrder(["a", "b", "c"], 3), [
      ["a", "b", "c"],
      ["c", "b", "a"],
      ["a", "b", "c"],
    ]);
  });
});

describe("benchmark: report", () => {
  const runs: RunFigures[] = [
    { name: "argosy", rounds: [{ ...figures(10.123), perSecond: 1234.5 }] },
    { name: "kopf", rounds: [figures(20.246)] },
  ];

  it("prints a line for each operator and the ratio to each peer, in aligned columns", () => {
    const lines = formatTable(runs, work, "2 x test").split("\n");
    assert.deepEqual(lines.slice(0, 6), [
      "                          p50 ms  p99 ms  burst p99 ms  changes/s  CPU ms  API server ms  idle MiB  loaded MiB",
      "argosy                      10.1    10.1          10.1       1235    10.1           10.1      10.1        10.1",
      "kopf                        20.2    20.2          20.2       20.2    20.2           20.2      20.2        20.2",
      "",
      "argosy's figure / peer's",
      "kopf                        0.50    0.50          0.50      60.98    0.50           0.50      0.50        0.50",
    ]);
  });
});

describe("benchmark: processes", () => {
  it("reads /proc/<pid>/status and /proc/<pid>/stat", () => {
    const status = "Name:\tnode\nPid:\t12\nPPid:\t1\nTracerPid:\t0\nVmHWM:\t  90000 kB\nVmRSS:\t  51200 kB\n";
    const stat = "12 (a) b (c) S 1 12 12 0 -1 4194304 100 0 0 0 150 25 40 10 20 0 1 0 500 1000 200";
    assert.deepEqual(parseProc(status, stat), { pid: 12, parent: 1, residentKiB: 51200, cpuMs: 2250 });
  });

  it("reads ps", () => {
    assert.deepEqual(parsePs("    1     0   1024  0:01.50\n   12     1  51200 1-02:03:04\n"), [
      { pid: 1, parent: 0, residentKiB: 1024, cpuMs: 1500 },
      { pid: 12, parent: 1, residentKiB: 51200, cpuMs: 93_784_000 },
    ]);
  });

  it("sums over a process and its descendants, and no other process", () => {
    const processes = [
      { pid: 10, parent: 1, residentKiB: 1, cpuMs: 10 },
      { pid: 11, parent: 10, residentKiB: 2, cpuMs: 20 },
      { pid: 12, parent: 11, residentKiB: 4, cpuMs: 40 },
      { pid: 13, parent: 10, residentKiB: 8, cpuMs: 80 },
      { pid: 20, parent: 1, residentKiB: 16, cpuMs: 160 },
    ];
    assert.deepEqual(sumTree(processes, 10), { residentKiB: 15, cpuMs: 150 });
    assert.deepEqual(sumTree(processes, 99), { residentKiB: 0, cpuMs: 0 });
  });
});

describe("benchmark: CPU time", () => {
  it("is what the burst took, for each of its objects", async () => {
    const times = { operator: [1_000, 3_000], server: [500, 700] };
    const meter = new CpuMeter(
      { cpuMs: async () => times.operator.shift() ?? 0 },
      { serverCpuMs: async () => times.server.shift() ?? 0 },
    );
    assert.throws(() => meter.figures(100), /not settled/);
    await meter.burstBegins();
    await meter.burstSettled();
    assert.deepEqual(meter.figures(100), { operatorCpuMs: 20, serverCpuMs: 2 });
  });
});

describe("benchmark: sightings", () => {
  const object = (name: string) => ({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, uid: name, resourceVersion: "1" },
  });

  it("tells when an object was first seen, whether it is asked before or after", async () => {
    const sightings = new Sightings();
    const asked = sightings.of("one");
    sightings.set(object("one"));
    const seenAt = await asked;
    sightings.set(object("one"));
    assert.equal(await sightings.of("one"), seenAt);
    sightings.remove();
    assert.equal(await sightings.of("one"), seenAt);
  });
});

describe("benchmark: equal work", () => {
  it("names the first line in which two operators' children differ", () => {
    assert.equal(firstDifference("a\n  b\nc", "a\n  x\ny"), '"b", "x"');
    assert.equal(firstDifference("a\nb", "a"), '"b", ""');
  });
});

describe("benchmark: commands", () => {
  it("are compared with a Node that does nothing, round by round", () => {
    const figures = [
      { name: "node -e 0", roundsMs: [40, 80, 50] },
      { name: "argosy test", roundsMs: [200, 480, 200] },
    ];
    assert.deepEqual(formatCommands(figures, "A machine").split("\n"), [
      "             median ms  longest ms  / node -e 0",
      "node -e 0         50.0        80.0          1.0",
      "argosy test        200         480          5.0",
      "",
      "Medians of 3 rounds, one command after another. Ratios are the medians of each round's ratios. A machine",
    ]);
  });
});

describe("benchmark: a restart", () => {
  const sample = (verb: string, resource: string, subresource: string, count: number, code = "200") =>
    `apiserver_request_total{code="${code}",resource="${resource}",subresource="${subresource}",verb="${verb}"} ${count}`;

  it("counts writes by verb and resource, of all answers, and neither reads nor leases", () => {
    const text = [
      sample("APPLY", "deployments", "", 3),
      sample("APPLY", "deployments", "", 1, "409"),
      sample("PATCH", "memcacheds", "status", 2),
      sample("LIST", "deployments", "", 5),
      sample("WATCH", "deployments", "", 5),
      sample("PUT", "leases", "", 7),
    ].join("\n");
    const writes = countWrites(text);
    assert.deepEqual(Object.fromEntries(writes), { "APPLY deployments": 4, "PATCH memcacheds/status": 2 });
  });

  it("reports only what was written since", () => {
    const before = new Map([
      ["APPLY deployments", 4],
      ["POST events", 1],
    ]);
    const after = new Map([...before, ["POST events", 3], ["PATCH memcacheds/status", 1]] as const);
    assert.deepEqual(difference(before, after), { "PATCH memcacheds/status": 1, "POST events": 2 });
  });
});
