import type { Operator } from "../../definition/definition";
import type { KubernetesClient } from "../../kubernetes/client";
import { isApiError } from "../../kubernetes/errors";
import type { Selection } from "../../kubernetes/list";
import type { KubernetesObject } from "../../kubernetes/objects";
import { type Resource, scopesOf } from "../../kubernetes/resource";

/** Which objects of a kind are listed, and in which namespaces. */
export interface NamespacedSelection extends Omit<Selection, "namespace"> {
  readonly namespaces: Operator["namespaces"];
}

/**
 * Lists objects namespace by namespace, or all at once if all namespaces count. Rights go with their namespace, so a namespace in
 * which nothing may be listed does not stop the lists of the others.
 * @param onForbidden called for each such namespace. @default that is an error, as any other refusal is
 * @throws ApiError, ApiUnreachableError
 */
export async function listByNamespace(
  client: Pick<KubernetesClient, "list">,
  resource: Resource,
  { namespaces, ...selection }: NamespacedSelection,
  onPage: (items: KubernetesObject[]) => void,
  onForbidden?: (namespace: string, error: Error) => void,
): Promise<void> {
  for (const namespace of scopesOf(namespaces, resource)) {
    await client.list(resource, { ...selection, namespace }, onPage).catch((error: Error) => {
      if (namespace === undefined || !onForbidden || !isApiError(error, 403)) throw error;
      onForbidden(namespace, error);
    });
  }
}
