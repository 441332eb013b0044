import { type ControlPlane, startControlPlane } from "../../../cli/controlPlane";
import { renewGarbageCollector } from "../../../cli/garbageCollector";
import { FIELD_MANAGER } from "../../../cli/installOperator";
import type { Cluster } from "../../../cli/openCluster";
import { connectionFromKubeconfig } from "../../../preflight/kubeconfig";
import { awaitKind } from "../../../runtime/kubernetes/awaitKind";
import { KubernetesClient } from "../../../runtime/kubernetes/client";
import type { ClusterConnection } from "../../../runtime/kubernetes/connection";
import type { Manifest } from "../../../runtime/kubernetes/objects";
import { Api } from "./api";
import { askForCluster, offerCluster } from "./sharedCluster";

/** What a test needs to talk to a control plane, with cluster-admin rights. */
export interface TestCluster {
  readonly connection: ClusterConnection;
  /** The API as a user or a foreign controller sees it. */
  readonly api: Api;
}

/** A control plane that one suite has for itself. */
export interface OwnCluster extends TestCluster, Cluster {
  readonly controlPlane: ControlPlane;
}

/** Longer than a machine needs on which everything else runs as well. */
const SERVED_WITHIN_MS = 180_000;

/** The kinds that suites have announced, by the names of their CRDs. */
const announced = new Map<string, { readonly manifest: Manifest; readonly file: string | undefined }>();
/** The file of tests that is being loaded, where all of them are. */
let loading: string | undefined;
let shared: Promise<TestCluster> | undefined;

/**
 * Says which kind a suite is going to use: the shared control plane has all of them from its start, so that its
 * garbage collector need not look for new ones, which it does only twice a minute.
 */
export function announceKind(manifest: Manifest): void {
  const { name } = manifest.metadata;
  const file = announced.get(name)?.file ?? loading;
  if (file !== loading && !name.endsWith(".argoproj.io")) throw new SharedKindError(name, [file, loading]);
  announced.set(name, { manifest, file });
}

/**
 * Loads a file of tests. What is announced meanwhile belongs to it.
 * @throws SharedKindError if it announces a kind that another file has announced
 */
export async function loadAnnouncing(file: string, load: () => Promise<unknown>): Promise<void> {
  loading = file;
  try {
    await load();
  } finally {
    loading = undefined;
  }
}

/**
 * Two files have operators of one kind. In runs in which both happen to be at work at the same time, each would handle the
 * other's objects, under one lease.
 */
class SharedKindError extends Error {
  constructor(name: string, files: readonly (string | undefined)[]) {
    super(`${name} is a kind of tests in ${files.join(" and in ")}: each file needs operators of its own`);
    this.name = "SharedKindError";
  }
}

/** Starts a control plane, telling its progress. The first one of a machine may have to be built: no time limit. */
export async function startTestCluster(): Promise<OwnCluster> {
  const controlPlane = await startControlPlane({
    onProgress: (line) => void process.stderr.write(`${line}\n`),
  });
  const { connection, api } = await openTestCluster(controlPlane.kubeconfig);
  const close = async () => {
    api.close();
    await controlPlane.stop();
  };
  return { controlPlane, connection, isUsers: false, api, close };
}

/** The one control plane of a mocha run and all its processes, started when it is first asked for. */
export function sharedCluster(): Promise<TestCluster> {
  shared ??= askForCluster().then(openTestCluster);
  return shared;
}

/**
 * Offers a {@link sharedCluster}.
 *
 * @param announceKinds called while it starts: it may announce the kinds of suites that other processes run
 * @returns stops it, if it was ever started
 */
export async function offerSharedCluster(announceKinds: () => Promise<void>): Promise<() => Promise<void>> {
  let started: Promise<OwnCluster> | undefined;
  const withdraw = await offerCluster(async () => {
    started = startTestCluster();
    const [cluster] = await Promise.all([started, announceKinds()]);
    const manifests = [...announced.values()].map(({ manifest }) => manifest);
    await Promise.all(manifests.map((manifest) => cluster.api.apply(manifest, FIELD_MANAGER)));
    await served(cluster, manifests);
    await renewGarbageCollector(cluster);
    return cluster.controlPlane.kubeconfig;
  });
  return async () => {
    withdraw();
    (await shared?.catch(() => undefined))?.api.close();
    await (await started?.catch(() => undefined))?.close();
  };
}

/** Waits until the cluster serves what these CRDs define: on a busy machine it takes seconds. Else a first list finds nothing. */
async function served({ connection }: TestCluster, definitions: readonly Manifest[]): Promise<void> {
  const client = new KubernetesClient(connection);
  const waiting = { signal: AbortSignal.timeout(SERVED_WITHIN_MS), onWait: () => {} };
  try {
    for (const { spec } of definitions) {
      const { group, names, versions } = spec as {
        group: string;
        names: { kind: string };
        versions: readonly { name: string }[];
      };
      for (const { name } of versions) await awaitKind(client, `${group}/${name}`, names.kind, waiting);
    }
  } finally {
    client.close();
  }
}

async function openTestCluster(kubeconfig: string): Promise<TestCluster> {
  const connection = await connectionFromKubeconfig(kubeconfig);
  return { connection, api: new Api(connection) };
}
