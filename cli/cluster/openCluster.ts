import { connectionFromKubeconfig, KubeconfigError } from "../../preflight/kubeconfig";
import { within } from "../../runtime/base/clock";
import { type ClusterConnection, isApiError, KubernetesClient } from "../../runtime/cli";
import { CommandError } from "../common/commandError";
import type { ClusterOptions } from "../common/options";
import { type ControlPlane, startControlPlane } from "../controlPlane";
import { withLoginRemedy } from "./loginRemedy";

/** A cluster to work on: the embedded control plane, or one of the user's. */
export interface Cluster {
  readonly connection: ClusterConnection;
  /** Whether it is the user's cluster, where everything that we create must be removed. */
  readonly isUsers: boolean;
  /** The embedded control plane, if it is one. */
  readonly controlPlane?: ControlPlane;
  /** Stops the embedded control plane. Does nothing to the user's cluster. */
  close(): Promise<void>;
}

/**
 * Opens the cluster that the options name, or starts an embedded control plane if they name none.
 *
 * @param onProgress called with one line at a time
 * @param data the folder where an embedded control plane keeps its objects.
 * @default they are deleted with the control plane
 * @throws KubeconfigError, CommandError if there is none; the signal's reason
 */
export async function openCluster(
  options: ClusterOptions,
  onProgress: (line: string) => void,
  signal: AbortSignal,
  data?: string,
): Promise<Cluster> {
  const isNamed = options.context !== undefined || options.kubeconfig !== undefined;
  return isNamed ? openUsersCluster(options) : startEmbedded(onProgress, signal, data);
}

/**
 * Opens an existing cluster: that of the options, or else that of the current context.
 * @throws KubeconfigError, CommandError if there is none, or if it does not answer; ApiError if it does not recognize the user
 */
export async function openUsersCluster({ context, kubeconfig }: ClusterOptions): Promise<Cluster> {
  const connection = await connectionFromKubeconfig(kubeconfig, context).catch((error: unknown) => {
    if (error instanceof KubeconfigError || !(error instanceof Error)) throw error;
    // What a login program writes to standard error, perhaps nothing.
    const reason = error.message.trim().replace(/\.$/, "") || "its login program failed";
    throw new KubeconfigError(
      `the kubeconfig cannot be used: ${reason}. Correct it, or name another one with --kubeconfig.`,
    );
  });
  await awaitAnswer(connection).catch((error: Error) => {
    if (isApiError(error, 401)) throw withLoginRemedy(error, connection);
    throw new CommandError(
      `the cluster at ${connection.server} does not answer: ${error.message}. ` +
        "Start it, or name another cluster with --context or --kubeconfig.",
      { cause: error },
    );
  });
  return { connection, isUsers: true, close: async () => {} };
}

const ANSWER_MS = 10_000;

/** Resolves when the cluster has answered. @throws ApiError, ApiUnreachableError; Error if there is no answer for 10 s */
export async function awaitAnswer(connection: ClusterConnection): Promise<void> {
  const answer = await withClient(connection, (client) => within(ANSWER_MS, client.read("/version")));
  if (answer === undefined)
    throw new Error(`${connection.server} has not answered for ${ANSWER_MS / 1000} s`);
}

/** Does something with a client of its own. */
export async function withClient<T>(
  connection: ClusterConnection,
  action: (client: KubernetesClient) => Promise<T>,
): Promise<T> {
  const client = new KubernetesClient(connection);
  try {
    return await action(client);
  } finally {
    client.close();
  }
}

async function startEmbedded(
  onProgress: (line: string) => void,
  signal: AbortSignal,
  data: string | undefined,
): Promise<Cluster> {
  const kept = data === undefined ? {} : { data };
  const controlPlane = await startControlPlane({ onProgress, signal, ...kept }).catch((error: unknown) => {
    signal.throwIfAborted();
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(`there is no control plane: ${reason}`, { cause: error });
  });
  const { connection } = controlPlane;
  return { connection, isUsers: false, controlPlane, close: () => controlPlane.stop() };
}
