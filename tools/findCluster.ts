import { awaitAnswer } from "../cli/cluster/openCluster";
import { commandOnPath } from "../definition/commandOnPath";
import { connectionFromKubeconfig, KubeconfigError } from "../preflight/kubeconfig";
import type { ClusterConnection } from "../runtime/kubernetes/connection";

/** A cluster for a deployment with Pulumi. If there is no cluster or no Pulumi: the missing part. */
export type FoundCluster = { readonly connection: ClusterConnection } | { readonly missing: string };

/**
 * Checks whether there is Pulumi, and a cluster that answers.
 * @param kubeconfig a file; by default `$KUBECONFIG` or `~/.kube/config`
 * @param context its current one by default
 * @throws KubeconfigError if the requested kubeconfig or context does not exist
 */
export async function findCluster(kubeconfig?: string, context?: string): Promise<FoundCluster> {
  if (!commandOnPath("pulumi")) return { missing: "no program pulumi is on PATH" };
  try {
    const connection = await connectionFromKubeconfig(kubeconfig, context);
    await awaitAnswer(connection);
    return { connection };
  } catch (error) {
    const isAsked = kubeconfig !== undefined || context !== undefined;
    if (error instanceof KubeconfigError && isAsked) throw error;
    return { missing: `no cluster answers: ${(error as Error).message}` };
  }
}
