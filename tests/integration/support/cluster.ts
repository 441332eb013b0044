import { type ControlPlane, startControlPlane } from "../../../cli/controlPlane";
import { renewGarbageCollector } from "../../../cli/garbageCollector";
import { FIELD_MANAGER } from "../../../cli/installOperator";
import type { Cluster } from "../../../cli/openCluster";
import { connectionFromKubeconfig } from "../../../components/kubeconfig";
import type { Manifest } from "../../../runtime/kubernetes/objects";
import { Api } from "./api";

/** A control plane with what a test needs to talk to it; `connection` has cluster-admin rights. */
export interface TestCluster extends Cluster {
  readonly controlPlane: ControlPlane;
  /** The API as a user or a foreign controller sees it, with cluster-admin rights. */
  readonly api: Api;
}

let shared: Promise<TestCluster> | undefined;
const announced: Manifest[] = [];

/**
 * Says which kind a suite is going to use: the shared control plane has all of them from its start, so that its
 * garbage collector need not look for new ones, which it does only twice a minute.
 */
export function announceKind(customResourceDefinition: Manifest): void {
  announced.push(customResourceDefinition);
}

/** Starts a control plane, telling its progress. The first one of a machine may have to be built: no time limit. */
export async function startTestCluster(): Promise<TestCluster> {
  const controlPlane = await startControlPlane({
    onProgress: (line) => void process.stderr.write(`${line}\n`),
  });
  const connection = await connectionFromKubeconfig(controlPlane.kubeconfig);
  const api = new Api(connection);
  const close = async () => {
    api.close();
    await controlPlane.stop();
  };
  return { controlPlane, connection, isUsers: false, api, close };
}

/** The one control plane of this mocha run, started when it is first asked for. */
export function sharedCluster(): Promise<TestCluster> {
  shared ??= startTestCluster().then(async (cluster) => {
    await Promise.all(announced.map((definition) => cluster.api.apply(definition, FIELD_MANAGER)));
    await renewGarbageCollector(cluster);
    return cluster;
  });
  return shared;
}

/** Stops the shared control plane, if it was ever started. */
export async function stopSharedCluster(): Promise<void> {
  const cluster = await shared?.catch(() => undefined);
  shared = undefined;
  await cluster?.close();
}
