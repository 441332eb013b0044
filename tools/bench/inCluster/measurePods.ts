import { setTimeout as sleep } from "node:timers/promises";
import type { Objects } from "../../objects";
import { CONTROLLER_NAMESPACE, OPERATOR_NAMESPACE } from "./form";
import { type Labels, type PodMemory, type PodStats, podMemoryOf } from "./podMemory";
import { POD } from "./readiness";

interface StatsSummary {
  readonly pods?: readonly PodStats[];
}

const NAMESPACES = [OPERATOR_NAMESPACE, CONTROLLER_NAMESPACE];
const POLL_MS = 1_000;
/** The kubelet measures a container every ten to twenty seconds (cadvisor, `housekeeping_interval`). */
const FRESH_TIMEOUT_MS = 60_000;

/** The working sets of all pods of a form, as the kubelet last measured each. */
export async function readPodMemory(objects: Objects): Promise<PodMemory[]> {
  const running = await runningPods(objects);
  return describe(await readStats(objects), running);
}

/** The working sets of all pods of a form, each measured after this call. Pods that have ended have none. */
export async function measurePods(objects: Objects, signal: AbortSignal): Promise<PodMemory[]> {
  const running = await runningPods(objects);
  const first = await readStats(objects);
  const deadline = Date.now() + FRESH_TIMEOUT_MS;
  for (;;) {
    const now = await readStats(objects);
    if (isFresh(first, now, [...running.keys()]) || Date.now() > deadline) return describe(now, running);
    await sleep(POLL_MS, undefined, { signal });
  }
}

/** Whether all of these pods were measured since the earlier reading. Pods that have ended since then do not count. */
export function isFresh(
  earlier: readonly PodStats[],
  later: readonly PodStats[],
  pods: readonly string[],
): boolean {
  const before = new Map(earlier.map((stats) => [keyOf(stats), newestOf(stats)]));
  // A container that has just started has no figures at first.
  const measured = later.filter((stats) => podMemoryOf(stats, {}).workingSetMiB > 0);
  const now = new Map(measured.map((stats) => [keyOf(stats), newestOf(stats)]));
  return pods.every((pod) => now.has(pod) && now.get(pod) !== before.get(pod));
}

function describe(stats: readonly PodStats[], running: ReadonlyMap<string, Labels>): PodMemory[] {
  return stats.map((each) => podMemoryOf(each, running.get(keyOf(each)) ?? {}));
}

async function readStats(objects: Objects): Promise<PodStats[]> {
  const nodes = await objects.list({ apiVersion: "v1", kind: "Node" });
  const summaries = await Promise.all(
    nodes.map(({ metadata: { name } }) =>
      objects.client.read<StatsSummary>(`/api/v1/nodes/${encodeURIComponent(name)}/proxy/stats/summary`),
    ),
  );
  return summaries
    .flatMap(({ pods = [] }) => pods)
    .filter(({ podRef }) => NAMESPACES.includes(podRef.namespace));
}

/** The labels of the pods that run, by "namespace/name". */
async function runningPods(objects: Objects): Promise<Map<string, Labels>> {
  const pods = await Promise.all(NAMESPACES.map((namespace) => objects.list(POD, namespace)));
  const running = pods.flat().filter(({ status }) => (status as { phase?: string }).phase === "Running");
  return new Map(
    running.map(({ metadata: { name, namespace, labels = {} } }) => [`${namespace}/${name}`, labels]),
  );
}

function keyOf({ podRef }: PodStats): string {
  return `${podRef.namespace}/${podRef.name}`;
}

function newestOf({ memory, containers = [] }: PodStats): string {
  return [memory, ...containers.map((container) => container.memory)].map((each) => each?.time ?? "").join();
}
