import { isNewer, type KubernetesObject, type ObjectName } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";

/** One object in a store. */
export interface StoredObject<Facts> extends ObjectName {
  readonly resource: Resource;
  readonly uid: string;
  /** The version that the other fields are about. */
  resourceVersion: string;
  /** The version that a watch or a list reported last. Our own writes do not change it. */
  reportedVersion: string;
  deleting: boolean;
  /** The facts that the store's user needs of every object. They are kept for all objects. */
  facts: Facts;
  /** The object as JSON. Undefined: it is read when it is needed. */
  json: string | undefined;
  /** How long that is, or was when it was last kept, in characters. Undefined: it never was. */
  length: number | undefined;
  /** When it was last outdated, on the clock of the store. 0: never. */
  outdatedAt: number;
  /** Whether nothing has shown it since then but a watch, whose events may come late. */
  isOutdated: boolean;
}

/** The object, stored for the first time. */
export function newStored<Facts>(
  resource: Resource,
  { metadata }: KubernetesObject,
  facts: Facts,
): StoredObject<Facts> {
  const { name, namespace, uid, resourceVersion } = metadata;
  return {
    resource,
    name,
    namespace,
    uid,
    resourceVersion,
    reportedVersion: resourceVersion,
    deleting: false,
    facts,
    json: undefined,
    length: undefined,
    outdatedAt: 0,
    isOutdated: false,
  };
}

/** How an object compares to the stored one of its name. */
type Standing =
  /** It is outdated, or about an object that another one with this name has replaced. */
  | "older"
  /** It is the stored version. Only its content may have been missing. */
  | "same"
  /** It must be taken in: a later version, another object with this name, or other content under the same version. */
  | "newer";

/**
 * What an object means for the stored one of its name.
 * @param mayDiffer whether it may have other content under the same version, as after a default was added to a CRD
 */
export function standingTo(
  known: StoredObject<unknown>,
  { metadata: { uid, resourceVersion } }: KubernetesObject,
  mayDiffer: boolean,
): Standing {
  if (isNewer(known.resourceVersion, resourceVersion)) return "older";
  // Without a version, each state may be another one.
  if (known.uid !== uid || known.resourceVersion !== resourceVersion || !resourceVersion) return "newer";
  return mayDiffer && known.json !== undefined ? "newer" : "same";
}

/** A watch or a list has reported an object. The report may be of an earlier object that had the name. */
export function noteReport(
  known: StoredObject<unknown>,
  { metadata: { uid, resourceVersion } }: KubernetesObject,
): void {
  if (known.uid === uid && isNewer(resourceVersion, known.reportedVersion))
    known.reportedVersion = resourceVersion;
}
