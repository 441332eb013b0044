import { join } from "node:path";
import type { ProgramPaths } from "./programs";

/** The TCP ports of a control plane, all on 127.0.0.1. */
export interface Ports {
  readonly apiServer: number;
  readonly etcd: number;
  readonly etcdPeer: number;
  readonly controllerManager: number;
  readonly scheduler: number;
  readonly kwok: number;
}

/** Gives names to a list of six ports. */
export function portsFrom(numbers: readonly number[]): Ports {
  const [apiServer, etcd, etcdPeer, controllerManager, scheduler, kwok] = numbers;
  return { apiServer, etcd, etcdPeer, controllerManager, scheduler, kwok } as Ports;
}

/** Name of the cluster. One is enough: every control plane has a working directory of its own. */
export const clusterName = "argosy";

/** Folder in which kwokctl keeps the cluster: configuration, certificates, logs, process ids, etcd's data. */
export function clusterDirectory(directory: string): string {
  return join(directory, "clusters", clusterName);
}

/**
 * The configuration for kwokctl. Leader election is off: when a test leaves the API server down for longer than a lease, a
 * component would lose its lease and exit, and nothing would start it again.
 *
 * @param data the folder of etcd's data.
 * @default one that is removed with the cluster
 */
export function kwokctlConfiguration(programs: ProgramPaths, ports: Ports, data?: string): object {
  return {
    apiVersion: "config.kwok.x-k8s.io/v1alpha1",
    kind: "KwokctlConfiguration",
    options: {
      runtime: "binary",
      bindAddress: "127.0.0.1",
      kubeApiserverPort: ports.apiServer,
      etcdPort: ports.etcd,
      etcdPeerPort: ports.etcdPeer,
      kubeControllerManagerPort: ports.controllerManager,
      kubeSchedulerPort: ports.scheduler,
      kwokControllerPort: ports.kwok,
      kubectlBinary: programs.kubectl,
      etcdBinary: programs.etcd,
      kubeApiserverBinary: programs["kube-apiserver"],
      kubeControllerManagerBinary: programs["kube-controller-manager"],
      kubeSchedulerBinary: programs["kube-scheduler"],
      kwokControllerBinary: programs.kwok,
      disableQPSLimits: true,
    },
    componentsPatches: [
      // A control plane lives only as long as one command, so it does not matter if a power failure loses its data, unless they
      // should be kept.
      patch("etcd", data === undefined ? { "unsafe-no-fsync": "true" } : { "data-dir": data }),
      // This works without any network except the loopback. Nothing reads the endpoints of the service "kubernetes".
      patch("kube-apiserver", { "advertise-address": "127.0.0.1", "endpoint-reconciler-type": "none" }),
      patch("kube-controller-manager", { "leader-elect": "false" }),
      patch("kube-scheduler", { "leader-elect": "false" }),
      patch("kwok-controller", {}),
    ],
  };
}

/**
 * The programs look for unused memory when they have taken twice as much new memory as they use, and not as much. That saves a fifth
 * of their work, and costs some 50 MB.
 */
const GO_SETTINGS = [{ name: "GOGC", value: "200" }];

function patch(name: string, settings: Readonly<Record<string, string>>): object {
  return {
    name,
    extraArgs: Object.entries(settings).map(([key, value]) => ({ key, value })),
    extraEnvs: GO_SETTINGS,
  };
}
