import type { KubernetesClient } from "../kubernetes/client";
import { Conflicts } from "../kubernetes/conflicts";
import { isApiError } from "../kubernetes/errors";
import type { KubernetesObject } from "../kubernetes/objects";
import type { Child, ChildStore } from "./childStore";

/** One object, in the version that was seen to be its owner's child. */
export type SeenChild = Pick<Child, "resource" | "name" | "namespace" | "uid" | "resourceVersion">;

/**
 * Deletes exactly one child, in the version that was seen to be its owner's. If somebody else has written it since, it is looked at
 * again first.
 * @param isOwned whether the object that is there now is still its owner's child
 * @returns "gone" if there was none. Undefined if it is not deleted: it is no longer its owner's, or somebody else deletes it
 * @throws ApiError 409 if somebody else writes it all the time; PersistentConflictError if a webhook refuses the deletion by a
 *   conflict; ApiError, ApiUnreachableError
 */
export async function deleteOwned(
  store: ChildStore,
  client: KubernetesClient,
  child: SeenChild,
  isOwned: (object: KubernetesObject) => boolean,
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
    if (!isOwned(object)) return undefined;
    conflicts.met(result, resourceVersion, object.metadata.resourceVersion);
    ({ resourceVersion } = object.metadata);
  }
}
