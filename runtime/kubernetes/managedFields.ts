import type { KubernetesObject, ManagedFieldsEntry } from "./objects";

/**
 * The entries in `managedFields` of what these field managers applied. What they wrote in another way does not count.
 * @param subresource "status" for what they applied to the status. @default what they applied to the object itself
 */
export function applyEntries(
  { metadata: { managedFields = [] } }: KubernetesObject,
  managers: readonly string[],
  subresource?: string,
): ManagedFieldsEntry[] {
  return managedFields.filter(
    (entry) =>
      entry.operation === "Apply" &&
      (entry.subresource || undefined) === subresource &&
      entry.manager !== undefined &&
      managers.includes(entry.manager),
  );
}

/** The entry of one field manager: see {@link applyEntries}. */
export function applyEntry(
  object: KubernetesObject,
  manager: string,
  subresource?: string,
): ManagedFieldsEntry | undefined {
  return applyEntries(object, [manager], subresource)[0];
}
