import { setTimeout as pause } from "node:timers/promises";
import * as pulumi from "@pulumi/pulumi";
import { KubernetesClient } from "../runtime/kubernetes/client";
import type { ClusterConnection } from "../runtime/kubernetes/connection";
import { isApiError } from "../runtime/kubernetes/errors";
import type { KubernetesObject } from "../runtime/kubernetes/objects";
import { connectionFromKubeconfig } from "./kubeconfig";

/** What is known of a CRD in a cluster; undefined where nobody can tell. */
export type Presence = "absent" | "ours" | "foreign" | undefined;

/** How long to wait for the cluster: a preview works without one. */
const PATIENCE_MS = 3_000;

/** Looks which of these CRDs are in the cluster of Pulumi's default provider. */
export async function lookFor(crds: readonly string[]): Promise<Readonly<Record<string, Presence>>> {
  const connection = await clusterOfProgram().catch(() => undefined);
  if (!connection) return {};
  const client = new KubernetesClient(connection);
  try {
    const looks = crds.map(async (crd) => {
      const late = pause(PATIENCE_MS, undefined, { ref: false });
      return [crd, await Promise.race([presenceOf(client, crd), late])] as const;
    });
    return Object.fromEntries(await Promise.all(looks));
  } finally {
    client.close();
  }
}

async function presenceOf(client: KubernetesClient, crd: string): Promise<Presence> {
  try {
    const { metadata } = await client.read<KubernetesObject>(
      `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${crd}`,
    );
    return metadata.labels?.["app.kubernetes.io/managed-by"] === "argosy" ? "ours" : "foreign";
  } catch (error) {
    return isApiError(error, 404) ? "absent" : undefined;
  }
}

/** The cluster of Pulumi's default provider: its configuration, else the kubeconfig of whoever runs the program. */
function clusterOfProgram(): Promise<ClusterConnection> {
  const config = new pulumi.Config("kubernetes");
  return connectionFromKubeconfig(config.get("kubeconfig"), config.get("context"));
}
