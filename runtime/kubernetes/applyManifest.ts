import type { ApplyOptions, KubernetesClient } from "./client";
import { isApiError } from "./errors";
import type { KubernetesObject, Manifest } from "./objects";
import type { Resource } from "./resource";

/**
 * Server-side apply that can also empty a map of a custom kind. The API server makes null of a map whose last key an apply
 * takes away, and then refuses that null (seen with 1.34). So the map is taken away first and given back empty.
 * @throws ApiError, ApiUnreachableError
 */
export async function applyManifest(
  client: Pick<KubernetesClient, "apply">,
  resource: Resource,
  manifest: Manifest,
  options: ApplyOptions,
): Promise<{ object: KubernetesObject; created: boolean }> {
  try {
    return await client.apply(resource, manifest, options);
  } catch (error) {
    const without = isApiError(error, 422) ? (withoutEmptyMaps(manifest) as Manifest | undefined) : undefined;
    if (!without) throw error;
    const { object } = await client.apply(resource, without, options).catch(() => {
      throw error;
    });
    const { resourceVersion } = object.metadata;
    const { metadata } = manifest;
    const isConditional = metadata.resourceVersion !== undefined;
    const next = { ...manifest, metadata: { ...metadata, ...(isConditional && { resourceVersion }) } };
    return client.apply(resource, next, options);
  }
}

/** The same value without its empty maps, and without maps that are empty without them. Undefined if it has none. */
function withoutEmptyMaps(value: unknown): unknown {
  let found = false;
  const isEmpty = (inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner) && Object.keys(inner).length === 0;
  const walk = (inner: unknown): unknown => {
    if (Array.isArray(inner)) return inner.map(walk);
    if (typeof inner !== "object" || inner === null) return inner;
    const walked = Object.entries(inner).map(([key, each]) => [key, walk(each)] as const);
    const kept = walked.filter(([, each]) => !isEmpty(each));
    found ||= kept.length < walked.length;
    return Object.fromEntries(kept);
  };
  const without = walk(value);
  return found ? without : undefined;
}
