import type { ClusterConnection } from "../../runtime/kubernetes/connection";
import type { Use } from "./processes";

/** The runs of the benchmark, in the order of its table. */
export const runNames = ["argosy", "kopf", "controller-runtime", "controller-runtime-raised"] as const;

/** Name of a run: an operator with its settings. */
export type RunName = (typeof runNames)[number];

/** Reports the progress to the user in a line. */
export type Progress = (line: string) => void;

/** The options of {@link Peer.prepare}. */
export interface Preparation {
  /** A folder that stays between runs, for files that are costly to create. It may not exist yet. */
  readonly cache: string;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** The options of {@link Peer.start}. */
export interface PeerStart {
  /** Path of the kubeconfig whose current context is the control plane. */
  readonly kubeconfig: string;
  /** The same, for a program that reads no kubeconfig. */
  readonly connection: ClusterConnection;
  /** The file for all output of the operator. */
  readonly logFile: string;
}

/** An operator for Memcacheds that the benchmark can start. */
export interface Peer {
  readonly name: RunName;
  /** Creates everything that {@link start} needs: programs, virtual environments, bundles. Called once, before any run. */
  prepare(preparation: Preparation): Promise<void>;
  /** Starts the operator as one process with its children. */
  start(start: PeerStart): Promise<RunningPeer>;
}

/** A started operator that can be measured. */
export interface RunningOperator {
  /** Resolves when the operator watches the API. */
  readonly ready: Promise<void>;
  /** The memory of everything that belongs to it, in MiB. */
  memoryMiB(): Promise<number>;
}

/** An operator that was started as a process. */
export interface RunningPeer extends RunningOperator {
  /** What its first process uses by itself, and what all its processes use. */
  use(): Promise<{ readonly own: Use; readonly all: Use }>;
  /** CPU time of all its processes so far. */
  cpuMs(): Promise<number>;
  /** Rejects when the operator ends by itself; never resolves. */
  readonly failed: Promise<never>;
  /** Ends the operator and all its processes. */
  stop(): Promise<void>;
}
