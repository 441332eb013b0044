import type { ClusterConnection, KubernetesClient } from "../../runtime/cli";
import { openUsersCluster, withClient } from "../cluster/openCluster";
import type { ClusterOptions } from "../common/options";

/** Runs an action with an existing cluster: that of the options, or else that of the current context. */
export async function withCluster<T>(
  options: ClusterOptions,
  action: (client: KubernetesClient, connection: ClusterConnection) => Promise<T>,
): Promise<T> {
  const { connection } = await openUsersCluster(options);
  return withClient(connection, (client) => action(client, connection));
}
