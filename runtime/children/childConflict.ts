import { ReconcileFailure } from "../failure";
import { type KubernetesObject, kindAndName } from "../kubernetes/objects";
import { ADOPT_ANNOTATION, MANAGER_PREFIX, OWNER_ANNOTATION, OWNER_UID_LABEL } from "../names";
import type { DesiredChild } from "./desiredChildren";
import type { Conflict } from "./ownership";

/**
 * The failure of a child whose name is taken by an object that we do not own.
 * @param conflict why it is not ours: see `conflictWith`
 * @param managers the field managers that are ours
 */
export function childConflict(
  child: DesiredChild,
  found: KubernetesObject,
  conflict: Conflict,
  managers: readonly string[],
): ReconcileFailure {
  const name = kindAndName(child.manifest.kind, child.manifest.metadata);
  const isPredecessors = belongsToPredecessor(found, child);
  const owner = `${conflict.why}${isPredecessors ? ", an earlier object of this name" : ""}`;
  return new ReconcileFailure(
    "ChildConflict",
    `${name} does not belong to this object: ${owner}. ${whyHeld(found) ?? remedyFor(found, managers, conflict)}`,
    // The child belongs to a custom resource that was deleted and created again. The garbage collector will soon delete the child.
    // If it is being deleted already, somebody's finalizer may hold it for long. The watch then reports its end to this object.
    isPredecessors && !found.metadata.deletionTimestamp ? { retryAfterSeconds: 1 } : {},
  );
}

/** What an object that has the child's name waits for, if it is being deleted. */
function whyHeld({ metadata: { deletionTimestamp, finalizers = [] } }: KubernetesObject): string | undefined {
  if (deletionTimestamp === undefined) return undefined;
  const held = finalizers.length > 0 ? ` and is held by the finalizer ${finalizers.join(", ")}` : "";
  return `It is being deleted${held}: the child is created when it is gone.`;
}

/**
 * What to do about an object that has the child's name. If an operator of Argosy applied it, that may be this operator under a
 * former name.
 */
function remedyFor(
  found: KubernetesObject,
  managers: readonly string[],
  { hasOwner, isOfOurKind = false }: Conflict,
): string {
  const former = found.metadata.managedFields
    ?.filter(({ manager = "", subresource }) => !subresource && !managers.includes(manager))
    .filter(({ manager = "" }) => manager.startsWith(MANAGER_PREFIX))
    .map(({ manager = "" }) => manager.slice(MANAGER_PREFIX.length))
    .find((identity) => identity !== "" && !identity.includes("/"));
  // Neither of two objects that exchange names deletes its child before it has the other one's.
  const exchanged = " If that object waits for a child of this one, delete one of the two children.";
  // No garbage collector takes this mark away.
  const isNamed = found.metadata.annotations?.[OWNER_ANNOTATION] !== undefined;
  const left = isNamed
    ? ` If it is gone, remove the label ${OWNER_UID_LABEL}, and this object takes the child over.`
    : "";
  const adopt = hasOwner
    ? `Rename the child, or remove the object's current owner first: ${ADOPT_ANNOTATION} does not override an owner.${isOfOurKind ? exchanged + left : ""}`
    : `Rename the child, delete the existing object, or annotate that object with ${ADOPT_ANNOTATION}=true to hand it over.`;
  return former === undefined
    ? adopt
    : `If this operator was called ${former} before, add that to "formerNames" in its definition. Otherwise: ${adopt}`;
}

/**
 * Whether an object belongs to a custom resource that had the name of the child's owner before. If it belongs to that owner
 * itself, then another operator made it for the same custom resource, and nobody is about to remove it.
 */
function belongsToPredecessor(found: KubernetesObject, { manifest }: DesiredChild): boolean {
  const [ours] = manifest.metadata.ownerReferences ?? [];
  const theirs = found.metadata.ownerReferences?.find(({ controller }) => controller);
  return (
    ours !== undefined && theirs?.kind === ours.kind && theirs.name === ours.name && theirs.uid !== ours.uid
  );
}
