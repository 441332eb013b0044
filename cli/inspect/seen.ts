import type { KubernetesObject } from "../../runtime/base/objects";
import type { Resource } from "../../runtime/base/resource";
import { isApiError, type KubernetesClient, type Selection } from "../../runtime/cli";

/** The objects that an account may list. */
export interface Seen {
  readonly objects: readonly KubernetesObject[];
  /** Why there may be others: "this kubeconfig may list workflows only in the namespace argosy". Undefined if there are none. */
  readonly unseen?: string | undefined;
  /** The namespaces whose objects were listed, if there may be others. */
  readonly namespaces?: readonly string[];
}

/** Where {@link listSeen} lists objects. */
export interface Places {
  /** Undefined: all namespaces. @default all namespaces */
  readonly scopes?: readonly (string | undefined)[];
  /** These namespaces instead of all, for an account that may not list the objects of all. */
  readonly near: readonly string[];
}

/**
 * Lists the objects that the account may list. An account that may not list those of all namespaces gets those in the namespaces where
 * they are most likely.
 *
 * @throws ApiError 403 if the account may list them nowhere; any other error
 */
export async function listSeen(
  client: KubernetesClient,
  resource: Resource,
  selection: Omit<Selection, "namespace">,
  { scopes = [undefined], near }: Places,
): Promise<Seen> {
  const lists: KubernetesObject[][] = [];
  const seen: string[] = [];
  let refusal: unknown;
  const list = async (namespace: string | undefined): Promise<void> => {
    try {
      lists.push(await client.listAll(resource, { ...selection, ...(namespace && { namespace }) }));
      if (namespace !== undefined) seen.push(namespace);
    } catch (error) {
      if (!isApiError(error, 403)) throw error;
      refusal = error;
      if (namespace === undefined) for (const each of near) await list(each);
    }
  };
  for (const scope of scopes) await list(scope);
  const objects = lists.flat();
  if (refusal === undefined) return { objects };
  if (seen.length === 0) throw refusal;
  const places = `the namespace${seen.length === 1 ? "" : "s"} ${seen.join(", ")}`;
  return {
    objects,
    unseen: `this kubeconfig may list ${resource.plural} only in ${places}`,
    namespaces: seen,
  };
}
