import type { ClusterConnection } from "../../runtime/kubernetes/connection";

/** The runs of the benchmark, in the order of its table. */
export const runNames = ["argosy", "kopf", "controller-runtime", "controller-runtime-raised"] as const;

/** Name of a run: an operator with its settings. */
export type RunName = (typeof runNames)[number];

/** Tells the user in a line what goes on. */
export type Progress = (line: string) => void;

/** What {@link Peer.prepare} may use. */
export interface Preparation {
  /** Folder that stays between runs, for what is costly to make. It may not exist yet. */
  readonly cache: string;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** What {@link Peer.start} needs. */
export interface PeerStart {
  /** Path of the kubeconfig whose current context is the control plane. */
  readonly kubeconfig: string;
  /** The same, for a program that reads no kubeconfig. */
  readonly connection: ClusterConnection;
  /** Takes all that the operator prints. */
  readonly logFile: string;
}

/** An operator for Memcacheds that the benchmark can start. */
export interface Peer {
  readonly name: RunName;
  /** Makes all that {@link start} needs: programs, virtual environments, bundles. Called once, before any run. */
  prepare(preparation: Preparation): Promise<void>;
  /** Starts the operator as one process with its children. */
  start(start: PeerStart): Promise<RunningPeer>;
}

/** A started operator, as far as it is measured. */
export interface RunningOperator {
  /** Resolves when the operator watches the API. */
  readonly ready: Promise<void>;
  /** The memory of all that belongs to it, in MiB. */
  memoryMiB(): Promise<number>;
}

/** An operator that was started as a process. */
export interface RunningPeer extends RunningOperator {
  /** CPU time of all its processes so far. */
  cpuMs(): Promise<number>;
  /** Rejects when the operator ends by itself; never resolves. */
  readonly failed: Promise<never>;
  /** Ends the operator and all its processes. */
  stop(): Promise<void>;
}
