// In which order children are deleted.
import type { KubernetesObject } from "../base/objects";
import type { Child } from "../observe/childStore";
import { childKeyOf } from "./desiredChildren";

/** Whether an object's children are deleted in an order: at least one follows another. */
export function areOrdered(children: readonly Child[]): boolean {
  return children.some(isOrdered);
}

/** Whether a child is deleted before another one. */
export function isOrdered({ facts }: Child): boolean {
  return facts.follows.length > 0;
}

/**
 * The children that no other of these children follows: they are deleted first. A client may have made all of them follow each
 * other: then all of them.
 * @param there with those that are being deleted
 */
export function lastOf(there: readonly Child[]): readonly Child[] {
  const followed = new Set(there.flatMap(({ facts }) => facts.follows));
  const last = there.filter((child) => !followed.has(childKeyOf(child.resource, child)));
  return last.length > 0 ? last : there;
}

/** The children that go only after another one that still exists. */
export function heldUp(there: readonly Child[]): readonly Child[] {
  const last = new Set(lastOf(there));
  return there.filter((child) => !last.has(child));
}

/**
 * Deletes children in the reverse order in which they follow each other: each when no child that follows it is left.
 * @param left the children that are still to go, with those that are being deleted
 * @param deleteAll deletes some of them, each only once. It may resolve before they are gone
 * @returns those that still exist, each being deleted or waiting for another one
 */
export async function deleteInOrder(
  left: () => readonly Child[],
  deleteAll: (next: readonly Child[], there: readonly Child[]) => Promise<void>,
): Promise<readonly Child[]> {
  const tried = new Set<string>();
  for (;;) {
    const there = left();
    const next = lastOf(there).filter(({ uid, deleting }) => !deleting && !tried.has(uid));
    if (next.length === 0) return there;
    for (const { uid } of next) tried.add(uid);
    await deleteAll(next, there);
  }
}

/**
 * Whether the garbage collector removes the owner references from the children, so that they stay:
 * `kubectl delete --cascade=orphan`.
 * @see https://kubernetes.io/docs/tasks/administer-cluster/use-cascading-deletion/#set-orphan-deletion-policy
 */
export function isOrphaning({ metadata: { deletionTimestamp, finalizers = [] } }: KubernetesObject): boolean {
  return deletionTimestamp !== undefined && finalizers.includes("orphan");
}
