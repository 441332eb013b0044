import { setMaxListeners } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Manifest } from "../../runtime/base/objects";
import type { ClusterConnection } from "../../runtime/kubernetes/connection";
import { Cluster } from "./cluster";
import { CpuMeter } from "./cpuMeter";
import { firstDifference } from "./equalWork";
import { alternatingOrder, type RoundFigures, type RunFigures } from "./figures";
import { measure } from "./measure";
import type { Peer, Preparation, Progress, RunName } from "./peer";
import type { Work } from "./report";

/** An API server without objects that disturb the benchmark. */
export interface ControlPlane {
  /** Path of its kubeconfig. */
  readonly kubeconfig: string;
  readonly connection: ClusterConnection;
  stop(): Promise<void>;
}

/** An operator could not be prepared, or could not do its work. */
export class BenchmarkError extends Error {
  override readonly name = "BenchmarkError";
}

/** The options of {@link runBenchmark}. */
export interface BenchmarkOptions {
  readonly peers: readonly Peer[];
  readonly work: Work;
  /** The CustomResourceDefinition of the Memcacheds. */
  readonly crd: Manifest;
  /** Folder that stays between runs. */
  readonly cache: string;
  readonly startControlPlane: () => Promise<ControlPlane>;
  readonly progress: Progress;
  /** Ends the benchmark early, and stops everything that it started. */
  readonly signal: AbortSignal;
}

/**
 * Gives every operator the same work on one control plane, one operator at a time.
 * @throws BenchmarkError with the operator's name, why, and its log file; the signal's reason
 */
export async function runBenchmark(options: BenchmarkOptions): Promise<RunFigures[]> {
  const { peers, work, cache, progress, signal } = options;
  await mkdir(cache, { recursive: true });
  for (const peer of peers) await prepare(peer, { cache, progress, signal });

  const controlPlane = await options.startControlPlane();
  try {
    signal.throwIfAborted();
    await withCluster(controlPlane, signal, (cluster) => cluster.install(options.crd));
    const rounds = new Map<RunName, RoundFigures[]>();
    const compareChildren = createComparison();
    for (const [index, order] of alternatingOrder(peers, work.rounds).entries()) {
      for (const peer of order) {
        const title = `round ${index + 1} of ${work.rounds}, ${peer.name}`;
        const figures = await runPeer(peer, controlPlane, {
          ...options,
          progress: (line) => progress(`${title}: ${line}`),
          onChildren: (children) => compareChildren(peer.name, children),
        });
        rounds.set(peer.name, [...(rounds.get(peer.name) ?? []), figures]);
      }
    }
    return [...rounds].map(([name, figures]) => ({ name, rounds: figures }));
  } finally {
    await controlPlane.stop();
  }
}

async function prepare(peer: Peer, preparation: Preparation): Promise<void> {
  try {
    await peer.prepare(preparation);
  } catch (error) {
    preparation.signal.throwIfAborted();
    throw new BenchmarkError(`${peer.name} cannot be prepared: ${(error as Error).message}`);
  }
}

type PeerOptions = BenchmarkOptions & { readonly onChildren: (children: string) => void };

async function runPeer(peer: Peer, controlPlane: ControlPlane, options: PeerOptions): Promise<RoundFigures> {
  const { work, progress, onChildren } = options;
  const logFile = join(options.cache, `${peer.name}.log`);
  const running = await peer.start({ ...controlPlane, logFile });
  // If an operator ends by itself, every wait for it ends.
  const failure = new AbortController();
  running.failed.catch((error: Error) => failure.abort(error));
  const signal = AbortSignal.any([options.signal, failure.signal]);
  setMaxListeners(0, signal); // every request on its way listens
  try {
    return await withCluster(controlPlane, signal, async (cluster) => {
      const observer = new CpuMeter(running, cluster);
      const figures = await measure({ cluster, running, work, progress, signal, onChildren, observer });
      return { ...figures, ...observer.figures(work.burst) };
    });
  } catch (error) {
    options.signal.throwIfAborted();
    const { message } = (signal.aborted ? signal.reason : error) as Error;
    throw new BenchmarkError(`${peer.name} could not do its work: ${message}. Its output: ${logFile}`);
  } finally {
    await running.stop();
  }
}

async function withCluster<T>(
  { connection }: ControlPlane,
  signal: AbortSignal,
  step: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  const cluster = new Cluster(connection, signal);
  try {
    return await step(cluster);
  } finally {
    cluster.close();
  }
}

/** Makes sure that all operators do the same work: the children of each must be the same as those of the first. */
export function createComparison(): (name: string, children: string) => void {
  let first: { name: string; children: string } | undefined;
  return (name, children) => {
    first ??= { name, children };
    if (children === first.children) return;
    throw new Error(
      `its children differ from those of ${first.name}: ${firstDifference(children, first.children)}`,
    );
  };
}
