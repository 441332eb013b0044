import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { KubernetesObject } from "../../../runtime/base/objects";
import { builtIn } from "../../../runtime/kubernetes/discovery";
import type { Fault, FaultEnd } from "../fault";
import { persist } from "../persist";
import { type Administrator, RESOURCES } from "./administrator";
import type { Parts, Pods } from "./parts";
import { podProcesses } from "./processes";

/** Cuts the network between a pod and some addresses. */
export type Cut = (pod: KubernetesObject, addresses: readonly string[]) => Promise<FaultEnd>;

const run = promisify(execFile);
const PATIENCE_MS = 120_000;
const CUT_LABEL = "argosy-chaos-cut";
const ENDPOINT_SLICE = builtIn("discovery.k8s.io/v1", "EndpointSlice");

/** The network between two parts is cut. The part that opens the connection is named first. */
export function networkFaults(administrator: Administrator, parts: Parts, cut: Cut): Fault[] {
  const between = (name: string, from: Pods, to: () => Promise<readonly string[]>): Fault => ({
    kind: `network cut: ${name}`,
    begin: async () => {
      const addresses = await to();
      const ends: FaultEnd[] = [];
      for (const pod of await from()) ends.push(await cut(pod, addresses));
      return async () => {
        for (const end of ends) await end();
      };
    },
  });
  const apiServer = () => apiServerAddresses(administrator);
  const of = (pods: Pods) => async () => (await pods()).map(addressOf);
  return [
    between("event source to event bus", parts.eventSource, of(parts.eventBus)),
    between("sensor to event bus", parts.sensor, of(parts.eventBus)),
    between("event source to API server", parts.eventSource, apiServer),
    between("workflow controller to API server", parts.workflowController, apiServer),
    between("sensor to leader", parts.sensor, of(parts.leader)),
    between("leader to API server", parts.leader, apiServer),
    between("standby to API server", parts.standby, apiServer),
    between("standby to leader", parts.standby, of(parts.leader)),
  ];
}

/** Cuts by packet filters in the network namespace of a pod on this machine, as root. Open connections are cut as well. */
export const cutOnNode: Cut = async (pod, addresses) => {
  const [process] = podProcesses(pod);
  const filter = async (action: "-I" | "-D") => {
    for (const address of addresses) {
      for (const rule of [
        ["INPUT", "-s", address],
        ["OUTPUT", "-d", address],
      ]) {
        const inside = ["-t", String(process?.id), "-n", "iptables", "-w", action, ...rule, "-j", "DROP"];
        await run("nsenter", inside);
      }
    }
  };
  await filter("-I");
  // If the pod was deleted during the fault, its network no longer exists.
  return () => filter("-D").catch(() => {});
};

/** Cuts new connections of a pod to addresses by a NetworkPolicy, if the cluster's network enforces it. */
export function cutByPolicy(administrator: Administrator): Cut {
  const patience = { patienceMs: PATIENCE_MS };
  return async (pod, addresses) => {
    const { name, namespace = "", uid } = pod.metadata;
    const { client } = administrator;
    const own = { [CUT_LABEL]: uid };
    await client.mergePatch(RESOURCES.pod, { name, namespace }, { metadata: { labels: own } });
    const policy = { name: `argosy-chaos-${uid}`, namespace };
    const ipBlock = { cidr: "0.0.0.0/0", except: addresses.map((address) => `${address}/32`) };
    await administrator.apply({
      apiVersion: RESOURCES.networkPolicy.apiVersion,
      kind: RESOURCES.networkPolicy.kind,
      metadata: policy,
      spec: { podSelector: { matchLabels: own }, policyTypes: ["Egress"], egress: [{ to: [{ ipBlock }] }] },
    });
    return async () => {
      await persist(() => client.delete(RESOURCES.networkPolicy, policy), patience);
    };
  };
}

/** The addresses of the API server for pods. */
async function apiServerAddresses({ client }: Administrator): Promise<readonly string[]> {
  const name = { namespace: "default", name: "kubernetes" };
  const service = await client.get(RESOURCES.service, name);
  const slice = await client.get(ENDPOINT_SLICE, name);
  const { clusterIP } = (service?.["spec"] ?? {}) as { clusterIP?: string };
  const endpoints = (slice?.["endpoints"] ?? []) as readonly { readonly addresses: readonly string[] }[];
  const found = [...(clusterIP ? [clusterIP] : []), ...endpoints.flatMap(({ addresses }) => addresses)];
  if (found.length === 0) throw new Error("the API server's address is not known");
  return found;
}

function addressOf({ metadata, ...pod }: KubernetesObject): string {
  const { podIP } = (pod["status"] ?? {}) as { podIP?: string };
  if (!podIP) throw new Error(`pod ${metadata.name} has no address`);
  return podIP;
}
