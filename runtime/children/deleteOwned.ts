import type { KubernetesClient } from "../kubernetes/client";
import { Conflicts } from "../kubernetes/conflicts";
import { isApiError } from "../kubernetes/errors";
import type { Resource } from "../kubernetes/resource";
import type { Child, ChildStore } from "./childStore";
import { provenOwner } from "./ownership";

/** Whose child it is, and what proves that. */
export interface OwnedBy {
  readonly ownerUid: string;
  /** The owner's kind. */
  readonly ownerKind: Resource;
  /** The field managers that are ours. */
  readonly managers: readonly string[];
}

/**
 * Deletes exactly one child, in the version that was seen to be its owner's. If somebody else has written it since, it is looked at
 * again first.
 * @returns "gone" if there was none. Undefined if it is not deleted: it is no longer its owner's, or somebody else deletes it
 * @throws ApiError 409 if somebody else writes it all the time; StandingConflictError if a webhook refuses the deletion by a
 *   conflict; ApiError, ApiUnreachableError
 */
export async function deleteOwned(
  store: ChildStore,
  client: KubernetesClient,
  child: Pick<Child, "resource" | "name" | "namespace" | "uid" | "resourceVersion">,
  { ownerUid, ownerKind, managers }: OwnedBy,
): Promise<"deleted" | "gone" | undefined> {
  const { resource, uid } = child;
  let { resourceVersion } = child;
  const conflicts = new Conflicts();
  for (;;) {
    const { result, object } = await store.write(resource, child, undefined, async () => {
      try {
        return {
          result: await client.deleteVersion(resource, child, { uid, resourceVersion }),
          object: undefined,
        };
      } catch (error) {
        if (!isApiError(error, 409)) throw error;
        return { result: error, object: await client.get(resource, child) };
      }
    });
    if (result === "deleted" || result === "gone") return result;
    if (object?.metadata.uid !== uid || object.metadata.deletionTimestamp) return undefined;
    if (provenOwner(object, ownerKind, managers)?.uid !== ownerUid) return undefined;
    conflicts.met(result, resourceVersion, object.metadata.resourceVersion);
    ({ resourceVersion } = object.metadata);
  }
}
