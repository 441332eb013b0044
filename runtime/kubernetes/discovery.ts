import type { KubernetesClient } from "./client";
import { ifRefused, isApiError } from "./errors";
import { answerOfAnother } from "./exchange";
import { isNamespaced, pluralOf } from "./kinds";
import { groupOf } from "./objects";
import type { Resource } from "./resource";

/** `APIResourceList`, as `/apis/<group>/<version>` gives it. */
interface ApiResourceList {
  resources: { name: string; kind: string; namespaced: boolean }[];
}

/** `APIGroup`, as `/apis/<group>` gives it. */
interface ApiGroup {
  versions: { groupVersion: string }[];
}

/** The API server serves no such kind. */
export class UnknownKindError extends Error {
  constructor(apiVersion: string, kind: string) {
    super(
      `the cluster serves no kind ${kind} in ${apiVersion}. Check the spelling, or first install the software that provides the kind.`,
    );
    this.name = "UnknownKindError";
  }
}

/** Whether a kind is not served: the API server says so of it, or answers 404 at the path where it was. */
export function isKindMissing(error: unknown): boolean {
  return error instanceof UnknownKindError || isApiError(error, 404);
}

/**
 * How the API server serves a kind. For Kubernetes' own kinds that is known without a request, also if the API server does not
 * serve the version. For any other kind the API server is asked.
 * @throws UnknownKindError if the API server does not serve a kind that is not Kubernetes' own
 */
export async function findResource(
  client: KubernetesClient,
  apiVersion: string,
  kind: string,
): Promise<Resource> {
  return isNamespaced(apiVersion, kind) === undefined
    ? discover(client, apiVersion, kind)
    : builtIn(apiVersion, kind);
}

/** How every API server serves a kind of Kubernetes' own. */
export function builtIn(apiVersion: string, kind: string): Resource {
  const namespaced = isNamespaced(apiVersion, kind) ?? false;
  return { apiVersion, kind, plural: pluralOf(apiVersion, kind), namespaced };
}

/**
 * Asks the API server how it serves a kind.
 * @throws UnknownKindError if it does not serve the kind
 */
export async function discover(
  client: KubernetesClient,
  apiVersion: string,
  kind: string,
): Promise<Resource> {
  const path = `${apiVersion.includes("/") ? "/apis" : "/api"}/${apiVersion}`;
  const { resources } = await client.read<ApiResourceList>(path).catch((error: unknown) => {
    if (isApiError(error, 404)) throw new UnknownKindError(apiVersion, kind);
    throw error;
  });
  if (!Array.isArray(resources)) throw answerOfAnother({ method: "GET", path }, "a list of kinds");
  // Subresources are listed beside their resource, as "deployments/scale".
  const found = resources.find((resource) => resource.kind === kind && !resource.name.includes("/"));
  if (!found) throw new UnknownKindError(apiVersion, kind);
  return { apiVersion, kind, plural: found.name, namespaced: found.namespaced };
}

/** As {@link discover}. Undefined if the API server does not serve the kind. */
export function discoverIfServed(
  client: KubernetesClient,
  apiVersion: string,
  kind: string,
): Promise<Resource | undefined> {
  return discover(client, apiVersion, kind).catch((error: unknown) => {
    if (error instanceof UnknownKindError) return undefined;
    throw error;
  });
}

/**
 * How the API server serves the objects of a kind: in this version, or else in another one of the group, since all versions have the
 * same objects. The API server is asked, also about Kubernetes' own kinds.
 * @returns undefined if it serves the kind in no version, so that there are no such objects
 */
export async function discoverObjects(
  client: KubernetesClient,
  apiVersion: string,
  kind: string,
): Promise<Resource | undefined> {
  const found = await discoverIfServed(client, apiVersion, kind);
  const group = groupOf(apiVersion);
  // The core group has one version.
  if (found || group === "") return found;
  const { versions } = await client.read<ApiGroup>(`/apis/${group}`).catch(ifRefused(404, { versions: [] }));
  for (const { groupVersion } of versions) {
    const other = await discoverIfServed(client, groupVersion, kind);
    if (other) return other;
  }
  return undefined;
}
