import { setTimeout as pause } from "node:timers/promises";
import { compactEtcd } from "../etcd";
import type { Fault, FaultEnd } from "../fault";
import { type Parts, type Pods, soon, together } from "./parts";
import {
  type ControlPlane,
  controlPlaneProcess,
  killControlPlane,
  type NodeProcess,
  podProcesses,
  signal,
} from "./processes";

/** The faults that are possible if this machine is the cluster's only node and its control plane. */
export const NODE_FAULTS = [
  "leader: frozen for longer than its lease",
  "standby: frozen",
  "event source: frozen",
  "sensor: frozen",
  "event bus: frozen",
  "workflow controller: frozen",
  "leader: its program killed",
  "event bus: its program killed",
  "API server: killed",
  "API server: frozen",
  "etcd: killed",
  "etcd: frozen",
  "watches: expired by compaction",
] as const;

/** Longer than a runner's lease holds (runtime/programs/pod.ts). */
const LONGER_THAN_A_LEASE_MS = 17_000;

/** The possible faults. */
export function nodeFaults(parts: Parts, { apiServer, etcd }: ControlPlane): Fault[] {
  return [
    {
      kind: "leader: frozen for longer than its lease",
      begin: async () => {
        const end = await freeze(parts.leader);
        await pause(LONGER_THAN_A_LEASE_MS);
        return end;
      },
    },
    { kind: "standby: frozen", begin: () => freeze(parts.standby) },
    { kind: "leader: its program killed", begin: () => killProgram(parts.leader, "node") },
    { kind: "event source: frozen", begin: () => freeze(parts.eventSource) },
    { kind: "sensor: frozen", begin: () => freeze(parts.sensor) },
    { kind: "event bus: frozen", begin: () => freeze(parts.eventBus) },
    { kind: "workflow controller: frozen", begin: () => freeze(parts.workflowController) },
    { kind: "event bus: its program killed", begin: () => killProgram(parts.eventBus, "nats-server") },
    { kind: "API server: killed", begin: () => killControlPlane(apiServer) },
    { kind: "API server: frozen", begin: async () => frozen([controlPlaneProcess(apiServer)]) },
    { kind: "etcd: killed", begin: () => killControlPlane(etcd) },
    { kind: "etcd: frozen", begin: async () => frozen([controlPlaneProcess(etcd)]) },
    {
      kind: "watches: expired by compaction",
      begin: () => expireWatches(together(parts.runners, parts.eventSource), { apiServer, etcd }),
    },
  ];
}

async function freeze(pods: Pods): Promise<FaultEnd> {
  return frozen(await processesOf(pods));
}

function frozen(processes: readonly NodeProcess[]): FaultEnd {
  for (const each of processes) signal(each, "SIGSTOP");
  return async () => {
    for (const each of processes) signal(each, "SIGCONT");
  };
}

/** The program is killed. Its pod stays, with the pod's files. */
async function killProgram(pods: Pods, program: string): Promise<undefined> {
  const found = (await processesOf(pods)).filter(({ args: [name = ""] }) => name.endsWith(program));
  if (found.length === 0) throw new Error(`no ${program} is running in it`);
  for (const each of found) signal(each, "SIGKILL");
  return undefined;
}

/** While the process that watches is frozen, the API server restarts, and etcd forgets all but the newest state. */
async function expireWatches(pods: Pods, { apiServer, etcd }: ControlPlane): Promise<FaultEnd> {
  const thaw = await freeze(pods);
  return async () => {
    const start = await killControlPlane(apiServer);
    // The API server has restarted, so it cannot answer a watch from its memory.
    await compactEtcd(etcd.value);
    await start();
    await thaw();
  };
}

function processesOf(pods: Pods): Promise<NodeProcess[]> {
  return soon(async () => (await pods()).flatMap((pod) => [...podProcesses(pod)]))();
}
