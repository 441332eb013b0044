import { setTimeout as pause } from "node:timers/promises";
import * as pulumi from "@pulumi/pulumi";
import {
  type ClusterConnection,
  isApiError,
  KubernetesClient,
  type KubernetesObject,
  type Resource,
} from "../runtime/program";
import { connectionFromKubeconfig } from "./kubeconfig";

/** What is known of a CRD in a cluster; undefined where nobody can tell. */
export type Presence = "absent" | "ours" | "foreign" | undefined;

/** How long to wait for the cluster: a preview works without one. */
const PATIENCE_MS = 3_000;

/** Looks which of these CRDs are in the cluster of Pulumi's default provider. */
export async function lookFor(crds: readonly string[]): Promise<Readonly<Record<string, Presence>>> {
  const looks = await withClient((client) =>
    Promise.all(crds.map(async (crd) => [crd, await patiently(presenceOf(client, crd))] as const)),
  );
  return Object.fromEntries(looks ?? []);
}

/** Whether there is a Secret of that name; undefined where nobody can tell. What is in it is not asked for. */
export function isSecretThere(namespace: string, name: string): Promise<boolean | undefined> {
  return withClient(async (client) => {
    const names: string[] = [];
    const list = client.list(SECRETS, { namespace, metadataOnly: true }, (items) => {
      names.push(...items.map(({ metadata }) => metadata.name));
    });
    const asked = list.then(
      () => names.includes(name),
      () => undefined,
    );
    return patiently(asked);
  });
}

const SECRETS: Resource = { apiVersion: "v1", kind: "Secret", plural: "secrets", namespaced: true };

/** What is found out with a client of the program's cluster; undefined where no cluster is known. */
async function withClient<T>(find: (client: KubernetesClient) => Promise<T>): Promise<T | undefined> {
  const connection = await clusterOfProgram().catch(() => undefined);
  if (!connection) return undefined;
  const client = new KubernetesClient(connection);
  try {
    return await find(client);
  } finally {
    client.close();
  }
}

/** What comes in time. */
function patiently<T>(question: Promise<T>): Promise<T | undefined> {
  return Promise.race([question, pause(PATIENCE_MS, undefined, { ref: false })]);
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
