import { isEmptyMap, isRecord, pointerOf, type Way } from "../json/json";
import type { ApplyOptions, KubernetesClient } from "./client";
import { isApiError } from "./errors";
import type { KubernetesObject, Manifest } from "./objects";
import type { Resource } from "./resource";

/**
 * A version that no object has. If an object is applied with it, the API server creates the object, and refuses the write if the
 * object exists. So nobody's object can be taken over between a look and the write.
 */
export const MUST_NOT_EXIST = { resourceVersion: "1" } as const;

/**
 * Server-side apply that can also empty a map of a custom kind. If an apply takes the last key of a map away, the API server
 * makes the map null, and then refuses that null (seen with 1.34). So the map is taken away first and given back empty.
 *
 * Guarantee (tests/integration/hostile/emptyMaps.test.ts): a map is taken away only if the API server refuses exactly this, and
 * if it would accept the empty map, as a dry run shows. No other manifest that it refuses is applied in part.
 *
 * @throws ApiError, ApiUnreachableError
 */
export async function applyManifest(
  client: Pick<KubernetesClient, "apply" | "jsonPatch">,
  resource: Resource,
  manifest: Manifest,
  options: ApplyOptions,
): Promise<{ object: KubernetesObject; created: boolean }> {
  try {
    return await client.apply(resource, manifest, options);
  } catch (error) {
    const ways = fieldsMadeNull(error)
      .map((field) => wayTo(manifest, field))
      .filter((way) => way !== undefined);
    if (ways.length === 0) throw error;
    const { subresource } = options;
    const emptying = ways.map((way) => ({ op: "replace", path: pointerOf(way), value: {} }) as const);
    await client.jsonPatch(resource, manifest.metadata, emptying, { subresource, dryRun: true });
    const without = ways.reduce(withoutMap, manifest) as Manifest;
    const { object } = await client.apply(resource, without, options).catch((later: unknown) => {
      throw isApiError(later, 422) ? error : later;
    });
    const { resourceVersion } = object.metadata;
    const { metadata } = manifest;
    const isConditional = metadata.resourceVersion !== undefined;
    const next = { ...manifest, metadata: { ...metadata, ...(isConditional && { resourceVersion }) } };
    return client.apply(resource, next, options);
  }
}

/** The API server's message about a null instead of a map (kube-openapi, pkg/validation/errors). */
const MADE_NULL = /must be of type object: "null"$/;

/** The fields that became null, as the API server's error names them, such as "spec.list[0].labels". */
function fieldsMadeNull(error: unknown): string[] {
  const causes = isApiError(error, 422) ? error.causes : [];
  return causes.flatMap(({ field, message = "" }) =>
    field !== undefined && MADE_NULL.test(message) ? [field] : [],
  );
}

/** The way to the empty map of a field. Undefined if the manifest has no empty map there. */
function wayTo(value: unknown, field: string): Way | undefined {
  if (field === "") return isEmptyMap(value) ? [] : undefined;
  for (const { step, inner, rest } of stepsAlong(value, field)) {
    const way = wayTo(inner, rest);
    if (way) return [step, ...way];
  }
  return undefined;
}

/**
 * The steps with which the way to a field may begin, each with the rest of the field's name. A key may have dots and brackets in
 * it. A place in a list is the place in the stored object, whose list may have more entries than the manifest's. So any entry
 * will do.
 */
function stepsAlong(value: unknown, field: string) {
  if (Array.isArray(value)) {
    const [place = "", index] = /^\[(\d+)\]\.?/.exec(field) ?? [];
    const rest = field.slice(place.length);
    return index === undefined ? [] : value.map((inner) => ({ step: Number(index), inner, rest }));
  }
  return Object.entries(isRecord(value) ? value : {})
    .filter(([key]) => field.startsWith(key) && /^([.[]|$)/.test(field.slice(key.length)))
    .map(([step, inner]) => ({ step, inner, rest: field.slice(step.length).replace(/^\./, "") }));
}

/** The same value without the empty map at the end of a path, and without the maps that become empty because of this. */
function withoutMap(value: unknown, [step, ...rest]: Way): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutMap(item, rest));
  if (step === undefined || !isRecord(value) || !Object.hasOwn(value, step)) return value;
  const { [step]: inner, ...others } = value;
  const left = withoutMap(inner, rest);
  return isEmptyMap(left) ? others : { ...value, [step]: left };
}
