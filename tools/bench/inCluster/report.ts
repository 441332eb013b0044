import { alignColumns, formatFigure, toJson, type Work } from "../report";
import type { FormResult, InClusterResults } from "./benchmark";
import type { Form } from "./form";
import { type PodMemory, sumMiB, titleOf } from "./podMemory";

/** The results, and the machines. */
export interface InClusterReport extends InClusterResults {
  /** Forms that were left out, each with the reason. */
  readonly leftOut: readonly string[];
  /** The machine of the driver, and the nodes: a line each. */
  readonly machines: readonly string[];
}

/** The figures of all forms, then the pods, the API calls and the stages of each form. */
export function formatInCluster({ results, failures, leftOut, machines }: InClusterReport): string {
  const parts = [
    alignColumns([HEADING, ...results.map(row)]),
    ...results.flatMap((result) => [podTable(result), stageTable(result)]),
    explain(results),
    failures,
    leftOut.map((line) => `left out: ${line}`),
    machines,
  ];
  return parts
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join("\n"))
    .join("\n\n");
}

/** The same for programs: one line of JSON. */
export function formatInClusterJson({ results, failures, leftOut, machines }: InClusterReport): string {
  return toJson({ runs: results, failures, leftOut, machines });
}

/** The work of a form, depending on the cost of each object. */
export function workOf({ name, isSlow }: Pick<Form, "name" | "isSlow">, all: InClusterWork): Work {
  const { objects, burst, slowObjects, slowBurst, tutorialObjects, rounds } = all;
  // A single object takes more than a minute.
  if (name === "tutorial") return { objects: tutorialObjects, burst: tutorialObjects, rounds: 1 };
  return isSlow ? { objects: slowObjects, burst: slowBurst, rounds } : { objects, burst, rounds };
}

/** The amount of work for the forms. */
export interface InClusterWork extends Work {
  /** The number of objects one by one, for forms with a pod for each object. */
  readonly slowObjects: number;
  /** The number of objects of their burst. */
  readonly slowBurst: number;
  /** Both numbers for the tutorial. */
  readonly tutorialObjects: number;
}

const HEADING = [
  "",
  "p50 ms",
  "p99 ms",
  "burst",
  "burst p99 ms",
  "changes/s",
  "API calls/change",
  "idle MiB",
  "loaded MiB",
  "operator idle",
  "loaded",
];

function row(result: FormResult): string[] {
  const { name, work, p50Ms, p99Ms, burstP99Ms, perSecond, idle, loaded } = result;
  const calls = Object.values(result.apiCalls).reduce((sum, each) => sum + each, 0);
  const memory = [sumMiB(idle), sumMiB(loaded), sumMiB(idle, "operator"), sumMiB(loaded, "operator")];
  return [
    name,
    formatFigure(p50Ms),
    formatFigure(p99Ms),
    String(work.burst),
    formatFigure(burstP99Ms),
    formatFigure(perSecond),
    formatFigure(calls),
    ...memory.map((each) => (each === 0 ? "-" : formatFigure(each))),
  ];
}

function podTable({ name, idle, loaded, apiCalls }: FormResult): string[] {
  const names = [...new Set([...idle, ...loaded].map(titleOf))].sort();
  const pods = names.map((title) => {
    const sum = (all: readonly PodMemory[]) => sumMiB(all.filter((pod) => titleOf(pod) === title));
    const containers = loaded.find((pod) => titleOf(pod) === title)?.containers ?? {};
    const each = Object.entries(containers).map(
      ([container, mebibytes]) => `${container} ${mebibytes.toFixed(0)}`,
    );
    return [
      `  ${title}`,
      formatFigure(sum(idle)),
      formatFigure(sum(loaded)),
      each.length > 1 ? each.join(", ") : "",
    ];
  });
  const calls = Object.entries(apiCalls).map(([account, each]) => [`  ${account}`, formatFigure(each)]);
  return [
    ...(pods.length === 0
      ? []
      : alignColumns([[`${name}: pods`, "idle MiB", "loaded MiB", "containers, loaded"], ...pods])),
    ...(calls.length === 0
      ? []
      : ["", ...alignColumns([[`${name}: service accounts`, "API calls/change"], ...calls])]),
  ];
}

function stageTable({ name, stages, hints }: FormResult): string[] {
  if (stages.length === 0) return [];
  const rows = stages.map(({ title, p50Ms, objects }) => [
    `  ${title}`,
    formatFigure(p50Ms),
    String(objects),
  ]);
  const first =
    hints &&
    `  the runner heard first: ${hints.watchFirst} times by its watch, ${hints.eventFirst} times by the event`;
  return [...alignColumns([[`${name}: stages`, "p50 ms", "objects"], ...rows]), ...(first ? [first] : [])];
}

function explain(results: readonly FormResult[]): string[] {
  const slow = results
    .filter(({ work }) => work.burst < 1000)
    .map(({ name, work }) => `${name} ${work.objects}`);
  return [
    "p50, p99: from just before the create call to the Deployment, one by one, as seen by the driver's watch.",
    "burst p99, changes/s: objects created at the same time, with 20 calls in progress. The Memcacheds have size 0, and so " +
      "no pods.",
    "memory: working sets from the kubelet, before the first object and with the burst; operator: without the shared parts.",
    "API calls: counted by API Priority and Fairness for each service account, including recording and status; a watch " +
      "counts as one.",
    ...(slow.length > 0 ? [`objects one by one, where fewer: ${slow.join(", ")}`] : []),
  ];
}
