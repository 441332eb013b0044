import {
  allIdentitiesOf,
  CHILD_OF_LABEL,
  identityOf,
  OWNER_ANNOTATION,
  OWNER_UID_LABEL,
} from "../../runtime/base/names";
import type { KubernetesObject } from "../../runtime/base/objects";
import { type Resource, scopesOf } from "../../runtime/base/resource";
import { type KubernetesClient, type Operator, ownerMark } from "../../runtime/cli";
import { listSeen } from "../inspect/seen";

/** An object that may be a child. */
export interface ListedChild {
  readonly resource: Resource;
  readonly child: KubernetesObject;
}

/** The listed children of an operator's objects, by their owners. */
export class ListedChildren {
  private readonly byOwner = new Map<string, ListedChild[]>();

  /** @param notes which children may be left out, in sentences */
  constructor(readonly notes: readonly string[] = []) {}

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
  near(object: KubernetesObject): ListedChild[] {
    const owners = [object.metadata.uid, ownerMark(object, object.metadata)];
    return owners.flatMap((owner) => this.byOwner.get(owner) ?? []);
  }
}

function ownersOf({ metadata }: KubernetesObject): string[] {
  const { labels = {}, annotations = {}, ownerReferences = [], namespace } = metadata;
  return [
    labels[OWNER_UID_LABEL],
    annotations[OWNER_ANNOTATION],
    ...ownerReferences.flatMap((reference) => {
      const { uid, name } = reference;
      return [uid, ownerMark(reference, { namespace, name }), ownerMark(reference, { name })];
    }),
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
 * Lists the children of these objects of an operator. An account that may not list the children of a kind in all the operator's
 * namespaces gets those in the namespaces of the objects, and a note.
 *
 * @throws ApiError if a kind may not be listed there either
 */
export async function listChildren(
  { operator, client, childResources }: ChildrenListing,
  objects: readonly KubernetesObject[],
): Promise<ListedChildren> {
  const [only, another] = objects;
  if (!only) return new ListedChildren();
  const identities = allIdentitiesOf(operator).map(identityOf);
  const labelSelector =
    another === undefined
      ? `${OWNER_UID_LABEL}=${only.metadata.uid}`
      : `${CHILD_OF_LABEL} in (${identities.join(",")})`;
  const near = [...new Set(objects.flatMap(({ metadata: { namespace } }) => namespace ?? []))];
  const lists = await Promise.all(
    childResources.map(async (resource) => {
      const scopes = scopesOf(operator.namespaces, resource);
      return { resource, ...(await listSeen(client, resource, { labelSelector }, { scopes, near })) };
    }),
  );
  const listed = new ListedChildren(
    lists.flatMap(({ unseen }) => (unseen ? [`Some children may be left out, because ${unseen}.`] : [])),
  );
  for (const { resource, objects: children } of lists) listed.add(resource, children);
  return listed;
}
