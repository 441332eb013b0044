import type { Cluster } from "../../../cli/cluster/openCluster";
import { type ControlPlane, startControlPlane } from "../../../cli/controlPlane";
import { connectionFromKubeconfig } from "../../../preflight/kubeconfig";
import type { Manifest } from "../../../runtime/base/objects";
import type { ClusterConnection } from "../../../runtime/kubernetes/connection";
import { Api } from "./api";
import { askForCluster } from "./sharedCluster";

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
 ** Loads a file of tests. The kinds that are announced during the load belong to it.
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

/** Closes this process's connection to the {@link sharedCluster}, if it has one. */
export async function closeSharedConnection(): Promise<void> {
  (await shared?.catch(() => undefined))?.api.close();
}

/** The CRDs of all kinds that were announced. */
export function announcedKinds(): Manifest[] {
  return [...announced.values()].map(({ manifest }) => manifest);
}

async function openTestCluster(kubeconfig: string): Promise<TestCluster> {
  const connection = await connectionFromKubeconfig(kubeconfig);
  return { connection, api: new Api(connection) };
}
