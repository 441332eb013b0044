import type { Fault, FaultEnd } from "../fault";
import { persist } from "../persist";
import type { Administrator, Workload } from "./administrator";
import { type Parts, type Pods, together } from "./parts";
import type { Execution } from "./program";

/** How long the end of a fault is retried, because another fault may keep the API server from answering. */
const PATIENCE_MS = 120_000;

/** The faults of pods that are possible on every cluster: they are killed, or there are none for a while. */
export function podFaults(administrator: Administrator, parts: Parts, execution: Execution): Fault[] {
  const controllers = together(parts.argoEventsController, parts.workflowController);
  const shared: Readonly<Record<string, Pods>> = {
    "event source": parts.eventSource,
    sensor: parts.sensor,
    "event bus, storage lost": parts.eventBus,
    "events controller": parts.argoEventsController,
    "workflow controller": parts.workflowController,
    "both controllers": controllers,
  };
  const own: Readonly<Record<string, Pods>> = {
    leader: parts.leader,
    standby: parts.standby,
    "both runners": parts.runners,
    keeper: parts.keeper,
    "event bus and both runners": together(parts.eventBus, parts.runners),
    ...(execution === "pod" && { "pods of runs": parts.runs }),
  };
  const scaled: Readonly<Record<string, Pods>> = {
    "event source": parts.eventSource,
    sensor: parts.sensor,
    "event bus, storage lost": parts.eventBus,
    "both controllers": controllers,
    "both runners": parts.runners,
  };
  return [
    ...Object.entries({ ...shared, ...own }).map(([name, pods]) => killed(administrator, name, pods)),
    ...Object.entries(scaled).map(([name, pods]) => away(administrator, name, pods)),
    restarted(administrator, parts.runners),
  ];
}

function killed(administrator: Administrator, name: string, pods: Pods): Fault {
  return {
    kind: `${name}: killed`,
    begin: async () => {
      await Promise.all((await pods()).map((pod) => administrator.kill(pod)));
      return undefined;
    },
  };
}

/** There are no pods for a while: they are scaled down, killed, and scaled up again. */
function away(administrator: Administrator, name: string, pods: Pods): Fault {
  return {
    kind: `${name}: away`,
    begin: async () => {
      const there = await pods();
      const workloads = await workloadsOf(administrator, there);
      for (const workload of workloads) await administrator.scale(workload, 0);
      await Promise.all(there.map((pod) => administrator.kill(pod)));
      return scaledBack(administrator, workloads);
    },
  };
}

function scaledBack(administrator: Administrator, workloads: readonly Workload[]): FaultEnd {
  const patience = { patienceMs: PATIENCE_MS };
  return async () => {
    for (const workload of workloads) {
      // If another fault has scaled it down as well, the number that was read is 0.
      await persist(() => administrator.scale(workload, Math.max(1, workload.replicas)), patience);
    }
  };
}

function restarted(administrator: Administrator, pods: Pods): Fault {
  return {
    kind: "runners: rolled out again",
    begin: async () => {
      const workloads = await workloadsOf(administrator, await pods());
      for (const workload of workloads) await administrator.restart(workload);
      return undefined;
    },
  };
}

async function workloadsOf(
  administrator: Administrator,
  pods: Awaited<ReturnType<Pods>>,
): Promise<readonly Workload[]> {
  const found = new Map<string, Workload>();
  for (const pod of pods) {
    const workload = await administrator.workloadOf(pod);
    found.set(`${workload.kind}/${workload.metadata.name}`, workload);
  }
  return [...found.values()];
}
