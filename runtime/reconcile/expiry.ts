import type { Operator } from "../definition/definition";
import { isExpired } from "../events/eventMarks";
import type { KubernetesObject } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import type { KnownObjects } from "../watch/customResources";
import type { Reconciliation } from "./reconciliation";

/** What {@link deleteIfExpired} works with. */
export interface ExpiryOptions {
  readonly operator: Operator;
  /** The custom resource's kind. */
  readonly resource: Resource;
  readonly objects: Pick<KnownObjects, "invalidate">;
  /** The clock of this machine, in milliseconds since 1970. @default Date.now */
  readonly machineNow?: () => number;
}

/**
 * Deletes an object that was created from an event and has lasted long enough, by our clock and by the API server's. The clock of
 * one machine may be wrong by years, and what is deleted does not come back. So the object is deleted in exactly the version that
 * was seen to have lasted long enough.
 * @returns whether it was deleted
 */
export async function deleteIfExpired(
  object: KubernetesObject,
  { client }: Pick<Reconciliation, "client">,
  { operator, resource, objects, machineNow = Date.now }: ExpiryOptions,
): Promise<boolean> {
  const clocks = [machineNow(), client.now()];
  if (!clocks.every((now) => isExpired(object, operator, now))) return false;
  const { uid, resourceVersion } = object.metadata;
  await client.deleteVersion(resource, object.metadata, { uid, resourceVersion });
  objects.invalidate(object.metadata);
  return true;
}
