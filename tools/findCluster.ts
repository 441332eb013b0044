import { connectionFromKubeconfig, KubeconfigError } from "../preflight/kubeconfig";
import { commandOnPath } from "../runtime/definition/commandOnPath";
import { KubernetesClient } from "../runtime/kubernetes/client";
import type { ClusterConnection } from "../runtime/kubernetes/connection";

const ANSWER_MS = 10_000;

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
    await answers(connection);
    return { connection };
  } catch (error) {
    const isAsked = kubeconfig !== undefined || context !== undefined;
    if (error instanceof KubeconfigError && isAsked) throw error;
    return { missing: `no cluster answers: ${(error as Error).message}` };
  }
}

async function answers(connection: ClusterConnection): Promise<void> {
  const client = new KubernetesClient(connection);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new Error(`${connection.server} says nothing for ${ANSWER_MS / 1000} s`);
    timer = setTimeout(() => reject(error), ANSWER_MS);
  });
  try {
    await Promise.race([client.read("/version"), late]);
  } finally {
    clearTimeout(timer);
    client.close();
  }
}
