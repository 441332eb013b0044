import { type Part, partOf } from "./form";

/** The working set of one pod. */
export interface PodMemory {
  readonly namespace: string;
  readonly pod: string;
  readonly part: Part;
  /** The working set of the pod's cgroup: its containers, and the memory that they share. */
  readonly workingSetMiB: number;
  /** The working set of each container. */
  readonly containers: Readonly<Record<string, number>>;
}

/**
 * The fields of the kubelet's report about a pod that are used here (kubernetes,
 * staging/src/k8s.io/kubelet/pkg/apis/stats/v1alpha1).
 */
export interface PodStats {
  readonly podRef: { readonly name: string; readonly namespace: string };
  readonly memory?: MemoryStats;
  readonly containers?: readonly { readonly name: string; readonly memory?: MemoryStats }[];
}
interface MemoryStats {
  readonly time?: string;
  readonly workingSetBytes?: number;
}

/** Labels of a pod. */
export type Labels = Readonly<Record<string, string>>;

const MEBIBYTE = 2 ** 20;

/** A pod's memory from the kubelet's answer. */
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

/** The part and the pod's name without Kubernetes' suffixes: "operator: memcached-runner". */
export function titleOf({ pod, part }: PodMemory): string {
  const name = pod.replace(/-[a-z0-9]{8,10}-[a-z0-9]{5}$/, "").replace(/-[a-z0-9]{5}$/, "");
  return `${part}: ${name}`;
}

function mebibytes(bytes = 0): number {
  return bytes / MEBIBYTE;
}
