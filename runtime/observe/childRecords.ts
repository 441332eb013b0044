import { monotonicNow } from "../base/clock";
import { fingerprint, jsonOf, textFingerprint } from "../base/json";
import { Recent } from "../base/limits";
import { fieldManagerOf, formerManagersOf, type OperatorNames } from "../base/names";
import { formatName, type JsonObject, type KubernetesObject, type Manifest } from "../base/objects";
import type { Resource } from "../base/resource";
import { compareTexts, flat } from "../base/text";
import { appliesNothing, applyEntries, applyEntry, ownedValues } from "../kubernetes/managedFields";
import type { UpdatePolicy } from "../operator/definition";
import type { Owner } from "./ownership";
import type { WhyNotReady } from "./readiness";
import { storeKey } from "./store";
import { contentOf, type StoredObject } from "./storedObject";

/** A child that belongs to an owner. */
type Owned = StoredObject<{ readonly owner: Owner }>;

/**
 * Children by their owners, and owners by their children. Most owners have one child, and most names one owner: for these there is
 * neither a map nor a list.
 */
export abstract class ChildrenByOwner<Child extends Owned> {
  /** The child of each owner, or its children by their own uid. */
  private readonly byOwner = new Map<string, Child | Map<string, Child>>();
  /** The owners of the children, by the child's uid. */
  private readonly ownerByChild = new Map<string, Owner>();
  /** The uids of owners by their name. There are several if an object was deleted and created again. */
  private readonly uidsByName = new Map<string, string | readonly string[]>();

  /** The children of an owner, sorted by kind, namespace and name. */
  of(ownerUid: string): Child[] {
    const siblings = this.siblings(ownerUid);
    if (siblings.length < 2) return siblings;
    const keyed = siblings.map((child): [string, Child] => [storeKey(child.resource, child), child]);
    return keyed.sort(([a], [b]) => compareTexts(a, b)).map(([, child]) => child);
  }

  /** How long the children of an owner are together, in characters of JSON. */
  lengthOf(ownerUid: string): number {
    let sum = 0;
    for (const { length = 0 } of this.siblings(ownerUid)) sum += length;
    return sum;
  }

  /** The children of deleted objects that had the owner's name. */
  ofPredecessors(owner: Owner): Child[] {
    const uids = this.uidsOf(formatName(owner));
    return uids.filter((uid) => uid !== owner.uid).flatMap((uid) => this.of(uid));
  }

  /** The owner of the child with that uid. Undefined if it is not a child. */
  ownerOf(childUid: string): Owner | undefined {
    return this.ownerByChild.get(childUid);
  }

  /** Every owner of a child. @param isMeant says which children count. @default all */
  owners(isMeant: (child: Child) => boolean = () => true): Owner[] {
    const owners: Owner[] = [];
    for (const known of this.byOwner.values()) {
      const meant = known instanceof Map ? [...known.values()].find(isMeant) : isMeant(known) && known;
      if (meant) owners.push(meant.facts.owner);
    }
    return owners;
  }

  /** The child belongs to its owner from now on, also in another state than before. */
  protected addChild(child: Child): void {
    const { owner } = child.facts;
    this.ownerByChild.set(child.uid, owner);
    const known = this.byOwner.get(owner.uid);
    if (known instanceof Map) known.set(child.uid, child);
    else if (known === undefined || known.uid === child.uid) this.byOwner.set(owner.uid, child);
    else this.byOwner.set(owner.uid, new Map([known, child].map((each) => [each.uid, each])));
    const name = formatName(owner);
    const uids = this.uidsOf(name);
    if (uids.includes(owner.uid)) return;
    this.uidsByName.set(flat(name), uids.length === 0 ? owner.uid : [...uids, owner.uid]);
  }

  /** The child no longer belongs to its owner. */
  protected removeChild(child: Child): void {
    const { owner } = child.facts;
    this.ownerByChild.delete(child.uid);
    const known = this.byOwner.get(owner.uid);
    if (known instanceof Map) {
      known.delete(child.uid);
      if (known.size > 0) return;
    } else if (known?.uid !== child.uid) return;
    this.byOwner.delete(owner.uid);
    const name = formatName(owner);
    const [one, ...others] = this.uidsOf(name).filter((uid) => uid !== owner.uid);
    if (one === undefined) this.uidsByName.delete(name);
    else this.uidsByName.set(name, others.length === 0 ? one : [one, ...others]);
  }

  private uidsOf(name: string): readonly string[] {
    const uids = this.uidsByName.get(name) ?? [];
    return typeof uids === "string" ? [uids] : uids;
  }

  private siblings(ownerUid: string): Child[] {
    const known = this.byOwner.get(ownerUid);
    if (known === undefined) return [];
    return known instanceof Map ? [...known.values()] : [known];
  }
}

/** Fingerprints of the manifest that we applied last to a child, and of the fields that we owned right afterwards. */
interface Applied {
  readonly manifest: string;
  readonly owned: string;
}

/** What we applied last to each child, so that nothing is applied again to a child that is as we left it. */
export class AppliedManifests {
  /** By the uid of the child. */
  private readonly applied = new Map<string, Applied>();
  private readonly fieldManager: string;
  private readonly formerManagers: readonly string[];

  /** @param operator that applies the children */
  constructor(operator: OperatorNames) {
    this.fieldManager = fieldManagerOf(operator);
    this.formerManagers = formerManagersOf(operator);
  }

  /** A fingerprint of the fields that we own in an object, with their values. */
  ownedIn(object: KubernetesObject): string {
    const entry = applyEntry(object, this.fieldManager);
    // The API server always writes fields in one order, so their text tells whether they are the same.
    return textFingerprint(jsonOf([entry?.fieldsV1, ownedValues(object, entry)]) ?? "");
  }

  /** The manifest was applied to the child. @param owned as {@link ownedIn} gives it right afterwards */
  addApplied(childUid: string, manifest: Manifest, owned: string): void {
    this.applied.set(childUid, { manifest: fingerprint(manifest), owned });
  }

  /** The child is gone, or no longer ours. */
  forgetApplied(childUid: string): void {
    this.applied.delete(childUid);
  }

  /** A manifest is being applied to the child. If no answer comes, the child's content is unknown until the next apply. */
  doubt(childUid: string): void {
    this.applied.set(childUid, { manifest: "", owned: "" });
  }

  /** A fingerprint of the manifest that was applied, if the child still is as it was applied. Undefined also if that is not known. */
  lastOf({ uid, facts }: StoredObject<{ readonly owned: string }>): string | undefined {
    const known = this.applied.get(uid);
    return known?.owned === facts.owned ? known.manifest : undefined;
  }

  /** Whether an apply of the manifest would change nothing. False if that is not known. */
  has(child: StoredObject<{ readonly owned: string }>, manifest: Manifest): boolean {
    const { uid, facts } = child;
    if (this.applied.has(uid)) return this.lastOf(child) === fingerprint(manifest);
    // After a restart nothing is remembered. Then `managedFields` of the object say what was applied.
    const observed = contentOf(child);
    const fields = observed && applyEntry(observed, this.fieldManager)?.fieldsV1;
    // It must be applied again, so that the fields are released that a former name of the operator owns.
    if (observed && applyEntries(observed, this.formerManagers).length > 0) return false;
    if (!observed || !fields || !appliesNothing(manifest, observed, fields as JsonObject)) return false;
    this.addApplied(uid, manifest, facts.owned);
    return true;
  }

  /** The part of a child that a store keeps. Of its `managedFields`, these are only the entries of what we applied. */
  kept(object: KubernetesObject): KubernetesObject {
    const managedFields = applyEntries(object, [this.fieldManager, ...this.formerManagers]);
    return { ...object, metadata: { ...object.metadata, managedFields } };
  }
}

/** The writes of one object. */
interface WritesInProgress {
  /** How many there are: a child of a deleted object may be deleted while another object applies one of its name. */
  count: number;
  readonly events: (() => void)[];
}

/**
 * The events of a watch about objects that we are writing. An event may be the echo of our own write, so it waits until all our
 * writes of its object have been answered.
 */
export class HeldWatchEvents {
  private readonly writing = new Map<string, WritesInProgress>();

  /** Writes the object with that key. Events about it wait until the write ends. */
  async during<Result>(key: string, write: () => Promise<Result>): Promise<Result> {
    const writing = this.writing.get(key) ?? { count: 0, events: [] };
    this.writing.set(key, writing);
    writing.count++;
    try {
      return await write();
    } finally {
      if (--writing.count === 0) {
        this.writing.delete(key);
        for (const takeIn of writing.events) takeIn();
      }
    }
  }

  /**
   * Handles an event about the object with that key, now or when our writes of the object have been answered.
   * @param takeIn may throw. Now the caller gets the error. Later it ends neither the write nor the events behind it
   */
  takeOrHold(key: string, takeIn: () => void, onRefused: (error: Error) => void): void {
    const writing = this.writing.get(key);
    if (!writing) return takeIn();
    writing.events.push(() => {
      try {
        takeIn();
      } catch (error) {
        onRefused(error as Error);
      }
    });
  }
}

/** A child as its owner's handler wants it. */
export interface Wanted {
  readonly resource: Resource;
  readonly manifest: Manifest;
  readonly update: UpdatePolicy;
}

/** Of how many owners children are remembered. */
const MOST_OWNERS = 10_000;
/**
 * For how long they are remembered if no answer about their owner comes, in milliseconds: a reconcile may fail a few times. A
 * standby gets no answers, and sees each child that the leader deletes. If it leads long after that, it must not take such a child
 * for a Job that went by itself.
 */
const KEPT_MS = 600_000;

/**
 * Children that were ready when they went, although we did not delete them. A Job whose `ttlSecondsAfterFinished` is short goes
 * before any reconcile sees that it is complete. Without this record, a Job that is created once would be created again and again.
 * They are remembered until the next answer about their owner. If a Job is missing in this answer, a later answer creates it
 * again.
 */
export class ReadyWhenGone {
  /**
   * By the uid of the owner, and by the key of the child: a fingerprint of what we applied. "": the child was not as we applied it any
   * more.
   */
  private readonly byOwner: Recent<Recent<string>>;

  /** @param now a monotonic clock, in milliseconds */
  constructor(
    private readonly whyNotReady: WhyNotReady,
    private readonly now: () => number = monotonicNow,
  ) {
    this.byOwner = new Recent({ keptMs: KEPT_MS, most: MOST_OWNERS, now });
  }

  /**
   * A child has gone.
   * @param last its last state, if a watch gave that
   * @param manifest a fingerprint of the manifest that we applied, if it still was as we applied it
   */
  went(
    child: StoredObject<{ readonly owner: Owner; readonly isReady: boolean }>,
    last: KubernetesObject | undefined,
    manifest = "",
  ): void {
    const { resource, facts } = child;
    if (!facts.isReady && !(last && this.isReadyButGoing(last))) return;
    const { uid } = facts.owner;
    // Each child has a time of its own: of an owner that gets no answer here, one child may go after another, for ever.
    const children = this.byOwner.get(uid) ?? new Recent<string>({ keptMs: KEPT_MS, now: this.now });
    children.set(storeKey(resource, child), manifest);
    this.byOwner.set(uid, children);
  }

  /**
   * Those of an owner's desired children that were ready when they went, as they should be now. If a child is never updated, it may
   * have been anything. The owner's other children are forgotten.
   */
  among<Child extends Wanted>(desired: readonly Child[], ownerUid: string): Child[] {
    const children = this.byOwner.get(ownerUid);
    if (!children) return [];
    const ready = desired.filter((child) => {
      const gone = children.get(keyOf(child));
      return gone !== undefined && (child.update === "never" || gone === fingerprint(child.manifest));
    });
    const kept = new Set(ready.map(keyOf));
    for (const key of children.keys()) if (!kept.has(key)) children.delete(key);
    return ready;
  }

  /** The owner's child with that key exists again, or is remembered elsewhere. */
  forgetGone(ownerUid: string, key: string): void {
    this.byOwner.get(ownerUid)?.delete(key);
  }

  /** Whether nothing but its deletion says that an object is not ready. */
  private isReadyButGoing(object: KubernetesObject): boolean {
    const { deletionTimestamp: _, ...metadata } = object.metadata;
    return this.whyNotReady({ ...object, metadata }) === undefined;
  }
}

function keyOf({ resource, manifest }: Wanted): string {
  return storeKey(resource, manifest.metadata);
}
