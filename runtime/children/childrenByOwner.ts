import { formatName } from "../kubernetes/objects";
import { compareTexts } from "../text/compareTexts";
import { storeKey } from "../watch/store";
import type { StoredObject } from "../watch/storedObject";
import type { Owner } from "./ownership";

/** What is known of a child that belongs to an owner. */
type Owned = StoredObject<{ readonly owner: Owner }>;

/** Children by their owners, and owners by their children. */
export class ChildrenByOwner<Child extends Owned> {
  /** The children of each owner, by their own uid. */
  private readonly byOwner = new Map<string, Map<string, Child>>();
  /** The owners of the children, by the child's uid. */
  private readonly ownerByChild = new Map<string, Owner>();
  /** The uids of owners by their name. There are several if an object was deleted and created again. */
  private readonly uidsByName = new Map<string, readonly string[]>();

  /** The children of an owner, sorted by kind, namespace and name. */
  of(ownerUid: string): Child[] {
    const key = (child: Child) => storeKey(child.resource, child);
    return [...this.siblings(ownerUid)].sort((a, b) => compareTexts(key(a), key(b)));
  }

  /** How long the children of an owner are together, in characters of JSON. */
  lengthOf(ownerUid: string): number {
    let sum = 0;
    for (const { length = 0 } of this.siblings(ownerUid)) sum += length;
    return sum;
  }

  /** The children of deleted objects that had the owner's name. */
  ofPredecessors(owner: Owner): Child[] {
    const uids = this.uidsByName.get(formatName(owner)) ?? [];
    return uids.filter((uid) => uid !== owner.uid).flatMap((uid) => this.of(uid));
  }

  /** The owner of the child with that uid. Undefined if it is not a child. */
  ownerOf(childUid: string): Owner | undefined {
    return this.ownerByChild.get(childUid);
  }

  /** Every owner of a child. @param isMeant says which children count */
  owners(isMeant: (child: Child) => boolean): Owner[] {
    const owners: Owner[] = [];
    for (const siblings of this.byOwner.values()) {
      for (const child of siblings.values()) {
        if (!isMeant(child)) continue;
        owners.push(child.facts.owner);
        break;
      }
    }
    return owners;
  }

  /** The child belongs to its owner from now on, also in another state than before. */
  add(child: Child): void {
    const { owner } = child.facts;
    this.ownerByChild.set(child.uid, owner);
    this.byOwner.set(owner.uid, (this.byOwner.get(owner.uid) ?? new Map()).set(child.uid, child));
    const uids = this.uidsByName.get(formatName(owner)) ?? [];
    if (!uids.includes(owner.uid)) this.uidsByName.set(formatName(owner), [...uids, owner.uid]);
  }

  /** The child no longer belongs to its owner. */
  remove(child: Child): void {
    const { owner } = child.facts;
    this.ownerByChild.delete(child.uid);
    const siblings = this.byOwner.get(owner.uid);
    siblings?.delete(child.uid);
    if (siblings?.size !== 0) return;
    this.byOwner.delete(owner.uid);
    const left = this.uidsByName.get(formatName(owner))?.filter((uid) => uid !== owner.uid) ?? [];
    if (left.length > 0) this.uidsByName.set(formatName(owner), left);
    else this.uidsByName.delete(formatName(owner));
  }

  private siblings(ownerUid: string): Iterable<Child> {
    return this.byOwner.get(ownerUid)?.values() ?? [];
  }
}
