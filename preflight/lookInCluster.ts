import { setTimeout as pause } from "node:timers/promises";
import { isApiError, KubernetesClient, type KubernetesObject, type Resource } from "../runtime/program";
import { connectionFromKubeconfig } from "./kubeconfig";

/** How a cluster is reached, as Pulumi's Kubernetes provider is told. */
export interface Connection {
  /** The text of a kubeconfig, or the path of its file. @default `$KUBECONFIG`, else `~/.kube/config` */
  readonly kubeconfig?: string | undefined;
  /** @default the kubeconfig's current one */
  readonly context?: string | undefined;
}

/** An object of cluster scope in a cluster, "absent", or undefined if nobody can tell. */
export type Found = KubernetesObject | "absent" | undefined;

/** What a look into a cluster found out. */
export interface Findings {
  /** What is wrong: the argument, what the cluster has, the remedy. */
  readonly problems: readonly string[];
  /** What is to be used, and could not be seen because the cluster did not answer. */
  readonly unseen: readonly string[];
}

/** Answers questions about a cluster. Undefined where it does not answer in time: a preview works without one. */
export interface Look {
  /** The CRD of this name. */
  crd(name: string): Promise<Found>;
  /** The ClusterRole of this name. */
  clusterRole(name: string): Promise<Found>;
  /** Whether there is a Secret of this name. What is in it is not asked for. */
  hasSecret(namespace: string, name: string): Promise<boolean | undefined>;
}

/** How long to wait for an answer. */
const PATIENCE_MS = 3_000;

/**
 * Lets a function look into a cluster. Nothing is found out where the cluster is not known or cannot be reached.
 * @param onNoConnection told why the kubeconfig cannot be used
 */
export async function lookInCluster<T>(
  connection: Connection | undefined,
  find: (look: Look) => Promise<T>,
  onNoConnection: (error: Error) => void = () => {},
): Promise<T> {
  const found = connection && (await connect(connection).catch(onNoConnection));
  if (!found) return find(BLIND);
  const client = new KubernetesClient(found);
  try {
    return await find({
      crd: (name) =>
        patiently(objectAt(client, `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`)),
      clusterRole: (name) =>
        patiently(objectAt(client, `/apis/rbac.authorization.k8s.io/v1/clusterroles/${name}`)),
      hasSecret: (namespace, name) => patiently(hasSecret(client, namespace, name)),
    });
  } finally {
    client.close();
  }
}

const unknown = () => Promise.resolve(undefined);
const BLIND: Look = { crd: unknown, clusterRole: unknown, hasSecret: unknown };

function connect({ kubeconfig, context }: Connection) {
  return connectionFromKubeconfig(kubeconfig, context);
}

/** What comes in time. */
function patiently<T>(question: Promise<T>): Promise<T | undefined> {
  return Promise.race([question, pause(PATIENCE_MS, undefined, { ref: false })]);
}

async function objectAt(client: KubernetesClient, path: string): Promise<Found> {
  try {
    return await client.read<KubernetesObject>(path);
  } catch (error) {
    return isApiError(error, 404) ? "absent" : undefined;
  }
}

const SECRETS: Resource = { apiVersion: "v1", kind: "Secret", plural: "secrets", namespaced: true };

async function hasSecret(
  client: KubernetesClient,
  namespace: string,
  name: string,
): Promise<boolean | undefined> {
  const names: string[] = [];
  try {
    await client.list(SECRETS, { namespace, metadataOnly: true }, (items) => {
      names.push(...items.map(({ metadata }) => metadata.name));
    });
    return names.includes(name);
  } catch {
    return undefined;
  }
}
