import { fingerprint } from "../json/fingerprint";
import type { KubernetesObject } from "../kubernetes/objects";
import { Recent } from "../limits/recent";
import { storeKey } from "../watch/store";
import type { StoredObject } from "../watch/storedObject";
import type { DesiredChild } from "./desiredChildren";
import type { Owner } from "./ownership";
import { whyNotReady } from "./readiness";

/** A child that is gone. */
type Gone = StoredObject<{ readonly owner: Owner; readonly isReady: boolean }>;

/** How many children are remembered. */
const MOST_REMEMBERED = 10_000;
/**
 * For how long, in milliseconds: until the next reconcile of the owner, which may fail a few times. A standby sees each child that the
 * leader deletes. It must not take such a child for a Job that went by itself, when it leads long after that.
 */
const KEPT_MS = 600_000;

/**
 * Children that were ready when they went, although we did not delete them. A Job whose `ttlSecondsAfterFinished` is short goes
 * before any reconcile sees that it is complete. If nobody remembered that, a Job that is created once would be made again and again.
 */
export class ReadyWhenGone {
  private readonly children: Recent<{ readonly ownerUid: string; readonly manifest: string | undefined }>;

  /** @param now a monotonic clock, in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.children = new Recent({ keptMs: KEPT_MS, most: MOST_REMEMBERED, now });
  }

  /**
   * A child has gone.
   * @param last its last state, if a watch gave that
   * @param manifest a fingerprint of the manifest that we applied, if it still was as we applied it
   */
  went(child: Gone, last: KubernetesObject | undefined, manifest: string | undefined): void {
    const { resource, facts } = child;
    if (!facts.isReady && !(last && isReadyButGoing(last))) return;
    this.children.set(storeKey(resource, child), { ownerUid: facts.owner.uid, manifest });
  }

  /** Whether a child was ready when it went, as it should be now. If it is never updated, it may have been anything. */
  has({ resource, manifest, ownerUid, update }: DesiredChild): boolean {
    const gone = this.children.get(storeKey(resource, manifest.metadata));
    if (gone?.ownerUid !== ownerUid) return false;
    return update === "never" || gone.manifest === fingerprint(manifest);
  }

  /** The child with that key is there again, or is remembered elsewhere. */
  forget(key: string): void {
    this.children.delete(key);
  }
}

/** Whether nothing but its deletion says that an object is not ready. */
function isReadyButGoing(object: KubernetesObject): boolean {
  const { deletionTimestamp: _, ...metadata } = object.metadata;
  return whyNotReady({ ...object, metadata }) === undefined;
}
