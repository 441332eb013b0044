import { setTimeout as sleep } from "node:timers/promises";
import { CONTROLLER_NAMESPACE, OPERATOR_NAMESPACE, type Part, partOf } from "./form";
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

type Labels = Readonly<Record<string, string>>;

const NAMESPACES = [OPERATOR_NAMESPACE, CONTROLLER_NAMESPACE];
const MEBIBYTE = 2 ** 20;
const POLL_MS = 1_000;
/** The kubelet looks at a container every ten to twenty seconds (cadvisor, `housekeeping_interval`). */
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
export function podMemoryOf(stats: PodStats, labels: Labels): PodMemory {
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

function describe(stats: readonly PodStats[], running: ReadonlyMap<string, Labels>): PodMemory[] {
  return stats.map((each) => podMemoryOf(each, running.get(keyOf(each)) ?? {}));
}

/** The part and the pod's name without what Kubernetes adds to it: "operator: memcached-runner". */
export function titleOf({ pod, part }: PodMemory): string {
  const name = pod.replace(/-[a-z0-9]{8,10}-[a-z0-9]{5}$/, "").replace(/-[a-z0-9]{5}$/, "");
  return `${part}: ${name}`;
}

async function readStats(objects: Objects): Promise<PodStats[]> {
  const nodes = await objects.list({ apiVersion: "v1", kind: "Node" });
  const summaries = await Promise.all(
    nodes.map(({ metadata: { name } }) =>
      objects.read<StatsSummary>(`/api/v1/nodes/${encodeURIComponent(name)}/proxy/stats/summary`),
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

function mebibytes(bytes = 0): number {
  return bytes / MEBIBYTE;
}
