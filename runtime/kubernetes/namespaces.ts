import type { KubernetesClient } from "./client";
import { builtIn } from "./discovery";
import { isApiError } from "./errors";
import { named } from "./list";
import type { KubernetesObject, ObjectName } from "./objects";
import type { Resource } from "./resource";

const NAMESPACES = builtIn("v1", "Namespace");

/**
 * Whether a namespace is there, or is being deleted with all that is in it, or is gone. "unseen" if we may not see it.
 * @throws ApiError, ApiUnreachableError
 */
export async function lookAtNamespace(
  client: Pick<KubernetesClient, "get">,
  name: string,
): Promise<"there" | "going" | "gone" | "unseen"> {
  try {
    const namespace = await client.get(NAMESPACES, { name });
    if (!namespace) return "gone";
    return namespace.metadata.deletionTimestamp === undefined ? "there" : "going";
  } catch (error) {
    if (isApiError(error, 403)) return "unseen";
    throw error;
  }
}

/**
 * The object. Undefined if there is none with that name, or if its namespace is gone: our right to read the object may have gone
 * with the namespace.
 * @throws ApiError, ApiUnreachableError
 */
export function getUnlessGone(
  client: Pick<KubernetesClient, "get">,
  resource: Resource,
  name: ObjectName,
): Promise<KubernetesObject | undefined> {
  return unlessGone(client, name, () => client.get(resource, name));
}

/** The same by a list, which fails if the cluster does not serve the kind. The answer to a GET is then that there is no object. */
export function findUnlessGone(
  client: Pick<KubernetesClient, "get" | "listAll">,
  resource: Resource,
  name: ObjectName,
): Promise<KubernetesObject | undefined> {
  const selection = { namespace: name.namespace, ...named(name.name) };
  return unlessGone(client, name, async () => (await client.listAll(resource, selection))[0]);
}

async function unlessGone(
  client: Pick<KubernetesClient, "get">,
  { namespace }: ObjectName,
  read: () => Promise<KubernetesObject | undefined>,
): Promise<KubernetesObject | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!isApiError(error, 403) || namespace === undefined) throw error;
    if ((await lookAtNamespace(client, namespace)) === "gone") return undefined;
    throw error;
  }
}
