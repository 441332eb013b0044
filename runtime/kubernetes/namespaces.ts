import type { KubernetesObject, ObjectName } from "../base/objects";
import type { Resource } from "../base/resource";
import type { ObjectReader } from "./client";
import { builtIn } from "./discovery";
import { isApiError } from "./errors";

const NAMESPACES = builtIn("v1", "Namespace");

/**
 * Whether a namespace is there, or is being deleted with all that is in it, or is gone. "unseen" if we may not see it.
 * @throws ApiError, ApiUnreachableError
 */
export async function lookAtNamespace(
  client: ObjectReader,
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
  client: ObjectReader,
  resource: Resource,
  name: ObjectName,
): Promise<KubernetesObject | undefined> {
  return unlessGone(client, name, () => client.get(resource, name));
}

/** What `read` gives. Undefined if we may not read in a namespace that is gone. @throws what `read` throws otherwise */
export async function unlessGone<Read>(
  client: ObjectReader,
  { namespace }: ObjectName,
  read: () => Promise<Read>,
): Promise<Read | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!isApiError(error, 403) || namespace === undefined) throw error;
    if ((await lookAtNamespace(client, namespace)) === "gone") return undefined;
    throw error;
  }
}
