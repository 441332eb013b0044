import { setTimeout as sleep } from "node:timers/promises";
import { type Part, partOf } from "./form";
import type { Objects } from "./objects";
import { POD } from "./readiness";

/** The working set of one pod. */
export interface PodMemory {
  readonly namespace: string;
  readonly pod: string;
  readonly part: Part;
  /** Of the pod's cgroup: its containers, and what they share. */
  readonly workingSetMiB: number;
  /** Of each container. */
  readonly containers: Readonly<Record<string, number>>;
}

/** What the kubelet tells of its pods, as far as it is read here (kubernetes, staging/src/k8s.io/kubelet/pkg/apis/stats/v1alpha1). */
export interface StatsSummary {
  readonly pods?: readonly PodStats[];
}
interface PodStats {
  readonly podRef: { readonly name: string; readonly namespace: string };
  readonly memory?: MemoryStats;
  readonly containers?: readonly { readonly name: string; readonly memory?: MemoryStats }[];
}
interface MemoryStats {
  readonly time?: string;
  readonly workingSetBytes?: number;
}

const MEBIBYTE = 2 ** 20;
const POLL_MS = 1_000;
/** The kubelet looks at a container every ten to twenty seconds (cadvisor, `housekeeping_interval`). */
const FRESH_TIMEOUT_MS = 60_000;

/** The working sets of all pods in some namespaces, each measured after this call. Pods that have ended have none. */
export async function measurePods(
  objects: Objects,
  namespaces: readonly string[],
  signal: AbortSignal,
): Promise<PodMemory[]> {
  const running = await runningPods(objects, namespaces);
  const first = await readStats(objects, namespaces);
  const deadline = Date.now() + FRESH_TIMEOUT_MS;
  for (;;) {
    const now = await readStats(objects, namespaces);
    if (isFresh(first, now, [...running.keys()]) || Date.now() > deadline) {
      return now.map((stats) => podMemoryOf(stats, running.get(keyOf(stats)) ?? {}));
    }
    await sleep(POLL_MS, undefined, { signal });
  }
}

/** Whether all of these pods were measured since the earlier look; those that have ended meanwhile will never be. */
export function isFresh(
  earlier: readonly PodStats[],
  later: readonly PodStats[],
  pods: readonly string[],
): boolean {
  const before = new Map(earlier.map((stats) => [keyOf(stats), newestOf(stats)]));
  // What has just begun has nothing at first.
  const measured = later.filter((stats) => podMemoryOf(stats, {}).workingSetMiB > 0);
  const now = new Map(measured.map((stats) => [keyOf(stats), newestOf(stats)]));
  return pods.every((pod) => now.has(pod) && now.get(pod) !== before.get(pod));
}

/** A pod's memory out of the kubelet's answer. */
export function podMemoryOf(stats: PodStats, labels: Readonly<Record<string, string>>): PodMemory {
  const containers = (stats.containers ?? []).map(
    ({ name, memory }) => [name, mebibytes(memory?.workingSetBytes)] as const,
  );
  const sum = containers.reduce((total, [, each]) => total + each, 0);
  const { workingSetBytes } = stats.memory ?? {};
  return {
    namespace: stats.podRef.namespace,
    pod: stats.podRef.name,
    part: partOf(labels),
    workingSetMiB: workingSetBytes === undefined ? sum : mebibytes(workingSetBytes),
    containers: Object.fromEntries(containers),
  };
}

/** The sum over pods, of one part or of all. */
export function sumMiB(pods: readonly PodMemory[], part?: Part): number {
  const counted = part === undefined ? pods : pods.filter((pod) => pod.part === part);
  return counted.reduce((sum, { workingSetMiB }) => sum + workingSetMiB, 0);
}

async function readStats(objects: Objects, namespaces: readonly string[]): Promise<PodStats[]> {
  const nodes = await objects.list({ apiVersion: "v1", kind: "Node" });
  const summaries = await Promise.all(
    nodes.map(({ metadata: { name } }) =>
      objects.read<StatsSummary>(`/api/v1/nodes/${encodeURIComponent(name)}/proxy/stats/summary`),
    ),
  );
  return summaries
    .flatMap(({ pods = [] }) => pods)
    .filter(({ podRef }) => namespaces.includes(podRef.namespace));
}

/** The labels of the pods that run, by "namespace/name". */
async function runningPods(
  objects: Objects,
  namespaces: readonly string[],
): Promise<Map<string, Record<string, string>>> {
  const pods = await Promise.all(namespaces.map((namespace) => objects.list(POD, namespace)));
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

function mebibytes(bytes = 0): number {
  return bytes / MEBIBYTE;
}
