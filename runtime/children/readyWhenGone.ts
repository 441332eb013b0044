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

/** What is remembered of it. */
interface Remembered {
  /** A fingerprint of what we applied, if the child still was as we applied it. */
  readonly manifest: string | undefined;
}

/** Of how many owners children are remembered. */
const MOST_OWNERS = 10_000;
/**
 * For how long, in milliseconds, if no answer about their owner comes meanwhile: a reconcile may fail a few times. A standby gets no
 * answers, and sees each child that the leader deletes. It must not take such a child for a Job that went by itself, when it leads
 * long after that.
 */
const KEPT_MS = 600_000;

/**
 * Children that were ready when they went, although we did not delete them. A Job whose `ttlSecondsAfterFinished` is short goes
 * before any reconcile sees that it is complete. If nobody remembered that, a Job that is created once would be made again and again.
 * They are remembered until the next answer about their owner. If a Job is missing in this answer, a later answer creates it again.
 */
export class ReadyWhenGone {
  /** By the uid of the owner, and by the key of the child. */
  private readonly byOwner: Recent<Recent<Remembered>>;

  /** @param now a monotonic clock, in milliseconds */
  constructor(private readonly now: () => number = () => performance.now()) {
    this.byOwner = new Recent({ keptMs: KEPT_MS, most: MOST_OWNERS, now });
  }

  /**
   * A child has gone.
   * @param last its last state, if a watch gave that
   * @param manifest a fingerprint of the manifest that we applied, if it still was as we applied it
   */
  went(child: Gone, last: KubernetesObject | undefined, manifest: string | undefined): void {
    const { resource, facts } = child;
    if (!facts.isReady && !(last && isReadyButGoing(last))) return;
    const { uid } = facts.owner;
    // Each child has a time of its own: of an owner that gets no answer here, one child may go after another, for ever.
    const children = this.byOwner.get(uid) ?? new Recent<Remembered>({ keptMs: KEPT_MS, now: this.now });
    children.set(storeKey(resource, child), { manifest });
    this.byOwner.set(uid, children);
  }

  /**
   * Those of an owner's desired children that were ready when they went, as they should be now. If a child is never updated, it may
   * have been anything. The owner's other children are forgotten.
   */
  among(desired: readonly DesiredChild[], ownerUid: string): DesiredChild[] {
    const children = this.byOwner.get(ownerUid);
    if (!children) return [];
    const ready = desired.filter((child) => {
      const gone = children.get(keyOf(child));
      return gone && (child.update === "never" || gone.manifest === fingerprint(child.manifest));
    });
    const kept = new Set(ready.map(keyOf));
    for (const key of children.keys()) if (!kept.has(key)) children.delete(key);
    return ready;
  }

  /** The owner's child with that key is there again, or is remembered elsewhere. */
  forget(ownerUid: string, key: string): void {
    this.byOwner.get(ownerUid)?.delete(key);
  }
}

function keyOf({ resource, manifest }: DesiredChild): string {
  return storeKey(resource, manifest.metadata);
}

/** Whether nothing but its deletion says that an object is not ready. */
function isReadyButGoing(object: KubernetesObject): boolean {
  const { deletionTimestamp: _, ...metadata } = object.metadata;
  return whyNotReady({ ...object, metadata }) === undefined;
}
