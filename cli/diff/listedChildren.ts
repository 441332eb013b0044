import type { Operator } from "../../runtime/definition/definition";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import type { KubernetesObject } from "../../runtime/kubernetes/objects";
import { type Resource, scopesOf } from "../../runtime/kubernetes/resource";
import {
  allIdentitiesOf,
  CHILD_OF_LABEL,
  identityOf,
  OWNER_ANNOTATION,
  OWNER_UID_LABEL,
} from "../../runtime/names";

/** An object that may be somebody's child. */
export interface ListedChild {
  readonly resource: Resource;
  readonly child: KubernetesObject;
}

/** The listed children of an operator's objects, by their owners. */
export class ListedChildren {
  private readonly byOwner = new Map<string, ListedChild[]>();

  /** Takes in a page of a list. */
  add(resource: Resource, children: readonly KubernetesObject[]): void {
    for (const child of children) {
      for (const owner of new Set(ownersOf(child))) {
        const others = this.byOwner.get(owner);
        if (others) others.push({ resource, child });
        else this.byOwner.set(owner, [{ resource, child }]);
      }
    }
  }

  /** Objects that may be children of this object, or of a deleted one of its name. `managedFields` say whether they are. */
  near({ metadata: { uid, namespace = "", name } }: KubernetesObject): ListedChild[] {
    return [uid, `${namespace}/${name}`].flatMap((owner) => this.byOwner.get(owner) ?? []);
  }
}

function ownersOf({ metadata }: KubernetesObject): string[] {
  const { labels = {}, annotations = {}, ownerReferences = [], namespace = "" } = metadata;
  return [
    labels[OWNER_UID_LABEL],
    annotations[OWNER_ANNOTATION],
    ...ownerReferences.flatMap(({ uid, name }) => [uid, `${namespace}/${name}`, `/${name}`]),
  ].filter((owner) => owner !== undefined);
}

/** The options of {@link listChildren}. */
export interface ChildrenListing {
  readonly operator: Operator;
  /** The children's kinds as the API serves them. */
  readonly childResources: readonly Resource[];
  readonly client: KubernetesClient;
}

/**
 * Lists the children of an operator's objects.
 * @param owner only those of the object with this uid. @default those of all objects
 * @throws ApiError if a kind may not be listed
 */
export async function listChildren(
  { operator, client, childResources }: ChildrenListing,
  owner?: string,
): Promise<ListedChildren> {
  const identities = allIdentitiesOf(operator).map(identityOf);
  const labelSelector =
    owner === undefined ? `${CHILD_OF_LABEL} in (${identities.join(",")})` : `${OWNER_UID_LABEL}=${owner}`;
  const listed = new ListedChildren();
  const lists = childResources.map(async (resource) => {
    for (const namespace of scopesOf(operator.namespaces, resource)) {
      const selection = { labelSelector, ...(namespace !== undefined && { namespace }) };
      await client.list(resource, selection, (items) => listed.add(resource, items));
    }
  });
  await Promise.all(lists);
  return listed;
}
