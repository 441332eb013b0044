// What a staged roll-out allows a reconcile to do.
import { ReconcileFailure } from "../base/failure";
import { type KubernetesObject, kindAndName } from "../base/objects";
import { kindKey } from "../base/resource";
import { type Arrival, isCausedBy } from "../base/turn";
import type { Child } from "../observe/childStore";
import { isHandled } from "../observe/watched";
import type { Operator } from "../operator/definition";
import type { DesiredChild } from "../write/desiredChildren";

/** What a reconcile asks a staged roll-out: see `Rollout`. */
export interface RolloutGate {
  /** Whether the object waits for its stage. If not, the handler is going to be asked about it. */
  waits(object: KubernetesObject, isByUser: boolean): boolean;
  /** Whether an answer must not lead to the deletion of a child of the object. */
  withholds(uid: string): boolean;
}

/**
 * Whether the object's user wants this look: they have changed the object, or asked for the run. A hint alone proves nothing, because an
 * event source that starts sends one for every object.
 * @param isOurs whether the object is one of the operator's own custom resources
 */
export function isByUser(object: KubernetesObject, arrival: Arrival | undefined, isOurs: boolean): boolean {
  if (isCausedBy(arrival, "watch") || isCausedBy(arrival, "request")) return true;
  return object.metadata.deletionTimestamp !== undefined || (isOurs && !isHandled(object));
}

/**
 * The failure of an answer that leaves out a child although no user has changed the object. Undefined: it leaves out none. A child
 * of a retired kind is meant to go.
 * @param there the known children of the object
 */
export function withheldDeletion(
  there: readonly Child[],
  desired: readonly DesiredChild[],
  { children }: Operator,
): ReconcileFailure | undefined {
  const retired = children.filter((kind) => kind.retired).map(kindKey);
  const isWanted = (child: Child) =>
    desired.some(
      ({ resource, manifest: { metadata } }) =>
        kindKey(resource) === kindKey(child.resource) &&
        metadata.name === child.name &&
        (metadata.namespace ?? "") === (child.namespace ?? ""),
    );
  const left = there.filter((child) => !child.deleting && !retired.includes(kindKey(child.resource)));
  const lost = left.find((child) => !isWanted(child));
  if (!lost) return undefined;
  const message = `the new version of the handler no longer returns ${kindAndName(lost.resource.kind, lost)}, although nobody has changed the object. Nothing of its answer was applied. If the child should go, run argosy rollout resume; if not, argosy rollout undo`;
  return new ReconcileFailure("DeletionWithheld", message, { permanent: true });
}
