import type { KubernetesObject } from "../../kubernetes/objects";
import { PREDECESSOR_UIDS_ANNOTATION } from "../../names";

/**
 * The annotation of a run's Workflow that names deleted objects which had the name of the run's object and have children left. A
 * resync finds these children, since it lists all children. The run deletes them, since the resync may not.
 */
export function predecessorAnnotations(uids: readonly string[]): Record<string, string> {
  return uids.length > 0 ? { [PREDECESSOR_UIDS_ANNOTATION]: uids.join(",") } : {};
}

/** The uids that {@link predecessorAnnotations} wrote. Anyone may have written there, so texts that are no uids are left out. */
export function predecessorUidsIn({ metadata }: Pick<KubernetesObject, "metadata">): string[] {
  const uids = metadata.annotations?.[PREDECESSOR_UIDS_ANNOTATION]?.split(",") ?? [];
  return uids.filter((uid) => /^[0-9a-f-]{36}$/.test(uid));
}
