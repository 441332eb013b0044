import { setTimeout as pause } from "node:timers/promises";
import { isApiError, KubernetesClient, type KubernetesObject, type Resource } from "../runtime/program";
import {
  CONFIG_MAP_NAME,
  type ControllerConfiguration,
  readControllerConfiguration,
} from "./controllerConfiguration";
import { connectionFromKubeconfig } from "./kubeconfig";

/** How to reach a cluster, in the form of Pulumi's Kubernetes provider. */
export interface Connection {
  /** The text of a kubeconfig, or the path of its file. @default `$KUBECONFIG`, else `~/.kube/config` */
  readonly kubeconfig?: string | undefined;
  /** @default the kubeconfig's current context */
  readonly context?: string | undefined;
  /** @default the context's cluster */
  readonly cluster?: string | undefined;
}

/** An object, "absent", or undefined if this is not known. */
export type Found = KubernetesObject | "absent" | undefined;

/** The result of a look into a cluster. */
export interface Findings {
  /** The problems, each with the argument, the state of the cluster and the remedy. */
  readonly problems: readonly string[];
  /** The parts that are to be used, but were not seen: the cluster did not answer, or did not show them. */
  readonly unseen: readonly string[];
  /** What somebody should know or change, but what is no reason to refuse. @default [] */
  readonly warnings?: readonly string[];
}

/** The findings of several looks, together. */
export function together(findings: readonly Findings[]): Findings {
  return {
    problems: findings.flatMap(({ problems }) => problems),
    unseen: findings.flatMap(({ unseen }) => unseen),
    warnings: findings.flatMap(({ warnings = [] }) => warnings),
  };
}

/** Answers questions about a cluster. Undefined if it does not answer in time: a preview works without one. */
export interface Look {
  /** The CRD of this name. */
  crd(name: string): Promise<Found>;
  /** The namespace of this name. */
  namespace(name: string): Promise<Found>;
  /** The service account of this name. */
  serviceAccount(namespace: string, name: string): Promise<Found>;
  /** The ClusterRole of this name. */
  clusterRole(name: string): Promise<Found>;
  /** Whether there is a Secret of this name. Its content is not requested. */
  hasSecret(namespace: string, name: string): Promise<boolean | undefined>;
  /** Whether its API server keeps volumes of images. Nothing is written. */
  keepsImageVolumes(): Promise<boolean | undefined>;
  /** How the cluster's Workflow controllers are configured, as far as their ConfigMaps have the usual names. */
  workflowControllers(): Promise<readonly ControllerConfiguration[] | undefined>;
}

/** How long to wait for an answer. */
const PATIENCE_MS = 3_000;

/**
 * Lets a function look into a cluster. The result is empty if the cluster is not known or cannot be reached.
 * @param onNoConnection called with the reason why the kubeconfig cannot be used
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
      namespace: (name) => patiently(objectAt(client, `/api/v1/namespaces/${name}`)),
      serviceAccount: (namespace, name) =>
        patiently(objectAt(client, `/api/v1/namespaces/${namespace}/serviceaccounts/${name}`)),
      clusterRole: (name) =>
        patiently(objectAt(client, `/apis/rbac.authorization.k8s.io/v1/clusterroles/${name}`)),
      hasSecret: (namespace, name) => patiently(hasSecret(client, namespace, name)),
      keepsImageVolumes: () => patiently(keepsImageVolumes(client)),
      workflowControllers: () => patiently(workflowControllers(client)),
    });
  } finally {
    client.close();
  }
}

const unknown = () => Promise.resolve(undefined);
const BLIND: Look = {
  crd: unknown,
  namespace: unknown,
  serviceAccount: unknown,
  clusterRole: unknown,
  hasSecret: unknown,
  keepsImageVolumes: unknown,
  workflowControllers: unknown,
};

function connect({ kubeconfig, context, cluster }: Connection) {
  return connectionFromKubeconfig(kubeconfig, context, cluster);
}

/** The answer, if it comes in time. */
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
  const secrets = await listMetadata(client, SECRETS, namespace);
  return secrets?.some(({ metadata }) => metadata.name === name);
}

/** The objects of a kind, without their content. */
async function listMetadata(
  client: KubernetesClient,
  resource: Resource,
  namespace?: string,
): Promise<readonly KubernetesObject[] | undefined> {
  const objects: KubernetesObject[] = [];
  try {
    await client.list(resource, { ...(namespace && { namespace }), metadataOnly: true }, (items) => {
      objects.push(...items);
    });
    return objects;
  } catch {
    return undefined;
  }
}

const CONFIG_MAPS: Resource = {
  apiVersion: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  namespaced: true,
};

async function workflowControllers(
  client: KubernetesClient,
): Promise<readonly ControllerConfiguration[] | undefined> {
  const listed = await listMetadata(client, CONFIG_MAPS);
  const named = listed?.filter(({ metadata }) => CONFIG_MAP_NAME.test(metadata.name));
  const read = await Promise.all(
    (named ?? []).map(({ metadata }) =>
      objectAt(client, `/api/v1/namespaces/${metadata.namespace}/configmaps/${metadata.name}`),
    ),
  );
  if (!listed || read.includes(undefined)) return undefined;
  return read.flatMap(
    (found) => (found && found !== "absent" ? readControllerConfiguration(found) : undefined) ?? [],
  );
}

const POD_TEMPLATES: Resource = {
  apiVersion: "v1",
  kind: "PodTemplate",
  plural: "podtemplates",
  namespaced: true,
};

/** A template of a pod with such a volume, for a dry run. */
const WITH_IMAGE_VOLUME = {
  apiVersion: "v1",
  kind: "PodTemplate",
  metadata: { name: "argosy-image-volumes", namespace: "default" },
  template: {
    metadata: {},
    spec: {
      containers: [{ name: "main", image: "example.com/main:1" }],
      volumes: [{ name: "files", image: { reference: "example.com/files:1" } }],
    },
  },
};

/**
 * Whether the volume is still there in the object that the API server would store. Without the feature gate ImageVolume it
 * silently leaves the volume out (kubernetes, pkg/api/pod/util.go, dropImageVolumes). Before 1.31 it does not know the field, and
 * refuses a volume without a source.
 */
async function keepsImageVolumes(client: KubernetesClient): Promise<boolean | undefined> {
  try {
    const stored = await client.create(POD_TEMPLATES, WITH_IMAGE_VOLUME, { dryRun: true });
    return JSON.stringify(stored).includes(WITH_IMAGE_VOLUME.template.spec.volumes[0]?.image.reference ?? "");
  } catch (error) {
    return isApiError(error, 422) ? false : undefined;
  }
}
