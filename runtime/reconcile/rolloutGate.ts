// What a staged roll-out lets a reconcile do.
import { ReconcileFailure } from "../base/failure";
import { type KubernetesObject, kindAndName } from "../base/objects";
import { kindKey } from "../base/resource";
import { type Arrival, isCausedBy } from "../base/turn";
import type { Child } from "../observe/childStore";
import { isHandled } from "../observe/watched";
import type { Operator } from "../operator/definition";
import type { DesiredChild } from "../write/desiredChildren";

/** Asked about each object. `when/rollout.ts` has the meaning of the answers. */
export interface RolloutGate {
  /** Whether the object waits for its stage. If not, it is going to be asked. */
  waits(object: KubernetesObject, isByUser: boolean): boolean;
  /** Whether no child of the object may be deleted that its user does not want deleted. */
  withholds(uid: string): boolean;
}

/**
 * Whether a look is what the object's user wants: the object has changed and nobody has answered to that, or somebody asks for the run.
 * A hint alone proves nothing: when an event source starts, hints come for every object.
 * @param isOurs whether the object is a custom resource of the operator's own
 */
export function isByUser(object: KubernetesObject, arrival: Arrival | undefined, isOurs: boolean): boolean {
  if (isCausedBy(arrival, "watch") || isCausedBy(arrival, "request")) return true;
  return object.metadata.deletionTimestamp !== undefined || (isOurs && !isHandled(object));
}

/**
 * The failure of an answer that leaves out a child although nobody has changed the object. Undefined: it leaves out none. Children of
 * kinds that the definition retires are meant to go.
 * @param there the object's children as they are known now
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
