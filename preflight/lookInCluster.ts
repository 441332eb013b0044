// The questions, each with a time limit.
import { setTimeout as pause } from "node:timers/promises";
import {
  ApiUnreachableError,
  builtIn,
  ifRefused,
  isApiError,
  isUndecided,
  KubernetesClient,
  type KubernetesObject,
  type ObjectName,
  OPERATOR_LABEL,
  type Resource,
} from "../runtime/program";
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

/** An object, or "absent". */
type Known = KubernetesObject | "absent";

/** An object, "absent", or undefined if this is not known. */
export type Found = Known | undefined;

/** The result of a look into a cluster. */
export interface Findings {
  /** The problems, each with the argument, the state of the cluster and the remedy. */
  readonly problems: readonly string[];
  /** What the user should know or change, but what is no reason to refuse the program. @default [] */
  readonly warnings?: readonly string[];
}

/** Nothing to say. */
export const NOTHING: Findings = { problems: [] };

/** The findings of several looks, together. */
export function together(findings: readonly Findings[]): Findings {
  return {
    problems: findings.flatMap(({ problems }) => problems),
    warnings: findings.flatMap(({ warnings = [] }) => warnings),
  };
}

/**
 * Answers questions about a cluster. Undefined if it does not answer in time, or does not show this: a preview works without a
 * cluster. See `notingUnseen`.
 */
export interface Look {
  /** The CRD of this name. */
  crd(name: string): Promise<Found>;
  /** The namespace of this name. */
  namespace(name: string): Promise<Found>;
  /** The service account of this name. */
  serviceAccount(namespace: string, name: string): Promise<Found>;
  /** The ClusterRole of this name. */
  clusterRole(name: string): Promise<Found>;
  /** The CRDs of operators of Argosy. */
  operatorDefinitions(): Promise<readonly KubernetesObject[] | undefined>;
  /** The namespaces of platforms, and the CRDs that platforms install. */
  platformData(): Promise<readonly KubernetesObject[] | undefined>;
  /** How many objects of a kind there are in all namespaces. */
  countOf(kind: Resource): Promise<number | undefined>;
  /** Whether there is a Secret of this name. Its content is not requested. */
  hasSecret(namespace: string, name: string): Promise<boolean | undefined>;
  /** Whether its API server keeps volumes of images. Nothing is written. */
  keepsImageVolumes(): Promise<boolean | undefined>;
  /** How the cluster's Workflow controllers are configured, as far as their ConfigMaps have the usual names. */
  workflowControllers(): Promise<readonly ControllerConfiguration[] | undefined>;
}

/** How long to wait for an answer in a preview. */
const PATIENCE_MS = 3_000;
/** How long after a failure the cluster is asked again. A preview has no time for that. */
const AGAIN_MS = 3_000;

/** How a cluster is looked into. */
export interface LookOptions {
  /** How long to wait for each answer, in milliseconds. @default a preview's time: 3,000 */
  readonly patienceMs?: number;
  /** Called with the reason why the kubeconfig cannot be used. @default nothing */
  readonly onNoConnection?: (error: Error) => void;
}

/**
 * Lets a function look into a cluster. The result is empty if the cluster is not known or cannot be reached.
 * @param find called with the look
 */
export async function lookInCluster<T>(
  connection: Connection | undefined,
  find: (look: Look) => Promise<T>,
  { patienceMs = PATIENCE_MS, onNoConnection = () => {} }: LookOptions = {},
): Promise<T> {
  const { kubeconfig, context, cluster } = connection ?? {};
  const found =
    connection && (await connectionFromKubeconfig(kubeconfig, context, cluster).catch(onNoConnection));
  if (!found) return find(BLIND);
  const client = new KubernetesClient(found);
  const look = lookBy((question) => patiently(() => question(client), patienceMs));
  try {
    return await find(look);
  } finally {
    client.close();
  }
}

/** Puts a question to a cluster. Undefined if there is no answer. */
type Ask = <Answer>(question: (client: KubernetesClient) => Promise<Answer>) => Promise<Answer | undefined>;

function lookBy(ask: Ask): Look {
  return {
    crd: (name) => ask((client) => objectOf(client, DEFINITIONS, { name })),
    namespace: (name) => ask((client) => objectOf(client, NAMESPACES, { name })),
    serviceAccount: (namespace, name) =>
      ask((client) => objectOf(client, SERVICE_ACCOUNTS, { namespace, name })),
    clusterRole: (name) => ask((client) => objectOf(client, CLUSTER_ROLES, { name })),
    operatorDefinitions: () =>
      ask((client) => client.listAll(DEFINITIONS, { labelSelector: OPERATOR_LABEL })),
    platformData: () => ask(platformData),
    countOf: (kind) => ask((client) => client.count(kind, { metadataOnly: true })),
    hasSecret: (namespace, name) => ask((client) => hasSecret(client, namespace, name)),
    keepsImageVolumes: () => ask(keepsImageVolumes),
    workflowControllers: () => ask(workflowControllers),
  };
}

/** Of a cluster that is not known. */
const BLIND = lookBy(async () => undefined);

/** The answer, if it comes in time. An API server that is busy or away is asked again, but not one that refuses. */
async function patiently<Answer>(
  question: () => Promise<Answer>,
  patienceMs: number,
): Promise<Answer | undefined> {
  const deadline = Date.now() + patienceMs;
  const answer = async (): Promise<Answer | undefined> => {
    for (;;) {
      try {
        return await question();
      } catch (error) {
        const mayBeAnswered = isUndecided(error) || error instanceof ApiUnreachableError;
        if (!mayBeAnswered || Date.now() + AGAIN_MS >= deadline) return undefined;
        await pause(AGAIN_MS);
      }
    }
  };
  return Promise.race([answer(), pause(patienceMs, undefined, { ref: false })]);
}

async function objectOf(client: KubernetesClient, kind: Resource, name: ObjectName): Promise<Known> {
  return (await client.get(kind, name).catch(ifRefused(404, undefined))) ?? "absent";
}

const NAMESPACES = builtIn("v1", "Namespace");
const SERVICE_ACCOUNTS = builtIn("v1", "ServiceAccount");
const SECRETS = builtIn("v1", "Secret");
const CONFIG_MAPS = builtIn("v1", "ConfigMap");
const POD_TEMPLATES = builtIn("v1", "PodTemplate");
const CLUSTER_ROLES = builtIn("rbac.authorization.k8s.io/v1", "ClusterRole");
const DEFINITIONS = builtIn("apiextensions.k8s.io/v1", "CustomResourceDefinition");

async function platformData(client: KubernetesClient): Promise<readonly KubernetesObject[]> {
  const ours = "app.kubernetes.io/managed-by=argosy";
  const lists = await Promise.all([
    client.listAll(NAMESPACES, { labelSelector: ours, metadataOnly: true }),
    client.listAll(DEFINITIONS, {
      labelSelector: `${ours},app.kubernetes.io/component=definitions`,
      metadataOnly: true,
    }),
  ]);
  return lists.flat();
}

async function hasSecret(client: KubernetesClient, namespace: string, name: string): Promise<boolean> {
  const secrets = await client.listAll(SECRETS, { namespace, metadataOnly: true });
  return secrets.some(({ metadata }) => metadata.name === name);
}

async function workflowControllers(client: KubernetesClient): Promise<readonly ControllerConfiguration[]> {
  const listed = await client.listAll(CONFIG_MAPS, { metadataOnly: true });
  const named = listed.filter(({ metadata }) => CONFIG_MAP_NAME.test(metadata.name));
  // Each is read by itself, so that the time limit holds however many there are.
  const read = named.map(async ({ metadata }) => {
    const found = await objectOf(client, CONFIG_MAPS, metadata);
    return found === "absent" ? undefined : readControllerConfiguration(found);
  });
  return (await Promise.all(read)).filter((each) => each !== undefined);
}

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
 * Whether the object that the API server would store still has the volume. Without the feature gate ImageVolume it silently
 * leaves the volume out (kubernetes, pkg/api/pod/util.go, dropImageVolumes). Before 1.31 it does not know the field, and refuses
 * a volume without a source.
 */
async function keepsImageVolumes(client: KubernetesClient): Promise<boolean> {
  try {
    const stored = await client.create(POD_TEMPLATES, WITH_IMAGE_VOLUME, { dryRun: true });
    return JSON.stringify(stored).includes(WITH_IMAGE_VOLUME.template.spec.volumes[0]?.image.reference ?? "");
  } catch (error) {
    if (isApiError(error, 422)) return false;
    throw error;
  }
}
