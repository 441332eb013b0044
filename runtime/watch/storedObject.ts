import { isDeepStrictEqual } from "node:util";
import type { KubernetesObject, ObjectName } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";

/** One object in a store. */
export interface StoredObject<Facts> extends ObjectName {
  readonly resource: Resource;
  readonly uid: string;
  /** The version that the other fields are about. */
  resourceVersion: string;
  /** The version that a watch or a list showed last. Our own writes do not change it. */
  observedVersion: string;
  deleting: boolean;
  /** The facts that the store's user needs of every object. They are kept for all objects. */
  facts: Facts;
  /** The object as JSON. Undefined: it is read when it is needed. */
  json: string | undefined;
  /** How long that is, or was when it was last kept, in characters. Undefined: it never was. */
  length: number | undefined;
  /** When it was last invalidated, on the clock of the store. 0: never. */
  invalidatedAt: number;
  /** Whether it was invalidated, and no current content has come since. */
  isInvalid: boolean;
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
    observedVersion: resourceVersion,
    deleting: false,
    facts,
    json: undefined,
    length: undefined,
    invalidatedAt: 0,
    isInvalid: false,
  };
}

/**
 * Whether two states of an object differ in nothing but the version: somebody has written the object again as it was, as a storage
 * migration does with every object. A part that is not kept, such as `managedFields`, counts only as far as the facts depend on it.
 * If the content of a later version is not known, it may be another one.
 */
export function isAlike<Facts>(before: StoredObject<Facts>, after: StoredObject<Facts>): boolean {
  if (before.resourceVersion === after.resourceVersion) return before.json === after.json;
  if (before.json === undefined || !isDeepStrictEqual(before.facts, after.facts)) return false;
  const inJson = ({ resourceVersion }: StoredObject<Facts>) =>
    `"resourceVersion":${JSON.stringify(resourceVersion)}`;
  // If another field of the object is found, the versions themselves still differ.
  return before.json.replace(inJson(before), () => inJson(after)) === after.json;
}
