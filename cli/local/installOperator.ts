import { buildCustomResourceDefinition } from "../../components/manifests/customResourceDefinition";
import { isTakenBack } from "../../components/manifests/metadata";
import { runnerNameOf } from "../../components/manifests/names";
import { buildHandlerRoles, buildRoles } from "../../components/manifests/operator/rbac";
import { tokenRule } from "../../components/manifests/operator/rules";
import { buildMemoryDefinition } from "../../components/manifests/platform/memories";
import { displayPath } from "../../definition/problems";
import { makerOf } from "../../preflight/makers";
import { leaseNameOf } from "../../runtime/base/names";
import { conditionsIn, isTrue, type KubernetesObject, type Manifest } from "../../runtime/base/objects";
import { type Resource, resourcePath } from "../../runtime/base/resource";
import {
  builtIn,
  discoverIfServed,
  isApiError,
  type KubernetesClient,
  memoryResourceOf,
  type Operator,
  type PolicyRule,
  resourceOf,
} from "../../runtime/cli";
import { CommandError } from "../common/commandError";
import { until } from "../common/until";

/** The field manager of objects that the command line installs. */
export const FIELD_MANAGER = "argosy";

/** @see installOperator */
export interface InstallOptions {
  /** A client with the rights of an administrator. */
  readonly client: KubernetesClient;
  readonly operator: Operator;
  /** The namespace of the runner, and of its accounts and its lease. */
  readonly namespace: string;
  readonly signal?: AbortSignal | undefined;
}

/** How long the API server may take to serve an accepted kind. */
const DEADLINE_MS = 30_000;
/** The kind with which an account asks about its own rights. Every account may do so, because of system:basic-user. */
const ACCESS_REVIEW: Resource = {
  apiVersion: "authorization.k8s.io/v1",
  kind: "SelfSubjectAccessReview",
  plural: "selfsubjectaccessreviews",
  namespaced: false,
};
/** The beginning of the field managers of Pulumi's provider: "pulumi-kubernetes-15ff3607". */
const PULUMI_MANAGER = "pulumi-kubernetes";
/** How the API server answers a CRD that is wrong: with 500 if server-side apply does not know a field of it. */
const REFUSALS = [400, 409, 422, 500];
const CRD = builtIn("apiextensions.k8s.io/v1", "CustomResourceDefinition");

/**
 * Applies the objects that an operator needs in a cluster, exactly those that `pulumi up` creates: its namespaces if they are
 * missing, its CRD, its service accounts and roles. Resolves when the API server serves the CRD. An operator that watches others'
 * objects has no CRD, so the CRD of its memories is installed.
 *
 * @throws CommandError if another CRD has its names, or if another field manager has set other values in a field
 */
export async function installOperator(options: InstallOptions): Promise<void> {
  const { client, operator, namespace } = options;
  const namespaces = operator.namespaces === "all" ? [] : operator.namespaces;
  for (const name of new Set([namespace, ...namespaces])) {
    await apply(client, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
  const memories = buildMemoryDefinition([operator]);
  if (memories) await installDefinition(options, memories);
  else await installDefinition(options, buildCustomResourceDefinition(operator));
  const roles = [...buildRoles(operator, namespace), ...buildHandlerRoles(operator, namespace)];
  for (const manifest of roles) await apply(client, manifest);
}

/**
 * Resolves when the applied roles have come into force for the runner's account, which happens a moment later. An account that
 * starts to watch earlier is refused, and has to wait until its next try.
 *
 * @param client that of the account
 */
export async function rolesInForce(
  client: KubernetesClient,
  { operator, namespace: home, signal }: Omit<InstallOptions, "client">,
): Promise<void> {
  const resource = resourceOf(operator.customResource);
  const [child] = operator.children;
  const { watch, namespaces } = operator;
  const within = namespaces === "all" ? [] : namespaces;
  const lease = { namespace: home, name: leaseNameOf(operator) };
  const listOf = (kind: Resource, namespace?: string) =>
    `${resourcePath(kind, namespace === undefined ? {} : { namespace })}?limit=1`;
  const paths = [
    // The rights to objects that are not the operator's own apply only in its namespaces.
    ...(watch && within.length > 0 ? within : [undefined]).map((namespace) => listOf(resource, namespace)),
    // With a list of namespaces, all kinds of children are namespaced.
    ...(child ? within.map((namespace) => listOf({ ...child, namespaced: true }, namespace)) : []),
    ...(watch ? [listOf(memoryResourceOf(operator), home)] : []),
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
    const what = `the rights of service account ${home}/${runnerNameOf(operator.name)}`;
    await until(isAllowed, { what, deadlineMs: DEADLINE_MS, signal });
  }
  if (operator.rules.length > 0) {
    const what = `the right to fetch a token for the handler of ${operator.name}`;
    const token = tokenRule(operator);
    await until(() => isGranted(client, token, home), { what, deadlineMs: DEADLINE_MS, signal });
  }
}

/**
 * Resolves when the rules of a handler have come into force for its account: the handler asks only once.
 *
 * @param client that of the handler's account
 */
export async function rulesInForce(
  client: KubernetesClient,
  { operator, signal }: Pick<InstallOptions, "operator" | "signal">,
): Promise<void> {
  const scopes = operator.namespaces === "all" ? [undefined] : operator.namespaces;
  // A role comes into force as a whole.
  const [rule] = operator.rules;
  if (!rule) return;
  for (const namespace of scopes) {
    const what = `the rights of the handler of ${operator.name}`;
    await until(() => isGranted(client, rule, namespace), { what, deadlineMs: DEADLINE_MS, signal });
  }
}

/** Whether an account has the first right of a rule. Undefined: not yet. */
async function isGranted(
  client: KubernetesClient,
  { apiGroups: [group], resources: [named = ""], verbs: [verb], resourceNames: [name] = [] }: PolicyRule,
  namespace: string | undefined,
): Promise<true | undefined> {
  const [resource, subresource] = named.split("/");
  const resourceAttributes = { namespace, group, resource, subresource, verb, name };
  try {
    const { status } = await client.create(ACCESS_REVIEW, {
      apiVersion: ACCESS_REVIEW.apiVersion,
      kind: ACCESS_REVIEW.kind,
      // Other metadata would be refused.
      metadata: { name: "" },
      spec: { resourceAttributes },
    });
    return (status as { allowed?: boolean } | undefined)?.allowed ? true : undefined;
  } catch (error) {
    // The cluster lets no account ask about its own rights.
    if (isApiError(error, 403)) return true;
    throw error;
  }
}

/**
 * Applies the CRD of an operator, or of a kind that it uses. Resolves when the API server serves the kind.
 * @throws CommandError as {@link installOperator}
 */
export async function installDefinition(
  { client, operator, signal }: Pick<InstallOptions, "client" | "operator" | "signal">,
  manifest: Manifest,
): Promise<void> {
  const { name } = manifest.metadata;
  const [apiVersion, kind] = servedBy(manifest);
  try {
    await apply(client, manifest);
  } catch (error) {
    if (!REFUSALS.some((code) => isApiError(error, code))) throw error;
    const { message } = error as Error;
    throw new CommandError(
      `${displayPath(operator.folder)}: the API server refused the CRD ${name}: ${message}`,
    );
  }
  const isServed = async () => {
    const status = (await client.get(CRD, { name }))?.["status"];
    const names = conditionsIn(status).find(({ type }) => type === "NamesAccepted");
    if (names?.status === "False") {
      throw new CommandError(
        `${displayPath(operator.folder)}: the cluster does not accept the names of the CRD ${name}: ${names.message}. Another ` +
          `CRD of the same group has this name: give this one another name in its spec.names, or delete the other one.`,
      );
    }
    if (!isTrue(status, "Established")) return undefined;
    // Discovery, which the engine uses, is updated a moment later.
    return discoverIfServed(client, apiVersion, kind);
  };
  const what = `CustomResourceDefinition ${name} is established`;
  const message = (waited: string) => `The API server did not serve the CRD ${name} within ${waited}.`;
  await until(isServed, { what, message, deadlineMs: DEADLINE_MS, signal });
}

/** The apiVersion of the first version of a CRD that is stored, and its kind. */
function servedBy({ spec }: Manifest): [apiVersion: string, kind: string] {
  const { group, names, versions } = spec as {
    group: string;
    names: { kind: string };
    versions: { name: string; storage: boolean }[];
  };
  const stored = versions.find(({ storage }) => storage)?.name ?? "";
  return [`${group}/${stored}`, names.kind];
}

async function apply(client: KubernetesClient, manifest: Manifest): Promise<void> {
  const { apiVersion, kind, metadata } = manifest;
  const force = isTakenBack(manifest);
  try {
    await client.apply(builtIn(apiVersion, kind), manifest, { fieldManager: FIELD_MANAGER, force });
  } catch (error) {
    if (!isApiError(error, 409) || !error.causes.some(isOwnedByOthers)) throw error;
    const { name, namespace } = metadata;
    const found = await client.get(builtIn(apiVersion, kind), { name, namespace }).catch(() => undefined);
    const program = found && makerOf(found);
    if (program !== undefined || (kind !== CRD.kind && isOfPulumi(found))) {
      const which = program === undefined ? "a Pulumi program" : `the Pulumi stack ${program}`;
      throw new CommandError(
        `${kind} ${name} belongs to ${which}, and this working tree changes it. Apply the change with pulumi up, ` +
          `or try it on the embedded control plane, with argosy dev without --context. ${error.message}`,
      );
    }
    // Removing a CRD would delete all its objects.
    const remedy =
      kind === CRD.kind
        ? `Use another cluster. To take over the CRD and its objects, add the annotation pulumi.com/patchForce: "true" to it in the operator's folder.`
        : "Remove it, or use another cluster.";
    throw new CommandError(
      `${kind} ${name} already exists and was created by others. ${remedy} ${error.message}`,
    );
  }
}

/** Whether a stack of Pulumi applied an object. Each stack has a field manager of its own. */
function isOfPulumi(object: KubernetesObject | undefined): boolean {
  const { managedFields = [] } = object?.metadata ?? {};
  return managedFields.some(({ manager }) => manager?.startsWith(PULUMI_MANAGER));
}

/** Whether a cause of a refused server-side apply is that another field manager owns a field of it with another value. */
function isOwnedByOthers({ reason }: { readonly reason?: string }): boolean {
  return reason === "FieldManagerConflict";
}
