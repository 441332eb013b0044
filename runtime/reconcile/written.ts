import { type KubernetesObject, latestOf } from "../kubernetes/objects";
import { MANAGER_PREFIX } from "../names";

/**
 * When somebody else last wrote an object, its status aside, in milliseconds since 1970. `managedFields` notes that time in whole
 * seconds. For an object that is being deleted it is the time of the deletion. Undefined if the time is unknown.
 *
 * Caveat: a write that only removes fields leaves no time.
 */
export function lastWriteOf({ metadata }: KubernetesObject): number | undefined {
  const { creationTimestamp, deletionTimestamp, managedFields } = metadata;
  if (deletionTimestamp !== undefined) return latestOf([deletionTimestamp]);
  if (!managedFields) return undefined;
  const times = managedFields
    .filter(({ manager = "", subresource }) => !subresource && !manager.startsWith(MANAGER_PREFIX))
    .map(({ time }) => time);
  return latestOf([creationTimestamp, ...times]);
}
