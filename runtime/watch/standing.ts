import { isNewer, type KubernetesObject } from "../kubernetes/objects";
import type { StoredObject } from "./storedObject";

/** How an object came to a store. */
export type Source =
  /** By the first list. */
  | "initial"
  /** By a later list. */
  | "list"
  | "watch"
  /** By the answer to our own request. The sender of the request does nothing about a change in the answer. */
  | "answer"
  /** By the answer to our own request. The sender of the request acts on a change in the answer, so nobody else must. */
  | "handled";

/** What a store knows of a list of objects that it takes in. */
export interface ListFacts {
  readonly source: "initial" | "list";
  /** When it was requested, on the clock of the store. */
  readonly requestedAt: number;
  /** It shows every object as it was at this version. */
  readonly version: string;
  /** Whether the API server is at an earlier version than before, as after a restore of etcd. */
  readonly isReset: boolean;
}

/** How an incoming object compares with the stored object of the same name. */
type Standing =
  /** It is an earlier state, or the state of an earlier object of the name. The stored one stays. */
  | "older"
  /** It is the stored version. Only its content may have been missing. */
  | "same"
  /** It replaces the stored one. */
  | "newer";

/**
 * The one table of versions: whether an object that comes to a store replaces the stored one of its name. The first line that
 * fits counts.
 *
 * | the object | stands | why |
 * | --- | --- | --- |
 * | is in a list of an API server that went back | newer | etcd was restored from a backup |
 * | has an earlier version, in a list that is not older than the stored version | newer | the same, and it was written to since |
 * | has an earlier version | older | it comes late |
 * | has another uid, a later version, or no version | newer | it has changed |
 * | has the same version, in a current later list, and content is stored | newer | a default may have been added to a CRD |
 * | has the same version | same | nothing has changed |
 *
 * @param list the list that has the object. Undefined if it did not come by a list
 * @param isCurrent whether its content may be kept: see `Store`. It may not if the object was invalidated since the list was requested
 */
export function standingTo(
  known: StoredObject<unknown>,
  { metadata: { uid, resourceVersion } }: KubernetesObject,
  list: ListFacts | undefined,
  isCurrent: boolean,
): Standing {
  const { resourceVersion: version } = known;
  if (list?.isReset) return "newer";
  if (isNewer(version, resourceVersion)) return list && !isNewer(version, list.version) ? "newer" : "older";
  // Without a version, each state may be another one.
  if (known.uid !== uid || version !== resourceVersion || !resourceVersion) return "newer";
  return list?.source === "list" && isCurrent && known.json !== undefined ? "newer" : "same";
}

/** Whether a watch or one of its lists brought the object, and not the answer to our own request. */
export function isFromWatch(source: Source): boolean {
  return source !== "answer" && source !== "handled";
}

/** A watch or a list has shown an object. It may be an earlier object of the name. */
export function noteObserved(
  known: StoredObject<unknown>,
  { metadata: { uid, resourceVersion } }: KubernetesObject,
): void {
  if (known.uid === uid && isNewer(resourceVersion, known.observedVersion))
    known.observedVersion = resourceVersion;
}
