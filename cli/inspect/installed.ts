import type { Operator } from "../../runtime/definition/definition";
import { isRecord } from "../../runtime/json";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { builtIn } from "../../runtime/kubernetes/discovery";
import { isApiError } from "../../runtime/kubernetes/errors";
import type { KubernetesObject } from "../../runtime/kubernetes/objects";
import { DEFINITION_FILE } from "../../runtime/pod/definitionFile";

/** The definition of an operator, as far as an installed one says it. */
export type InstalledDefinition = Pick<
  Operator,
  "name" | "installation" | "customResource" | "watch" | "namespaces" | "execution"
>;

/** An operator that a program has deployed to a cluster. */
export interface InstalledOperator extends InstalledDefinition {
  /** The namespace of its runner and its runs. */
  readonly home: string;
}

/** The namespace of operators in a program that names none. */
const DEFAULT_HOME = "argosy";
const SELECTOR = "app.kubernetes.io/component=definition,app.kubernetes.io/managed-by=argosy";

/**
 * The operators of a cluster, by the ConfigMaps that their runners read. With rights in one namespace only, those of the
 * namespace "argosy". `argosy dev` makes no such ConfigMaps, so an operator that runs on a machine is not among them.
 *
 * @param home only operators that live in this namespace. @default all
 * @throws ApiError if the account may list them nowhere
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
 * The installed operators, as far as the account may see them: without the right to list operators there are none, since
 * an object can still be looked at, and a handler still be asked about it.
 */
export async function installedOperatorsSeen(
  client: KubernetesClient,
): Promise<readonly InstalledOperator[]> {
  return installedOperators(client).catch((error: unknown) => {
    if (isApiError(error, 403)) return [];
    throw error;
  });
}

/** In a roll-out an operator has two definitions. */
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
