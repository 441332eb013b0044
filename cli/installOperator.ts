import { buildCustomResourceDefinition } from "../components/manifests/customResourceDefinition";
import { buildRoles, type RunnerAccount } from "../components/manifests/operator/rbac";
import type { Operator } from "../runtime/definition/definition";
import type { KubernetesClient } from "../runtime/kubernetes/client";
import { builtIn, discover, UnknownKindError } from "../runtime/kubernetes/discovery";
import { isApiError } from "../runtime/kubernetes/errors";
import type { Condition, Manifest } from "../runtime/kubernetes/objects";
import { type Resource, resourcePath } from "../runtime/kubernetes/resource";
import { leaseNameOf } from "../runtime/names";
import { CommandError } from "./commandError";
import { until } from "./until";

/** The field manager of what the command line installs. */
export const FIELD_MANAGER = "argosy";

/** @see installOperator */
export interface InstallOptions {
  /** With the rights of an administrator. */
  readonly client: KubernetesClient;
  readonly operator: Operator;
  readonly account: RunnerAccount;
  readonly signal?: AbortSignal | undefined;
}

/** How long the API server may take to serve what it has accepted. */
const DEADLINE_MS = 30_000;
const CRD = builtIn("apiextensions.k8s.io/v1", "CustomResourceDefinition");

/**
 * Applies what an operator needs in a cluster, the very objects that `pulumi up` makes: its namespaces where they are
 * missing, its CRD, its service account and roles. Resolves when the API server serves the CRD.
 *
 * @throws CommandError where another CRD has its names, or other values in a field of somebody else's
 */
export async function installOperator(options: InstallOptions): Promise<void> {
  const { client, operator, account } = options;
  const namespaces = operator.namespaces === "all" ? [] : operator.namespaces;
  for (const name of new Set([account.namespace, ...namespaces])) {
    await apply(client, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
  await installCustomResourceDefinition(options);
  for (const manifest of buildRoles(operator, account)) await apply(client, manifest);
}

/**
 * Resolves when the roles that were applied have come into force for the account: authorization follows a moment
 * after. Whoever starts to watch before that is refused and waits until he tries again.
 *
 * @param client that of the account
 */
export async function rolesInForce(
  client: KubernetesClient,
  { operator, account, signal }: Omit<InstallOptions, "client">,
): Promise<void> {
  const { group, version, kind, plural, namespaced } = operator.customResource;
  const resource: Resource = { apiVersion: `${group}/${version}`, kind, plural, namespaced };
  const [child] = operator.children;
  const childrenOf = operator.namespaces === "all" || !child ? [] : operator.namespaces;
  const lease = { namespace: account.namespace, name: leaseNameOf(operator) };
  const paths = [
    `${resourcePath(resource, {})}?limit=1`,
    // With a list of namespaces all kinds of children are within one.
    ...childrenOf.map(
      (namespace) => `${resourcePath({ ...child, namespaced: true } as Resource, { namespace })}?limit=1`,
    ),
    resourcePath(builtIn("coordination.k8s.io/v1", "Lease"), lease),
  ];
  for (const path of paths) {
    const isAllowed = async () => {
      try {
        await client.read(path);
        return true;
      } catch (error) {
        if (isApiError(error, 404)) return true;
        if (isApiError(error, 403)) return undefined;
        throw error;
      }
    };
    const what = `the rights of service account ${account.namespace}/${account.serviceAccountName}`;
    await until(isAllowed, { what, deadlineMs: DEADLINE_MS, signal });
  }
}

async function installCustomResourceDefinition({ client, operator, signal }: InstallOptions): Promise<void> {
  const manifest = buildCustomResourceDefinition(operator);
  const { name } = manifest.metadata;
  const { group, version, kind } = operator.customResource;
  await apply(client, manifest);
  const isServed = async () => {
    const conditions = conditionsOf(await client.get(CRD, { name }));
    const names = conditions.find(({ type }) => type === "NamesAccepted");
    if (names?.status === "False") {
      throw new CommandError(`the cluster does not accept the names of ${name}: ${names.message}.`);
    }
    if (!conditions.some(({ type, status }) => type === "Established" && status === "True")) return undefined;
    // Discovery follows a moment after, and the engine asks it.
    return discover(client, `${group}/${version}`, kind).catch((error: unknown) => {
      if (error instanceof UnknownKindError) return undefined;
      throw error;
    });
  };
  const what = `CustomResourceDefinition ${name} is established`;
  await until(isServed, { what, deadlineMs: DEADLINE_MS, signal });
}

async function apply(client: KubernetesClient, manifest: Manifest): Promise<void> {
  const resource = builtIn(manifest.apiVersion, manifest.kind);
  try {
    await client.apply(resource, manifest, { fieldManager: FIELD_MANAGER });
  } catch (error) {
    if (!isApiError(error, 409)) throw error;
    const what = `${manifest.kind} ${manifest.metadata.name}`;
    const remedy = "Remove it, or use another cluster.";
    throw new CommandError(`${what} is there already, made by others. ${remedy} ${error.message}`);
  }
}

function conditionsOf(object: Manifest | undefined): Condition[] {
  return (object?.["status"] as { conditions?: Condition[] } | undefined)?.conditions ?? [];
}
