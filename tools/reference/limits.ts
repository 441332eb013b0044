import { AT_WORK_FOR_EACH_HANDLER } from "../../runtime/engine/compose";
import { MOST_GIVEN_BYTES } from "../../runtime/handler/contract";
import { IDLE_MS } from "../../runtime/handler/handlerPool";
import { KEPT_LOG_BYTES } from "../../runtime/handler/handlerWorker";
import { LONGEST_ANSWER_BYTES, MOST_CHILDREN } from "../../runtime/handler/parseAnswer";
import { IN_FLIGHT, IN_FLIGHT_OF_FLOW } from "../../runtime/kubernetes/gate";
import { LONGEST_PAGE } from "../../runtime/kubernetes/list";
import { MOST_KEPT } from "../../runtime/observe/store";
import { SMALL_ANSWER } from "../../runtime/reconcile/ask";
import { MOST_STEPS } from "../../runtime/reconcile/timeline";
import { RATE_LIMIT as EVENT_RATE } from "../../runtime/report/eventWriter";
import { MOST_WAITING as MOST_REPORTS, RATE_LIMIT as REPORT_RATE } from "../../runtime/report/outbox";
import { FEW, SHORTEST } from "../../runtime/report/runRecorder";
import { MOST_WAITING as MOST_SPANS } from "../../runtime/report/traces/exporter";
import { MOST_REMEMBERED } from "../../runtime/secrets/scrubber";
import { MOST_WAITING as MOST_OBJECTS } from "../../runtime/when/wakeups";
import { RATE_LIMIT as RUN_RATE } from "../../runtime/when/workQueue";
import { table } from "./table";

const KIBI = 1024;
const MEBI = 1024 * KIBI;
const count = (number: number) => number.toLocaleString("en");

const INTRODUCTION = `# Limits

What grows, and what bounds it. This page is generated with the constants of the engine.
`;

const END = `Reporting never delays the work. Conditions, records of runs and Kubernetes Events are written in the background. Their requests wait for the requests of reconciles, up to five seconds, but not for a request that takes longer than a second. A condition that names a run is written after the record of that run. If the record takes longer than a second, the condition is written without the name.
`;

/** What grows, what bounds it, and what happens beyond that. */
type Limit = readonly [what: string, bound: string, beyond: string];

const OF_OBJECTS: readonly Limit[] = [
  [
    "objects that wait in a runner",
    `one entry each, however often it changes; ${count(MOST_OBJECTS)} because of hints`,
    "a hint is refused, and the Sensor sends it again",
  ],
  [
    "runs of one object",
    `one at a time, of its newest state; ${RUN_RATE.burst} in a row, then ${1000 / RUN_RATE.refillMs} a second`,
    "changes during a run lead to one more run",
  ],
  [
    "objects and children kept by a runner",
    `the newest, ${MOST_KEPT / MEBI} Mi characters each; older ones packed, a tenth of the heap each`,
    "read from the API server when they are needed",
  ],
  [
    "used Secrets that are read by name, kept by a runner",
    `the newest, ${MOST_KEPT / MEBI} Mi characters`,
    "read from the API server when they are needed",
  ],
  [
    "used objects that are read for one object",
    `${MOST_GIVEN_BYTES / MEBI} MiB of JSON, eight objects at once`,
    "no more is read, and the run fails: `UsedNotReadable`",
  ],
  [
    "objects that have their answer and wait for the API server",
    `${AT_WORK_FOR_EACH_HANDLER} times \`concurrency\`; \`concurrency\` for answers larger than ${SMALL_ANSWER / KIBI} KiB, Secrets included`,
    "the next objects wait",
  ],
  [
    "objects in progress that are longer than 64 Ki characters, each with its children and used objects",
    "8 Mi characters together with 256 MiB of memory, and more with more memory; or one object",
    "the next ones wait in order. Smaller objects go first",
  ],
  ["children of one object", count(MOST_CHILDREN), "the run fails: `InvalidAnswer`"],
  [
    "an object's children in a request",
    `${MOST_GIVEN_BYTES / MEBI} MiB of JSON`,
    "of the largest only metadata is given: Warning `ChildrenTooLarge`",
  ],
  ["a handler's answer", `${LONGEST_ANSWER_BYTES / MEBI} MiB`, "the run fails: `InvalidAnswer`"],
];

const OF_PROCESSES: readonly Limit[] = [
  [
    "unanswered requests to the API server",
    `${IN_FLIGHT} in total, and ${IN_FLIGHT_OF_FLOW} for one object. The lease has its own connection`,
    "wait: children that take time to become ready, such as Deployments, are sent up to five seconds before those that are ready at once, statuses and reports",
  ],
  ["a page of a list", `${LONGEST_PAGE / MEBI} MiB, or one object`, "requested again, with fewer objects"],
  [
    "what handlers write to `/tmp`",
    "only the node's disk. `ephemeral-storage` in `resources.limits` bounds it, together with the other local files and logs of the pod",
    "the kubelet evicts the whole pod of the operator, or of the run",
  ],
  [
    "handler processes",
    "`concurrency`; fewer if the handler is quick. Trials take at most two of them",
    `objects and trials wait; a process that is idle for ${IDLE_MS / 1000} s ends`,
  ],
  [
    "values of Secrets that are remembered, to mask them",
    `those of runs in progress, and ${MOST_REMEMBERED / MEBI} Mi characters of others`,
    "the oldest are forgotten",
  ],
  [
    "memory of each container",
    "its limit",
    "Kubernetes restarts it; every part begins with the objects as they are",
  ],
];

const OF_REPORTS: readonly Limit[] = [
  [
    "the standard error in a run's outputs",
    `the last ${KEPT_LOG_BYTES / KIBI} KiB, in whole lines`,
    "earlier lines are replaced by `…`",
  ],
  [
    "Kubernetes Events that wait",
    `${count(MOST_REPORTS)}; for one object ${EVENT_RATE.burst} Normal ones and ${EVENT_RATE.burst} Warnings are written, then ${60_000 / EVENT_RATE.refillMs} of each a minute`,
    "dropped: `argosy_kubernetes_events_dropped_total`, and the log has their number by reason. Kubernetes keeps an Event for an hour",
  ],
  [
    "runs that wait to be recorded",
    `one successful and one failed run of each object, ${count(MOST_REPORTS)} in all`,
    "the oldest are dropped, successes first: `argosy_runs_dropped_total`",
  ],
  [
    "spans of traces that wait",
    `${count(MOST_SPANS)}, ${MOST_STEPS} children of each run`,
    "dropped: `argosy_spans_dropped_total`",
  ],
  [
    "statuses and records of one object",
    `${REPORT_RATE.burst} in a row, then ${1000 / REPORT_RATE.refillMs} a second`,
    "reported together: `argosy_runs_coalesced_total`",
  ],
];

const OF_THE_CLUSTER: readonly Limit[] = [
  [
    "Workflows of recorded runs",
    "`runsKeptSeconds`, `failedRunsKeptSeconds`",
    `above ${count(FEW)} within that time each is kept for less, down to ${SHORTEST.successes / 60} minute, and ${SHORTEST.failures / 60} minutes for a failed one`,
  ],
  [
    "Workflows of [runs in pods](../pods.md) at once",
    "`concurrency`; their pods fewer with [`quotas`](../customize.md#heavy-work-at-peaks)",
    "objects wait in order, without a Workflow. Runs that people submit wait in Argo's order, without a pod",
  ],
  ["Workflows that run or wait at once", "500", "wait in order, before their deadlines begin"],
  [
    "Workflows of runs in pods",
    "`runsKeptSeconds`, `failedRunsKeptSeconds`; the newest three failed runs of each object",
    "the runner deletes the failed runs before these, except those that wait for the [archive](../tasks/monitoring.md#the-archive-of-runs). Their pods are deleted a minute after a success, otherwise with the Workflow",
  ],
  [
    "events on the bus",
    "a day, 100,000, half of a volume (256 MiB without one)",
    "the oldest are removed; a resync finds the changes that they reported",
  ],
  [
    "ConfigMaps of an operator",
    "those that its last roll-out uses",
    "Pulumi deletes the others after the roll-out",
  ],
  ["ReplicaSets of a runner", "2 old ones", ""],
];

/** docs/reference/limits.md: what grows, and what bounds it. */
export function limitsPage(): string {
  const sections = Object.entries({
    Objects: OF_OBJECTS,
    Processes: OF_PROCESSES,
    Reports: OF_REPORTS,
    "In the cluster": OF_THE_CLUSTER,
  }).map(([title, rows]) => `## ${title}\n\n${table(["what", "bound", "beyond it"], rows)}`);
  return [INTRODUCTION, ...sections, END].join("\n");
}
