import type { ChildNews } from "../children/childNews";
import type { Owner } from "../children/ownership";
import type { ObjectName } from "../kubernetes/objects";
import type { UsedChange } from "../uses/usedObjects";
import type { ObjectChange } from "../watch/customResources";

/** Who is told what the watches see of the cluster. */
export interface ClusterListener {
  /** An object is to be reconciled. */
  objectChanged(change: ObjectChange): void;
  /** An object is gone, or no longer one of those that are watched. */
  objectGone(name: ObjectName, uid: string): void;
  /** A child of an object has changed, other than by our own write. */
  childChanged(owner: Owner, news: ChildNews): void;
  /** The cluster no longer serves a kind of which these objects have children. */
  childrenUnserved(owners: readonly Owner[]): void;
  /** An object that custom resources use has changed. */
  usedChanged(change: UsedChange): void;
  /** Somebody deleted the Memory of an object that we do not own. */
  memoryLost(name: ObjectName): void;
  /** A kind was listed for the first time, or again after a refusal: objects that wait for it can be reconciled. */
  kindListed(): void;
}
