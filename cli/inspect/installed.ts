import { formerIdentitiesOf, identityOf, type OperatorIdentity } from "../../runtime/base/names";
import type { KubernetesObject } from "../../runtime/base/objects";
import type { Resource } from "../../runtime/base/resource";
import { compareTexts } from "../../runtime/base/text";
import { builtIn, ifRefused, type KubernetesClient, resourceOf } from "../../runtime/cli";
import { CommandError } from "../common/commandError";
import { progress } from "../common/terminal";
import {
  type InstalledOperator,
  type InstalledOperators,
  isReadable,
  readInstalled,
  type UnreadableOperator,
} from "./readInstalled";
import { listSeen, type Seen } from "./seen";

/** The namespace of operators in a program that names none, and of those that `argosy dev` runs. */
export const DEFAULT_HOME = "argosy";
const SELECTOR = "app.kubernetes.io/component=definition,app.kubernetes.io/managed-by=argosy";

const UNSEEN: Seen = {
  objects: [],
  unseen: `this kubeconfig may list configmaps neither in all namespaces nor in ${DEFAULT_HOME}`,
};

/**
 * The operators of a cluster, found by the ConfigMaps that their runners read. If the account has rights in only one namespace,
 * only the namespace "argosy" is searched. Without the right to list them there, none is seen and no error is thrown, because an
 * object can still be read and its handler be asked without them. `argosy dev` creates no such ConfigMaps, so operators that it
 * runs are not found.
 */
export async function installedOperators(client: KubernetesClient): Promise<InstalledOperators> {
  const { objects, unseen } = await listSeen(
    client,
    builtIn("v1", "ConfigMap"),
    { labelSelector: SELECTOR },
    { near: [DEFAULT_HOME] },
  ).catch(ifRefused(403, UNSEEN));
  const newest = newestOf(objects);
  const isUnreadable = (each: InstalledOperator | UnreadableOperator): each is UnreadableOperator =>
    !isReadable(each);
  const found = [...newest.filter(isUnreadable), ...(await realOnes(client, newest.filter(isReadable)))];
  return { operators: found.filter(isReadable), unreadable: found.filter(isUnreadable), unseen };
}

const BINDINGS = builtIn("rbac.authorization.k8s.io/v1", "ClusterRoleBinding");

/**
 * The real one of several operators with the same identity. There can be only one, but any user who may create ConfigMaps in a
 * namespace can make up another one there. Only an administrator can write the binding of the real one's account. The binding names
 * the namespace. Without the right to read it, none of them is used.
 */
async function realOnes(
  client: KubernetesClient,
  found: readonly InstalledOperator[],
): Promise<(InstalledOperator | UnreadableOperator)[]> {
  const identities = [...new Set(found.map(identityOf))];
  const groups = identities.map(async (identity) => {
    const same = found.filter((each) => identityOf(each) === identity);
    if (same.length === 1) return same;
    const home = await homeOfAccount(client, runnerBindingOf(identity));
    const real = same.filter((each) => each.home === home);
    return real.length > 0 ? real : same.map((each) => contested(each, same));
  });
  return (await Promise.all(groups)).flat();
}

/** The ClusterRoleBinding of the account of an operator with this identity. Every operator has one. */
function runnerBindingOf(identity: string): string {
  return `${identity}-runner`;
}

/** The namespace of the account that a binding names. Undefined if there is no such binding, or it may not be read. */
async function homeOfAccount(client: KubernetesClient, name: string): Promise<string | undefined> {
  const binding = await client
    .get(BINDINGS, { name })
    .catch(ifRefused<KubernetesObject | undefined>(403, undefined));
  const [subject] = (binding?.["subjects"] ?? []) as readonly { namespace?: string }[];
  return subject?.namespace;
}

function contested(operator: InstalledOperator, same: readonly InstalledOperator[]): UnreadableOperator {
  const { name, home, argosyVersion } = operator;
  const homes = same.map((each) => each.home).join(" and ");
  return {
    name,
    home,
    argosyVersion,
    complaint: `found in the namespaces ${homes}, and only one of these operators can be real`,
    remedy:
      `The ClusterRoleBinding ${runnerBindingOf(identityOf(operator))} names the namespace of the real one: ask for the right to ` +
      `get it. In the others, delete the ConfigMaps of ${name} among those with the labels ${SELECTOR}.`,
  };
}

/** The namespaces of these operators' runners, which are also those of their runs, and the namespace of operators that are not seen. */
export function homesOf({ operators, unreadable }: InstalledOperators): readonly string[] {
  return [...new Set([DEFAULT_HOME, ...[...operators, ...unreadable].map(({ home }) => home)])];
}

/** Tells the user which operators a command leaves out, because it cannot read their definitions. */
export function tellLeftOut({ unreadable }: Pick<InstalledOperators, "unreadable">): void {
  for (const { name, home, complaint, remedy } of unreadable)
    progress(`The operator ${name} in the namespace ${home} is left out. It was ${complaint}. ${remedy}`);
}

/** The error of a command that needs the definition of an operator and cannot read it. */
export function unreadableError({ name, home, complaint, remedy }: UnreadableOperator): CommandError {
  return new CommandError(`The operator ${name} in the namespace ${home} was ${complaint}. ${remedy}`);
}

/**
 * The kinds that these operators handle, by the operators' identities. A run from before a rename has a former identity, which another
 * operator may have now.
 */
export function kindsOf({ operators }: InstalledOperators): (identity: string) => Resource | undefined {
  return (identity) => {
    const isMeant = (each: OperatorIdentity) => identityOf(each) === identity;
    const found = operators.find(isMeant) ?? operators.find((each) => formerIdentitiesOf(each).some(isMeant));
    return found && resourceOf(found.customResource);
  };
}

/** Takes the newest definition of each operator, because an operator has two during a roll-out. */
function newestOf(configMaps: readonly KubernetesObject[]): (InstalledOperator | UnreadableOperator)[] {
  const byAge = [...configMaps].sort((one, other) =>
    compareTexts(one.metadata.creationTimestamp ?? "", other.metadata.creationTimestamp ?? ""),
  );
  const operators = byAge.map(readInstalled);
  const newest = new Map(operators.map((each) => [`${each.home}/${each.name}`, each]));
  return [...newest.values()].sort((one, other) => compareTexts(one.name, other.name));
}
