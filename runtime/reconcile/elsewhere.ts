import { canReference } from "../children/ownership";
import type { KubernetesObject, ObjectName } from "../kubernetes/objects";
import type { Memory } from "../memory/memory";

/**
 * Whether an object has children that no owner reference can cover: as far as anybody knows, or from now on. As long as it has, it
 * needs its finalizer for them, whether its handler still returns them or not.
 * @param children those that are known, and those that are about to be written
 */
export function hasElsewhere(
  object: KubernetesObject,
  { elsewhere, namespaces = [] }: Pick<Memory, "elsewhere" | "namespaces">,
  children: readonly Pick<ObjectName, "namespace">[],
): boolean {
  return (
    elsewhere === true ||
    namespaces.length > 0 ||
    children.some(({ namespace }) => !canReference(object, namespace))
  );
}
