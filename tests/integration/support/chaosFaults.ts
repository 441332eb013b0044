import { setTimeout as pause } from "node:timers/promises";
import { renewGarbageCollector } from "../../../cli/cluster/garbageCollector";
import { type Component, processIdOf, readComponents } from "../../../cli/controlPlane/component";
import { compactEtcd } from "../../../tools/chaos/etcd";
import type { Fault, FaultEnd } from "../../../tools/chaos/fault";
import { leadingPod } from "../../../tools/chaos/leader";
import type { Model } from "../../../tools/chaos/model";
import { persist } from "../../../tools/chaos/persist";
import { killApiServer, startApiServer } from "./apiServer";
import type { ChaosPod } from "./chaosPod";
import type { OwnCluster } from "./cluster";
import type { ResidentOperator } from "./residentOperator";

/** Whom faults happen to. */
export interface Victims {
  readonly cluster: OwnCluster;
  readonly operator: ResidentOperator;
  readonly pods: readonly ChaosPod[];
  readonly model: Model;
}

/** How often a network that breaks does. */
const CUTS_MS = 150;
/** How long the runners may need to agree on a leader while something else goes wrong. */
const PATIENCE_MS = 60_000;

/** Every fault that needs no kubelet. */
export function faultsOf(victims: Victims): Fault[] {
  const { cluster, pods, model } = victims;
  const { controlPlane } = cluster;
  const back = async () => {
    await startApiServer(controlPlane);
    // By itself it may take minutes to notice, and no other controller deletes the children.
    await renewGarbageCollector(cluster);
  };
  const leader = async () => {
    const name = await leaderOf(victims);
    return one(pods.filter(({ pod }) => pod.name === name));
  };
  const standby = async () => {
    const name = await leaderOf(victims);
    return one(pods.filter(({ pod }) => pod.name !== name));
  };
  const onPod = (choose: () => Promise<ChaosPod>, harm: (pod: ChaosPod) => Promise<FaultEnd>) => async () =>
    harm(await choose());
  return [
    { kind: "leader: killed", begin: onPod(leader, killed) },
    { kind: "standby: killed", begin: onPod(standby, killed) },
    { kind: "leader: frozen", begin: onPod(leader, frozen) },
    { kind: "leader: its handlers killed", begin: onPod(leader, withoutHandlers) },
    { kind: "leader to API server: cut again and again", begin: onPod(leader, cutting) },
    { kind: "leader to API server: silent", begin: onPod(leader, silent) },
    { kind: "leader to API server: answers lost", begin: onPod(leader, losing) },
    {
      kind: "API server: killed",
      begin: async () => {
        await killApiServer(controlPlane);
        return back;
      },
    },
    {
      kind: "API server: frozen",
      begin: async () => {
        const id = await processIdOf(controlPlane.directory, await component(cluster, "kube-apiserver"));
        if (!id) throw new Error("it does not run");
        process.kill(id, "SIGSTOP");
        return async () => {
          process.kill(id, "SIGCONT");
          await renewGarbageCollector(cluster);
        };
      },
    },
    {
      kind: "watches: expired by compaction",
      begin: async () => {
        for (const { network } of pods) network.hold();
        return async () => {
          // Only one that has just started asks etcd for what it does not remember itself.
          await killApiServer(controlPlane);
          await compactEtcd(await etcdUrl(cluster));
          await back();
          for (const { network } of pods) network.release();
        };
      },
    },
    {
      kind: "handler: changed",
      begin: async () => {
        const version = model.version + 1;
        for (const pod of pods) await pod.renew(version);
        model.version = version;
        return undefined;
      },
    },
  ];
}

async function killed(pod: ChaosPod): Promise<FaultEnd> {
  await pod.kill();
  return async () => pod.revive();
}

async function frozen({ pod }: ChaosPod): Promise<FaultEnd> {
  pod.signal("SIGSTOP");
  return async () => pod.signal("SIGCONT");
}

async function withoutHandlers(pod: ChaosPod): Promise<FaultEnd> {
  await pod.pod.container.kill();
  return () => pod.restartHandler();
}

async function cutting({ network }: ChaosPod): Promise<FaultEnd> {
  let going = true;
  const cuts = (async () => {
    while (going) {
      network.cut();
      await pause(CUTS_MS);
    }
  })();
  return async () => {
    going = false;
    await cuts;
  };
}

async function silent({ network }: ChaosPod): Promise<FaultEnd> {
  network.hold();
  return async () => network.release();
}

async function losing({ network }: ChaosPod): Promise<FaultEnd> {
  network.loseAnswers();
  return async () => network.release();
}

function leaderOf({ cluster, operator: { namespace, operator } }: Victims): Promise<string> {
  const find = () => leadingPod(cluster.api.client, { namespace, operator });
  return persist(find, { patienceMs: PATIENCE_MS });
}

async function component({ controlPlane }: OwnCluster, name: string): Promise<Component> {
  return one((await readComponents(controlPlane.directory)).filter((each) => each.name === name));
}

async function etcdUrl(cluster: OwnCluster): Promise<string> {
  const { args } = await component(cluster, "etcd");
  const [, url] = /--listen-client-urls=(\S+?)(?:,|\s|$)/.exec(args.join(" ")) ?? [];
  if (!url) throw new Error(`etcd listens nowhere: ${args.join(" ")}`);
  return url.replace("0.0.0.0", "127.0.0.1");
}

/** The first one. @throws Error where there is none */
function one<Item>([first]: readonly Item[]): Item {
  if (first === undefined) throw new Error("it does not exist");
  return first;
}
