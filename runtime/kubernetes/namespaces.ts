import type { KubernetesClient } from "./client";
import { builtIn } from "./discovery";
import { isApiError } from "./errors";
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
export async function getUnlessGone(
  client: Pick<KubernetesClient, "get">,
  resource: Resource,
  name: ObjectName,
): Promise<KubernetesObject | undefined> {
  try {
    return await client.get(resource, name);
  } catch (error) {
    const { namespace } = name;
    if (!isApiError(error, 403) || namespace === undefined) throw error;
    if ((await lookAtNamespace(client, namespace)) === "gone") return undefined;
    throw error;
  }
}
