import type { KubernetesClient } from "../kubernetes/client";
import type { KubernetesObject } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";

/**
 * Releases the fields of an object that the operator owned under its former names. Call it when the operator owns all of them
 * under its own name, since the API server removes fields that nobody owns.
 * @param isExact whether the release must fail with 409 if somebody else has written to the object since
 * @returns the object as it is then
 * @throws ApiError, ApiUnreachableError
 */
export async function releaseFormer(
  client: KubernetesClient,
  resource: Resource,
  object: KubernetesObject,
  formerManagers: readonly string[],
  isExact = false,
): Promise<KubernetesObject> {
  const { apiVersion, kind } = resource;
  const { name, namespace, uid, managedFields = [] } = object.metadata;
  const metadata = { name, uid, ...(namespace && { namespace }) };
  let current = object;
  for (const { manager, operation, subresource } of managedFields) {
    if (operation !== "Apply" || manager === undefined || !formerManagers.includes(manager)) continue;
    const options = { fieldManager: manager, force: true, ...(subresource && { subresource }) };
    const { resourceVersion } = current.metadata;
    const nothing = { apiVersion, kind, metadata: { ...metadata, ...(isExact && { resourceVersion }) } };
    current = (await client.apply(resource, nothing, options)).object;
  }
  return current;
}
