import { median, percentile } from "../figures";
import { alignColumns, formatFigure, toJson } from "../report";
import { type PodMemory, sumMiB, titleOf } from "./podMemory";
import { endTenths, type Sample, slopePerHour } from "./slope";
import type { SoakObservations } from "./soak";

/** The figures of an even load over a long time. */
export interface SoakFigures {
  readonly changes: number;
  /** {@link SoakObservations.failedCalls}. */
  readonly failedCalls: number;
  /** {@link SoakObservations.missing}. */
  readonly missing: number;
  /** In milliseconds. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The medians of the first and of the last tenth of the changes, which show the drift. */
  readonly firstTenthP50Ms: number;
  readonly lastTenthP50Ms: number;
  readonly pods: readonly PodSlope[];
}

/** The working set of a pod over time. */
export interface PodSlope {
  readonly pod: string;
  /** Medians of the first tenth of the samples, and of the last. */
  readonly firstTenthMiB: number;
  readonly lastTenthMiB: number;
  /** The slope of all samples. It includes the initial growth of the heap. */
  readonly slopeMiBPerHour: number;
  /** The slope of the later half of the samples, which would continue. */
  readonly laterSlopeMiBPerHour: number;
}

/** The figures of the observations. */
export function soakFigures({ latencies, memory, failedCalls, missing }: SoakObservations): SoakFigures {
  const { first, last } = endTenths(latencies);
  const titles = [...new Set(memory.flatMap(({ pods }) => pods.map(titleOf)))].sort();
  return {
    changes: latencies.length,
    failedCalls,
    missing,
    p50Ms: percentile(latencies, 50),
    p99Ms: percentile(latencies, 99),
    firstTenthP50Ms: percentile(first, 50),
    lastTenthP50Ms: percentile(last, 50),
    pods: titles.map((title) => podSlope(title, samplesOf(memory, title))),
  };
}

/** The figures as a table. */
export function formatSoak(figures: SoakFigures, machines: readonly string[]): string {
  const { changes, failedCalls, missing, p50Ms, p99Ms, firstTenthP50Ms, lastTenthP50Ms, pods } = figures;
  const latency = [
    ["changes", "failed calls", "missing", "p50 ms", "p99 ms", "p50 of the first tenth", "of the last"],
    [
      String(changes),
      String(failedCalls),
      String(missing),
      ...[p50Ms, p99Ms, firstTenthP50Ms, lastTenthP50Ms].map(formatFigure),
    ],
  ];
  const rows = pods.map(({ pod, ...each }) => [
    pod,
    formatFigure(each.firstTenthMiB),
    formatFigure(each.lastTenthMiB),
    each.slopeMiBPerHour.toFixed(1),
    each.laterSlopeMiBPerHour.toFixed(1),
  ]);
  const heading = ["pod", "first tenth MiB", "last tenth MiB", "MiB per hour", "of the later half"];
  return [
    ...alignColumns(latency),
    "",
    ...alignColumns([heading, ...rows]),
    "",
    "Memcacheds of size 0, created evenly, each deleted a minute later. Latency: from just before the create call to the",
    "Deployment. Memory: working sets from the kubelet, every 15 s; slopes by least squares.",
    "",
    ...machines,
  ].join("\n");
}

/** The figures for programs: one line of JSON. */
export function formatSoakJson(figures: SoakFigures, machines: readonly string[]): string {
  return toJson({ ...figures, machines });
}

function samplesOf(memory: SoakObservations["memory"], title: string): Sample[] {
  const isSame = (pod: PodMemory) => titleOf(pod) === title;
  return memory
    .filter(({ pods }) => pods.some(isSame))
    .map(({ time, pods }) => ({
      time,
      value: sumMiB(pods.filter(isSame)),
    }))
    .filter(({ value }) => value > 0); // the kubelet has not measured yet what has just begun
}

function podSlope(pod: string, samples: readonly Sample[]): PodSlope {
  const { first, last } = endTenths(samples.map(({ value }) => value));
  return {
    pod,
    firstTenthMiB: median(first),
    lastTenthMiB: median(last),
    slopeMiBPerHour: slopePerHour(samples),
    laterSlopeMiBPerHour: slopePerHour(samples.slice(Math.floor(samples.length / 2))),
  };
}
