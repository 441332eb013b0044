import { awaitAnswer } from "../cli/openCluster";
import { commandOnPath } from "../definition/commandOnPath";
import { connectionFromKubeconfig, KubeconfigError } from "../preflight/kubeconfig";
import type { ClusterConnection } from "../runtime/kubernetes/connection";

/** A cluster to deploy into by Pulumi; or, where there is none or no Pulumi, what is missing. */
export type FoundCluster = { readonly connection: ClusterConnection } | { readonly missing: string };

/**
 * Looks whether there are Pulumi and a cluster that answers.
 * @param kubeconfig a file; by default `$KUBECONFIG` or `~/.kube/config`
 * @param context its current one by default
 * @throws KubeconfigError where one was asked for that there is not
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
