import type { ObjectName } from "../base/objects";
import type { ObjectReader } from "./client";
import { builtIn } from "./discovery";
import { ifRefused, isApiError } from "./errors";

const NAMESPACES = builtIn("v1", "Namespace");

/**
 * Whether a namespace exists, is being deleted with all of its objects, or is gone. "unseen" if we may not see it.
 * @throws ApiError, ApiUnreachableError
 */
export async function lookAtNamespace(
  client: ObjectReader,
  name: string,
): Promise<"there" | "going" | "gone" | "unseen"> {
  const namespace = await client.get(NAMESPACES, { name }).catch(ifRefused(403, "unseen" as const));
  if (namespace === "unseen") return namespace;
  if (!namespace) return "gone";
  return namespace.metadata.deletionTimestamp === undefined ? "there" : "going";
}

/**
 * What `read` gives. Undefined if we may not read in a namespace that is gone: our right to read may have gone with the namespace.
 * @throws what `read` throws otherwise
 */
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
