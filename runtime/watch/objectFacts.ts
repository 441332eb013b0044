import { fingerprint } from "../json/fingerprint";
import { isTrue, type KubernetesObject } from "../kubernetes/objects";
import { annotationsOf, madeOf, ownAnnotationsOf } from "./watched";

/** The differences for objects of a kind that we do not own. */
export interface WatchedObjects {
  /** Whether an object is one of those that are watched. All others count as gone. */
  readonly isWatched: (object: KubernetesObject) => boolean;
  /** The parts of an object for which it is reconciled if they change. */
  readonly partsOf: (object: KubernetesObject) => unknown;
  /** Whether the last verdict about the object says that this generation of it is ready. */
  readonly isReady: (object: KubernetesObject) => boolean;
}

/** What is kept of every custom resource. These facts tell whether a change needs a reconcile. */
export interface ObjectFacts {
  /** A fingerprint of the parts whose change causes a reconcile. The status is not among them, so our own writes cause none. */
  readonly trigger: string;
  /** The part of {@link trigger} that hints report too. */
  readonly hinted: string;
  readonly isReady: boolean;
  /** Our finalizers that the object has. */
  readonly finalizers: readonly string[];
  /**
   * The engine's memory that the status has, or had before somebody emptied the memory, as JSON. Undefined: there was none, or it is
   * too long.
   */
  readonly memory?: string | undefined;
  /** Whether somebody has emptied that. @default false */
  readonly isEmptied?: boolean;
  /** The uids of the objects of which the object was made. Only for objects that we do not own. */
  readonly madeOf?: readonly string[];
}

/**
 * The facts of an object.
 * @param watched set if it is not a custom resource of our own
 * @param ours our finalizers
 */
export function objectFactsOf(
  object: KubernetesObject,
  watched: WatchedObjects | undefined,
  ours: readonly string[],
): ObjectFacts {
  const { generation, deletionTimestamp, labels } = object.metadata;
  const finalizers = ours.filter((finalizer) => object.metadata.finalizers?.includes(finalizer));
  const own = ownAnnotationsOf(object);
  if (watched) {
    const trigger = fingerprint([deletionTimestamp, own, watched.partsOf(object)]);
    return {
      trigger,
      hinted: "",
      finalizers,
      isReady: watched.isReady(object),
      madeOf: madeOf(object),
    };
  }
  const hinted = fingerprint([generation, deletionTimestamp, own]);
  return {
    hinted,
    finalizers,
    trigger: fingerprint([hinted, Object.entries(labels ?? {}).sort(), annotationsOf(object)]),
    isReady: isReady(object),
  };
}

/** Whether an object's status says that its newest generation was reconciled and is ready. */
function isReady(object: KubernetesObject): boolean {
  const status = object["status"] as { observedGeneration?: number } | undefined;
  if (object.metadata.deletionTimestamp || status?.observedGeneration !== object.metadata.generation)
    return false;
  return isTrue(status, "Ready");
}
