import { resourceOf } from "../../runtime/argo/runTarget";
import type { Operator } from "../../runtime/definition/definition";
import { isRecord } from "../../runtime/json/json";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { builtIn } from "../../runtime/kubernetes/discovery";
import { isApiError } from "../../runtime/kubernetes/errors";
import type { KubernetesObject } from "../../runtime/kubernetes/objects";
import type { Resource } from "../../runtime/kubernetes/resource";
import { identityOf } from "../../runtime/names";
import { DEFINITION_FILE } from "../../runtime/pod/definitionFile";

/** The part of an operator's definition that an installed operator reveals. */
export type InstalledDefinition = Pick<
  Operator,
  "name" | "installation" | "customResource" | "watch" | "namespaces" | "execution"
>;

/** An operator that a program has deployed to a cluster. */
export interface InstalledOperator extends InstalledDefinition {
  /** The namespace of its runner and its runs. */
  readonly home: string;
}

/** The namespace of operators in a program that names none, and of those that `argosy dev` runs. */
export const DEFAULT_HOME = "argosy";
const SELECTOR = "app.kubernetes.io/component=definition,app.kubernetes.io/managed-by=argosy";

/**
 * The operators of a cluster, found by the ConfigMaps that their runners read. If the account has rights in only one namespace,
 * only the namespace "argosy" is searched. `argosy dev` creates no such ConfigMaps, so operators that it runs are not found.
 *
 * @param home only operators that live in this namespace.
 * @default all
 * @throws ApiError if the account may not list them anywhere
 */
export async function installedOperators(
  client: KubernetesClient,
  home?: string,
): Promise<readonly InstalledOperator[]> {
  const list = (namespace?: string) =>
    client.listAll(builtIn("v1", "ConfigMap"), {
      labelSelector: SELECTOR,
      ...(namespace && { namespace }),
    });
  const found = await list(home).catch((error: unknown) => {
    if (home !== undefined || !isApiError(error, 403)) throw error;
    return list(DEFAULT_HOME);
  });
  return newestOf(found);
}

/**
 * The installed operators that the account may see. Without the right to list them, the list is empty and no error is thrown,
 * because an object can still be read and its handler be asked without them.
 */
export async function installedOperatorsSeen(
  client: KubernetesClient,
): Promise<readonly InstalledOperator[]> {
  return installedOperators(client).catch((error: unknown) => {
    if (isApiError(error, 403)) return [];
    throw error;
  });
}

/** The kinds that these operators handle, by the operators' identities. */
export function kindsOf(installed: readonly InstalledOperator[]): (identity: string) => Resource | undefined {
  const kinds = new Map(installed.map((each) => [identityOf(each), resourceOf(each.customResource)]));
  return (identity) => kinds.get(identity);
}

/** Takes the newest definition of each operator, because an operator has two during a roll-out. */
function newestOf(configMaps: readonly KubernetesObject[]): InstalledOperator[] {
  const byAge = [...configMaps].sort((one, other) =>
    (one.metadata.creationTimestamp ?? "").localeCompare(other.metadata.creationTimestamp ?? ""),
  );
  const operators = new Map<string, InstalledOperator>();
  for (const { metadata, data } of byAge) {
    const { namespace: home = "" } = metadata;
    const definition = definitionIn(data);
    if (definition) operators.set(`${home}/${definition.name}`, { ...definition, home });
  }
  return [...operators.values()].sort((one, other) => one.name.localeCompare(other.name));
}

function definitionIn(data: unknown): InstalledDefinition | undefined {
  const text = isRecord(data) ? data[DEFINITION_FILE] : undefined;
  if (typeof text !== "string") return undefined;
  try {
    const definition: unknown = JSON.parse(text);
    return isRecord(definition) && isRecord(definition["customResource"])
      ? (definition as unknown as InstalledDefinition)
      : undefined;
  } catch {
    return undefined;
  }
}
