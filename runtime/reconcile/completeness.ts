import type { Child } from "../children/childStore";
import type { ChildWatches } from "../children/childWatches";
import { GRANT_REMEDY, ROLE_REMEDY } from "../children/refusals";
import { kindMissing, ReconcileFailure, UNLISTED_KIND_REMEDY, UNSERVED_REMEDY } from "../failure";
import type { HandlerEvent } from "../handler/contract";
import { isKindMissing } from "../kubernetes/discovery";
import { isApiError } from "../kubernetes/errors";
import type { KubernetesObject, ObjectName } from "../kubernetes/objects";
import { isSameKind, kindKey, type Resource } from "../kubernetes/resource";
import { type Memory, MOST_NAMESPACES } from "../memory/memory";
import { type KindWatch, type NotSynced, StillListingError } from "../watch/kindWatch";
import { type CycleSource, whyCycling } from "./watchCycle";

/** The parts that {@link Completeness} asks. */
export interface CompletenessOptions {
  /** The objects' own kind, as it was found at the beginning. */
  readonly resource: Resource;
  readonly objects: Pick<KindWatch, "notSynced">;
  readonly children: Pick<ChildWatches, "notFound" | "notSynced">;
  /** Undefined if nothing is remembered outside of the objects. */
  readonly memories: Pick<KindWatch, "notSynced"> | undefined;
  /** Says where the objects come from. Undefined if they are our own. */
  readonly cycles: CycleSource | undefined;
}

const RETRY = { retryAfterSeconds: 30 };

/**
 * Says whether everything that a reconcile of an object needs is known.
 *
 * Guarantees:
 * - A kind or a namespace that is missing holds up only the objects that need it (tests/integration/hostile/missingKinds.test.ts and
 *   namespaces.test.ts).
 * - While their own kind is not served, objects get no children (tests/integration/hostile/crdVersions.test.ts).
 */
export class Completeness {
  constructor(private readonly options: CompletenessOptions) {}

  /**
   * Why a handler cannot be asked about an object now: the object may have children that are not known, or it comes from the
   * operator's own children, again and again. Undefined if it can be asked. A request to finalize does not wait for a kind that is
   * missing or that we may not list, because the object could never go: see {@link isFollowed}. Every request waits if the object's
   * own kind is not served: see {@link whyUnserved}.
   * @param remembered the kinds of children that the engine remembers for the object, and the other namespaces in which it has some
   * @param isElsewhere whether it has children in other namespaces
   */
  whyNot(
    event: HandlerEvent,
    object: KubernetesObject,
    remembered: RememberedPlaces,
    isElsewhere: boolean,
  ): ReconcileFailure | StillListingError | undefined {
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
  }

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
   * Why nothing may be done for an object: somebody created its kind again with another scope. The marks of its children would name
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
   * Why nobody knows yet whether the cluster serves a kind of children. Undefined if that is known. A busy API server does not say
   * that a kind is missing.
   */
  whyUnknown(kind: NotSynced["resource"]): ReconcileFailure | StillListingError | undefined {
    const unknown = this.options.children
      .notFound()
      .find(({ resource }) => kindKey(resource) === kindKey(kind));
    return unknown && !(unknown.problem && isKindMissing(unknown.problem))
      ? notSyncedError(unknown)
      : undefined;
  }

  /**
   * Whether a known child is still followed. False if its kind is missing where it was, or may not be listed there: nobody says then
   * whether the child is gone.
   */
  isFollowed({ resource, namespace }: Pick<Child, "resource" | "namespace">): boolean {
    const isItsKind = (other: NotSynced["resource"]) => kindKey(other) === kindKey(resource);
    return !this.options.children
      .notSynced(namespace)
      .some((each) => isItsKind(each.resource) && each.problem !== undefined && isOutOfReach(each.problem));
  }

  /**
   * Throws if an object with that name may exist although no watch shows it.
   * @throws ReconcileFailure, StillListingError
   */
  assertSeen({ namespace }: ObjectName): void {
    const [notSynced] = this.options.objects.notSynced(namespace);
    if (notSynced) throw notSyncedError(notSynced, "which the operator watches");
  }

  /**
   * Throws if not everything is known that must be remembered.
   * @throws ReconcileFailure, StillListingError
   */
  assertRemembers(): void {
    const [notSynced] = this.options.memories?.notSynced(undefined) ?? [];
    if (notSynced) throw notSyncedError(notSynced, "which stores what must be remembered");
  }
}

/** The kinds of an object's children, and the other namespaces in which it has some. */
export type RememberedPlaces = Pick<Memory, "kinds" | "namespaces">;

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

function notSyncedError(
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
