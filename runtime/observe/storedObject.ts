import { isDeepStrictEqual } from "node:util";
import { readJson } from "../base/json";
import { isNewer, type KubernetesObject, type ObjectName } from "../base/objects";
import { type Packed, unpacked } from "../base/packed";
import type { Resource } from "../base/resource";

/**
 * One object in a store. It is a class so that all have one shape: an object that is made of spreads gets a shape of its own, which takes
 * more memory than its fields do.
 */
export class StoredObject<Facts> implements ObjectName {
  readonly resource: Resource;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string;
  /** The version that the other fields are about. */
  resourceVersion: string;
  /** The version that a watch or a list showed last. Our own writes do not change it. */
  observedVersion: string;
  deleting: boolean;
  /** The facts that the store's user needs of every object. They are kept for all objects. */
  facts: Facts;
  /** The object as JSON, packed if it is not one of the newest. Undefined: it is read when it is needed. */
  json: string | Packed | undefined = undefined;
  /** The same, parsed, as long as it is in use: a reconcile and its report read an object several times. It must not be changed. */
  parsed: WeakRef<object> | undefined = undefined;
  /** How long that is, or was when it was last kept, in characters. Undefined: it never was. */
  length: number | undefined = undefined;
  /** When it was last invalidated, on the clock of the store. 0: never. */
  invalidatedAt = 0;
  /** Whether it was invalidated, and no current content has come since. */
  isInvalid = false;

  /** @param namespace the object's, as one text that all objects of it share */
  constructor(resource: Resource, namespace: string | undefined, object: KubernetesObject, facts: Facts) {
    const { name, uid, resourceVersion, deletionTimestamp } = object.metadata;
    this.resource = resource;
    this.namespace = namespace;
    this.name = name;
    this.uid = uid;
    this.resourceVersion = this.observedVersion = resourceVersion;
    this.deleting = deletionTimestamp !== undefined;
    this.facts = facts;
  }
}

/** The content that is kept of an object. Undefined: it is read when it is needed. */
export function contentOf(stored: StoredObject<unknown>): KubernetesObject | undefined {
  const known = stored.parsed?.deref() as KubernetesObject | undefined;
  if (known) return known;
  const json = jsonIn(stored);
  if (json === undefined) return undefined;
  const content = readJson(json) as KubernetesObject;
  stored.parsed = new WeakRef(content);
  return content;
}

function jsonIn({ json }: StoredObject<unknown>): string | undefined {
  return typeof json === "object" ? unpacked(json) : json;
}

/**
 * Whether two states of an object differ in nothing but the version: a client has written the object again as it was, as a storage
 * migration does with every object. A part that is not kept, such as `managedFields`, counts only as far as the facts depend on
 * it. If the content of a later version is not known, it may be another one.
 */
export function isAlike<Facts>(before: StoredObject<Facts>, after: StoredObject<Facts>): boolean {
  const isSameVersion = before.resourceVersion === after.resourceVersion;
  if (!isSameVersion && (before.json === undefined || !isDeepStrictEqual(before.facts, after.facts)))
    return false;
  const [was, is] = [jsonIn(before), jsonIn(after)];
  if (isSameVersion || was === undefined) return was === is;
  const inJson = ({ resourceVersion }: StoredObject<Facts>) =>
    `"resourceVersion":${JSON.stringify(resourceVersion)}`;
  // If another field of the object is found, the versions themselves still differ.
  return was.replace(inJson(before), () => inJson(after)) === is;
}

/** How an object came to a store. */
export type Source =
  /** By the first list. */
  | "initial"
  /** By a later list. */
  | "list"
  | "watch"
  /** By the answer to our own request. The sender of the request does nothing about a change in the answer. */
  | "answer"
  /** By the answer to our own request. The sender of the request acts on a change in the answer, so no other part must. */
  | "handled";

/** What a store knows of a list of objects that it stores. */
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
