import {
  kindMissing,
  ReconcileFailure,
  ROLE_REMEDY,
  UNLISTED_KIND_REMEDY,
  UNSERVED_REMEDY,
} from "../base/failure";
import type { KubernetesObject, ObjectName } from "../base/objects";
import { isSameKind, kindKey, type Resource } from "../base/resource";
import type { HandlerEvent } from "../handler/contract";
import { isKindMissing } from "../kubernetes/discovery";
import { isApiError } from "../kubernetes/errors";
import type { ChildWatches } from "../observe/childWatches";
import { type KindWatch, type NotSynced, StillListingError } from "../observe/kindWatch";
import type { Owner, RememberedPlaces } from "../observe/ownership";
import { madeOf } from "../observe/watched";
import { MOST_NAMESPACES } from "../remember/memory";
import { GRANT_REMEDY, type NamedChild } from "../write/refusals";

/** Says which kinds are not known yet where they must be. */
type Listing = Pick<KindWatch, "notSynced">;

/** The parts that {@link Completeness} asks about cycles. */
export interface CycleSource {
  /** The owner of the child with that uid. Undefined: no known child has the uid. */
  readonly ownerOf: (uid: string) => Owner | undefined;
  /** The uids of the objects that led to a watched object. */
  readonly madeOf: (name: ObjectName) => readonly string[];
}

const RETRY = { retryAfterSeconds: 30 };
/** How many times in a row an object may come from this operator by way of others. Work in several steps takes one or two. */
const MOST_ROUNDS = 5;

/**
 * Says whether everything that a reconcile of an object needs is known.
 *
 * Guarantees:
 * - A kind or a namespace that is missing holds up only the objects that need it (tests/integration/hostile/missingKinds.test.ts and
 *   namespaces.test.ts).
 * - While their own kind is not served, objects get no children (tests/integration/hostile/noGarbageCollector.test.ts).
 */
export class Completeness {
  constructor(
    private readonly options: {
      /** The objects' own kind, as it was found at the beginning. */
      readonly resource: Resource;
      readonly objects: Listing;
      readonly children: Listing & Pick<ChildWatches, "notFound">;
      /** Undefined if nothing is remembered outside of the objects. */
      readonly memories: Listing | undefined;
      /** Says where the objects come from. Undefined if they are our own. */
      readonly cycles: CycleSource | undefined;
    },
  ) {}

  /**
   * Why a handler cannot be asked about an object now: the object may have children that are not known, or it comes from the
   * operator's own children, again and again. Undefined if it can be asked. A request to finalize does not wait for a kind that is
   * missing or that we may not list, because the object could never go: see {@link isFollowed}. Every request waits if the object's
   * own kind is not served: see {@link whyUnserved}.
   * @param remembered the kinds of children that the engine remembers for the object, and the other namespaces in which it has some
   * @param isElsewhere whether it has children in other namespaces
   */
  readonly whyNot = (
    event: HandlerEvent,
    object: KubernetesObject,
    remembered: RememberedPlaces,
    isElsewhere: boolean,
  ): ReconcileFailure | StillListingError | undefined => {
    const { children, cycles } = this.options;
    const refused = (cycles && whyCycling(object, cycles)) ?? this.whyUnserved() ?? this.whyMoved(object);
    if (refused) return refused;
    const unknown = [
      ...children.notFound(),
      ...children.notSynced(isElsewhere ? undefined : object.metadata.namespace),
    ];
    const blocking = unknown.find(({ resource, namespace, problem }) => {
      if (!problem) return true;
      if (event === "finalize" && isOutOfReach(problem)) return false;
      return isPlaceOfChildren(object, remembered, resource, namespace);
    });
    return blocking && notSyncedError(blocking);
  };

  /**
   * Why nothing may be done for any object: the cluster does not serve their kind in the version that the operator uses. Kubernetes'
   * garbage collector looks for owners in the version of the owner reference. If the API server answers 404, it takes the owner for
   * gone and deletes the child. It remembers this, and also deletes later children of that owner
   * (kubernetes, pkg/controller/garbagecollector/garbagecollector.go, isDangling; seen with 1.34).
   */
  whyUnserved(): ReconcileFailure | undefined {
    const unserved = this.options.objects
      .notSynced(undefined)
      .find(({ problem }) => problem && isKindMissing(problem));
    if (!unserved) return undefined;
    const message = `nothing is done for objects of ${kindKey(unserved.resource)} now, because Kubernetes' garbage collector would delete their new children. ${UNSERVED_REMEDY}`;
    return new ReconcileFailure("KindMissing", message, RETRY);
  }

  /**
   * Why nothing may be done for an object: its kind was created again with another scope. The marks of its children would name
   * another owner, which no change of a child wakes.
   */
  private whyMoved({ metadata }: KubernetesObject): ReconcileFailure | undefined {
    const { resource } = this.options;
    if ((metadata.namespace !== undefined) === resource.namespaced) return undefined;
    const scope = resource.namespaced ? "Namespaced" : "Cluster";
    const message = `${kindKey(resource)} had the scope ${scope} when the operator began, and has another one now. Deploy the operator again.`;
    return new ReconcileFailure("KindMissing", message, RETRY);
  }

  /**
   * Why it is not known yet whether the cluster serves a kind of children. Undefined if that is known. A busy API server does not
   * say that a kind is missing.
   */
  readonly whyUnknown = (kind: NotSynced["resource"]): ReconcileFailure | StillListingError | undefined => {
    const unknown = this.options.children
      .notFound()
      .find(({ resource }) => kindKey(resource) === kindKey(kind));
    return unknown && !(unknown.problem && isKindMissing(unknown.problem))
      ? notSyncedError(unknown)
      : undefined;
  };

  /**
   * Whether a known child is still followed. False if its kind is missing where it was, or may not be listed there: then no watch
   * says whether the child is gone.
   */
  readonly isFollowed = ({ resource, namespace }: NamedChild): boolean => {
    const isItsKind = (other: NotSynced["resource"]) => kindKey(other) === kindKey(resource);
    return !this.options.children
      .notSynced(namespace)
      .some((each) => isItsKind(each.resource) && each.problem !== undefined && isOutOfReach(each.problem));
  };

  /**
   * Throws if an object with that name may exist although no watch shows it.
   * @throws ReconcileFailure, StillListingError
   */
  readonly assertSeen = ({ namespace }: ObjectName): void => {
    const [notSynced] = this.options.objects.notSynced(namespace);
    if (notSynced) throw notSyncedError(notSynced, "which the operator watches");
  };

  /**
   * Throws if not everything is known that must be remembered.
   * @throws ReconcileFailure, StillListingError
   */
  assertRemembers(): void {
    const [notSynced] = this.options.memories?.notSynced(undefined) ?? [];
    // They are in the operators' namespace, which is none of those that an operator lists.
    if (notSynced)
      throw notSyncedError({ ...notSynced, namespace: undefined }, "which stores what must be remembered");
  }
}

/**
 * Whether an object may have children of a kind in a namespace, by what is remembered.
 * @param where undefined: the kind has no namespaces, or is listed in all of them
 */
export function isPlaceOfChildren(
  { metadata: { namespace: home } }: KubernetesObject,
  { kinds, namespaces = [] }: RememberedPlaces,
  resource: NotSynced["resource"],
  where: string | undefined,
): boolean {
  if (!kinds.some((kind) => isSameKind(kind, kindKey(resource)))) return false;
  if (where === undefined || where === home || namespaces.includes(where)) return true;
  // If no other namespace is remembered, or no more than these can be, there may be children in any.
  return namespaces.length === 0 || namespaces.length >= MOST_NAMESPACES;
}

/** Whether there is no such kind, or we may not list it. */
export function isOutOfReach(problem: unknown): boolean {
  return isKindMissing(problem) || isApiError(problem, 403);
}

/** The failure of an object that needs a kind that is not known yet. @param why the rest of the sentence */
export function notSyncedError(
  { resource, namespace, problem }: NotSynced,
  why = "and the object has children of this kind",
): ReconcileFailure | StillListingError {
  const what = `${kindKey(resource)}${namespace === undefined ? "" : ` in namespace ${namespace}`}`;
  if (!problem) return new StillListingError(what);
  if (isKindMissing(problem)) return kindMissing(resource, why);
  if (!isApiError(problem, 403)) {
    const message = `${what} cannot be listed: ${problem.message}. ${UNLISTED_KIND_REMEDY}`;
    return new ReconcileFailure("KindNotListed", message, RETRY);
  }
  const message = `the runner may not list ${what}: ${problem.message}.`;
  if (namespace === undefined)
    return new ReconcileFailure("KindNotListed", `${message} ${ROLE_REMEDY}`, RETRY);
  return new ReconcileFailure("NamespaceNotGranted", `${message} ${GRANT_REMEDY}`, RETRY);
}

/** Why no children are created for a watched object: it came from this operator's own children too many times in a row. */
function whyCycling(object: KubernetesObject, source: CycleSource): ReconcileFailure | undefined {
  if (roundsOf(object, source) <= MOST_ROUNDS) return undefined;
  const message = `this operator watches objects that another operator creates for this operator's children. The chain that led to this object went back and forth more than ${MOST_ROUNDS} times. This object gets no children, because the chain would never end.`;
  return new ReconcileFailure("WatchCycle", message, { permanent: true });
}

/**
 * How many times in a row a watched object comes from this operator: 1 if it was created because of one of the operator's
 * children, 2 if that child belongs to an object that was created in the same way, and so on.
 */
function roundsOf(object: KubernetesObject, source: CycleSource): number {
  let rounds = 0;
  for (let uids: readonly string[] = madeOf(object); rounds <= MOST_ROUNDS; rounds++) {
    const owner = uids.map((uid) => source.ownerOf(uid)).find((each) => each !== undefined);
    if (!owner) break;
    uids = source.madeOf(owner);
  }
  return rounds;
}
