// Every size.
import { amountOf } from "../../definition/quantity";
import type { Resources } from "./kinds";

/**
 * The requests and limits of each container, if the program does not change them. CPU is not limited, because a limit would
 * slow down bursts and protect no other pod.
 */
export const RESOURCES = {
  argoEventsController: { requests: { cpu: "20m", memory: "96Mi" }, limits: { memory: "256Mi" } },
  workflowController: { requests: { cpu: "50m", memory: "128Mi" }, limits: { memory: "1Gi" } },
  argoServer: { requests: { cpu: "20m", memory: "64Mi" }, limits: { memory: "512Mi" } },
  /** Argo's own containers, init and wait, in the pods of runs. */
  argoExecutor: { requests: { cpu: "10m", memory: "64Mi" }, limits: { memory: "256Mi" } },
  eventBus: { requests: { cpu: "50m", memory: "64Mi" }, limits: { memory: "512Mi" } },
  eventBusReloader: { requests: { cpu: "5m", memory: "16Mi" }, limits: { memory: "64Mi" } },
  eventBusMetrics: { requests: { cpu: "5m", memory: "16Mi" }, limits: { memory: "64Mi" } },
  /** It keeps every watched object in memory as a whole. */
  eventSource: { requests: { cpu: "20m", memory: "96Mi" }, limits: { memory: "1Gi" } },
  sensor: { requests: { cpu: "20m", memory: "96Mi" }, limits: { memory: "512Mi" } },
  keeper: { requests: { cpu: "10m", memory: "48Mi" }, limits: { memory: "128Mi" } },
  intake: { requests: { cpu: "20m", memory: "64Mi" }, limits: { memory: "256Mi" } },
  runner: { requests: { cpu: "50m", memory: "64Mi" }, limits: { memory: "256Mi" } },
  /** The engine in the pod of a run. */
  run: { requests: { cpu: "50m", memory: "64Mi" }, limits: { memory: "256Mi" } },
  /** The container that puts a shell for the handler into a runner's pod. */
  handlerShell: { requests: { cpu: "10m", memory: "8Mi" }, limits: { memory: "32Mi" } },
  /** The same in a run's pod. It contains Argo's executor, with 17 MiB, and the handler waits for this container. */
  runHandlerShell: { requests: { cpu: "50m", memory: "24Mi" }, limits: { memory: "64Mi" } },
} as const satisfies Record<string, Resources>;

/** A container whose resources a program may choose. The author of a handler chooses the handler's resources. */
export type ContainerName = keyof typeof RESOURCES;

/** The requests and limits of containers. */
export interface ResourceOptions {
  /**
   * Requests and limits, by container. Each figure replaces the one in {@link RESOURCES}; all others stay.
   * @default {@link RESOURCES}
   */
  readonly resources?: Readonly<Partial<Record<ContainerName, Pick<Resources, "requests" | "limits">>>>;
}

/** The resources of a container. */
export function resourcesOf(name: ContainerName, { resources = {} }: ResourceOptions) {
  const { requests, limits }: Resources = RESOURCES[name];
  const given = resources[name];
  return {
    requests: { ...requests, ...given?.requests },
    limits: { ...limits, ...given?.limits },
  } satisfies Resources;
}

const MEBIBYTE = 2 ** 20;
/** The least memory that Node needs in addition to its heap. */
const BESIDE_HEAP = 80 * MEBIBYTE;
const SMALLEST_HEAP = 48 * MEBIBYTE;

/** Containers that run the engine. */
const ENGINES: readonly ContainerName[] = ["runner", "run", "keeper", "intake"];

/** The option of Node that keeps its heap within the limit of a container. */
export function heapOption(name: ContainerName, options: ResourceOptions): string {
  return `--max-old-space-size=${Math.floor(heapOf(name, options) / MEBIBYTE)}`;
}

/** The heap is smaller than the container's limit, because Node needs more memory than its heap. */
function heapOf(name: ContainerName, options: ResourceOptions): number {
  const limit = bytesOf(resourcesOf(name, options).limits["memory"] ?? "");
  return limit - Math.max(BESIDE_HEAP, (limit * 3) / 8);
}

/** The problems of a container's resources, each as a field and a complaint. Empty if there is no problem. */
export function resourceProblems(
  name: ContainerName,
  options: ResourceOptions,
): [field: string, complaint: string][] {
  const problems: [string, string][] = [];
  const { requests, limits } = resourcesOf(name, options);
  for (const [field, figures] of Object.entries({ requests, limits })) {
    for (const [resource, figure] of Object.entries(figures)) {
      if (amountOf(figure) === undefined)
        problems.push([`${field}.${resource}`, `is "${figure}", which is not a quantity`]);
    }
  }
  if (problems.length > 0) return problems;
  for (const [resource, limit] of Object.entries(limits)) {
    const request = requests[resource];
    if (request === undefined || (amountOf(request) ?? 0) <= (amountOf(limit) ?? 0)) continue;
    problems.push([`requests.${resource}`, `is ${request}, and the limit is ${limit}`]);
  }
  if (ENGINES.includes(name) && heapOf(name, options) < SMALLEST_HEAP) {
    problems.push(["limits.memory", `is ${limits["memory"]}, and the engine needs 128Mi`]);
  }
  return problems;
}

/**
 * The bytes that a Kubernetes quantity such as "2Gi" or "1.5G" means, rounded down.
 *
 * @throws RangeError if the text is no quantity, or if it is too large for a number
 */
export function bytesOf(quantity: string): number {
  const bytes = quantity.endsWith("m") ? Number.NaN : Math.floor(amountOf(quantity) ?? Number.NaN);
  if (Number.isSafeInteger(bytes)) return bytes;
  throw new RangeError(`"${quantity}" is not a size. Give a quantity, for example "2Gi".`);
}
