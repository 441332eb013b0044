import { isEmptyMap, isRecord, pointerOf, type Way } from "../base/json";
import type { KubernetesObject, Manifest } from "../base/objects";
import type { Resource } from "../base/resource";
import type { ApplyOptions, KubernetesClient } from "./client";
import { isApiError } from "./errors";
import { applyEntry, emptiedMaps } from "./managedFields";

/**
 * A version that no object has. If an object is applied with it, the API server creates the object, and refuses the write if the
 * object exists. So an object that another client creates between the read and the write is not taken over.
 */
export const MUST_NOT_EXIST = { resourceVersion: "1" } as const;

/**
 * Server-side apply that can also empty a map. If an apply removes the last key of a map, the API server makes the map null. It
 * refuses that null for a custom kind, and drops the map of its own kinds, with its defaults (seen with 1.34). So the map is
 * removed first and then created empty.
 *
 * Guarantee (tests/integration/hostile/emptyMaps.test.ts): a map is removed only if the API server would accept the empty map, as
 * a dry run shows. If it refuses the rest of the manifest too, nothing is applied.
 *
 * @param before the object that is changed, with the manager's entry in `managedFields`. @default there is none
 * @throws ApiError, ApiUnreachableError
 */
export async function applyManifest(
  client: Pick<KubernetesClient, "apply" | "jsonPatch">,
  resource: Resource,
  manifest: Manifest,
  options: ApplyOptions,
  before?: KubernetesObject,
): Promise<{ object: KubernetesObject; created: boolean }> {
  const { fieldManager, subresource } = options;
  const fields = before && applyEntry(before, fieldManager, subresource)?.fieldsV1;
  const emptied = fields ? emptiedMaps(fields, manifest, before) : [];
  if (emptied.length === 0) return client.apply(resource, manifest, options);
  const emptying = emptied.map(
    ({ there }) => ({ op: "replace", path: pointerOf(there), value: {} }) as const,
  );
  const trial = client.jsonPatch(resource, manifest.metadata, emptying, { subresource, dryRun: true });
  await trial.catch(async (error: unknown) => {
    // The object may have another version by now, in which these paths lead elsewhere.
    await client.apply(resource, manifest, { ...options, dryRun: true }).catch((later: unknown) => {
      if (isApiError(later, 409)) throw later;
    });
    throw error;
  });
  const without = emptied.reduce<unknown>(
    (left, { wanted }) => withoutMap(left, wanted),
    manifest,
  ) as Manifest;
  const { object } = await client.apply(resource, without, options);
  const { resourceVersion } = object.metadata;
  const { metadata } = manifest;
  const isConditional = metadata.resourceVersion !== undefined;
  const next = { ...manifest, metadata: { ...metadata, ...(isConditional && { resourceVersion }) } };
  return client.apply(resource, next, options);
}

/** The same value without the empty map at the end of a path, and without the maps that become empty because of this. */
function withoutMap(value: unknown, [step, ...rest]: Way): unknown {
  if (Array.isArray(value)) return value.map((item, at) => (at === step ? withoutMap(item, rest) : item));
  if (step === undefined || !isRecord(value) || !Object.hasOwn(value, step)) return value;
  const { [step]: inner, ...others } = value;
  const left = withoutMap(inner, rest);
  return isEmptyMap(left) ? others : { ...value, [step]: left };
}
