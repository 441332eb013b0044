import { groupOf, type KubernetesObject, kindAndName } from "../../runtime/base/objects";
import {
  hasLabels,
  ifRefused,
  isWatchedBy,
  type KubernetesClient,
  labelSelectorOf,
  type Operator,
  resourceOf,
} from "../../runtime/cli";
import { CommandError, UsageError } from "../common/commandError";
import type { InstalledOperators } from "../inspect/readInstalled";
import { findTarget, type NamespaceOptions, readTarget } from "../inspect/target";
import { asDeployed } from "./deployed";

/** What identifies an object in addition to its name. */
export interface LiveObjectOptions extends NamespaceOptions {
  /** The installation, if an operator is deployed more than once. */
  readonly installation?: string;
}

/**
 * An object that the user named as KIND/NAME, in the version that the operator of this working tree handles.
 * @throws UsageError, CommandError if there is no such object, or if no operator here handles it
 */
export async function liveObject(
  client: KubernetesClient,
  name: string,
  operators: readonly Operator[],
  installed: InstalledOperators,
  options: LiveObjectOptions,
): Promise<{ readonly operator: Operator; readonly object: KubernetesObject }> {
  const target = await findTarget(client, name, options, installed);
  const object = await readTarget(client, target);
  const operator = operatorOf(object, operators, name);
  const { operator: deployed, home } = asDeployed(operator, installed, options.installation);
  if (!isWatchedBy(deployed, home)(object))
    throw new CommandError(`${operator.name} does not watch ${name}. ${whyUnwatched(operator, object)}`);
  checkHandles(deployed, object.metadata.namespace);
  // The object was found in the version that the cluster prefers.
  const { plural, namespaced } = target.resource;
  const resource = resourceOf({ ...operator.customResource, plural, namespaced });
  const own = await client.get(resource, target.name).catch(ifRefused(404, undefined));
  return { operator, object: own ?? object };
}

function whyUnwatched({ watch }: Operator, object: KubernetesObject): string {
  if (!watch || hasLabels(object, watch.labels))
    return "It watches neither what it created itself, nor records of runs, nor Secrets with a token or a release of Helm.";
  const labels = labelSelectorOf(watch);
  return `It watches only objects with the labels ${labels}: give the object these labels, or change watch.labels in operator.yaml.`;
}

/**
 * Checks that an operator handles objects of its kind in a namespace.
 * @param namespace undefined for an object that is in none
 * @throws CommandError if it does not
 */
export function checkHandles(
  { name, customResource, namespaces }: Pick<Operator, "name" | "customResource" | "namespaces">,
  namespace: string | undefined,
): void {
  if (namespace === undefined || namespaces === "all" || namespaces.includes(namespace)) return;
  throw new CommandError(
    `${name} handles no ${customResource.kind} in namespace ${namespace}, only in ${namespaces.join(", ")}.`,
  );
}

/**
 * The operator of the working tree that handles an object's kind.
 * @throws UsageError if there is none, or more than one
 */
export function operatorOf(
  {
    apiVersion,
    kind,
    metadata,
  }: Pick<KubernetesObject, "apiVersion" | "kind"> & {
    readonly metadata: { readonly namespace?: string; readonly name: string };
  },
  operators: readonly Operator[],
  what = kindAndName(kind, metadata),
): Operator {
  const found = operators.filter(
    ({ customResource }) => customResource.kind === kind && customResource.group === groupOf(apiVersion),
  );
  const [only, another] = found;
  if (!only) {
    const known = operators.map(({ customResource }) => customResource.kind).join(", ");
    throw new UsageError(`${what}: no operator here handles ${kind} (${apiVersion}). Known kinds: ${known}.`);
  }
  if (another) {
    const names = found.map(({ name }) => name).join(", ");
    throw new UsageError(`${what}: several operators handle ${kind}: ${names}. Use argosy diff with a name.`);
  }
  return only;
}
