import type { KubernetesClient } from "./client";
import { isApiError } from "./errors";
import type { Resource } from "./resource";

/** `APIResourceList`, as `/apis/<group>/<version>` gives it. */
interface ApiResourceList {
  resources: { name: string; kind: string; namespaced: boolean }[];
}

/** The API server serves no such kind. */
export class UnknownKindError extends Error {
  constructor(apiVersion: string, kind: string) {
    super(
      `the cluster serves no kind ${kind} in ${apiVersion}. Check the spelling, or install what brings that kind first.`,
    );
    this.name = "UnknownKindError";
  }
}

/**
 * Asks the API server how it serves a kind.
 * @throws UnknownKindError where it does not
 */
export async function discover(
  client: KubernetesClient,
  apiVersion: string,
  kind: string,
): Promise<Resource> {
  const root = apiVersion.includes("/") ? "/apis/" : "/api/";
  const list = await client.read<ApiResourceList>(root + apiVersion).catch((error: unknown) => {
    if (isApiError(error, 404)) throw new UnknownKindError(apiVersion, kind);
    throw error;
  });
  // Subresources are listed beside their resource, as "deployments/scale".
  const found = list.resources.find((resource) => resource.kind === kind && !resource.name.includes("/"));
  if (!found) throw new UnknownKindError(apiVersion, kind);
  return { apiVersion, kind, plural: found.name, namespaced: found.namespaced };
}
