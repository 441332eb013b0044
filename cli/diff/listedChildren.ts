import type { KubernetesObject } from "../../runtime/kubernetes/objects";
import type { Resource } from "../../runtime/kubernetes/resource";
import { OWNER_ANNOTATION, OWNER_UID_LABEL } from "../../runtime/names";

/** An object that may be somebody's child. */
export interface ListedChild {
  readonly resource: Resource;
  readonly child: KubernetesObject;
}

/** What was listed as the children of an operator's objects, found by their owners. */
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

  /** What may be a child of this object, or of a deleted one of its name. Whether it is, `managedFields` say. */
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
