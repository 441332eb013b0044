import type { KubernetesClient } from "../kubernetes/client";
import {
  type KubernetesObject,
  type Manifest,
  type ObjectName,
  withoutManagedFields,
} from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { dropOldest } from "../limits/dropOldest";
import { identityOf, type OperatorNames } from "../names";
import type { ReflectorSink } from "../watch/reflectorSink";
import { type Change, Store, storeKey } from "../watch/store";
import type { StoredObject } from "../watch/storedObject";
import { AppliedManifests } from "./appliedManifests";
import { type ChildNews, isLingering, newsOf } from "./childNews";
import { ChildrenByOwner } from "./childrenByOwner";
import type { DesiredChild } from "./desiredChildren";
import { HeldWatchEvents } from "./heldWatchEvents";
import { isMarked, managersOf } from "./marks";
import { marksOf } from "./ownedManifest";
import { type Owner, provenOwner } from "./ownership";
import { whyNotReady } from "./readiness";
import { ReadyWhenGone } from "./readyWhenGone";

/** What is known about every child. */
export interface ChildFacts {
  readonly owner: Owner;
  /** Fingerprint of the fields that we own, with their values. It changes when somebody removes or changes one of them. */
  readonly owned: string;
  /** Whether it has every mark of its owner, and not the label of a former name of the operator. */
  readonly isMarked: boolean;
  /** Whether it is ready: see {@link whyNotReady}. */
  readonly isReady: boolean;
}

/** What is known about a child. */
export type Child = StoredObject<ChildFacts>;

/** What a {@link ChildStore} holds, and who is called. */
export interface ChildStoreOptions {
  readonly client: Pick<KubernetesClient, "get">;
  /** The operator that applies the children. */
  readonly operator: OperatorNames;
  /** The kind of the custom resources that own the children. */
  readonly ownerKind: Resource;
  /** A child of `owner` has changed, other than by our own write. @default nobody is called */
  readonly onChange?: (owner: Owner, news: ChildNews) => void;
  /** @see StoreOptions.mostKept */
  readonly mostKept?: number | undefined;
}

/** The most unsure children that are looked for. If there are more, only those that became unsure last are looked for. */
const MOST_UNSURE = 10_000;

/**
 * The children of every custom resource, by their owner's uid.
 *
 * Guarantees, each with a test in tests/unit/childStore.test.ts or childStoreWakes.test.ts:
 * - Only what we applied counts as a child: see `provenOwner`.
 * - Our own writes cause no reconcile of the owner. Every other change does, even one that comes while we write.
 * - A child that is as we applied it is neither read nor applied again, even after a restart.
 */
export class ChildStore {
  private readonly store: Store<ChildFacts>;
  private readonly byOwner = new ChildrenByOwner<Child>();
  private readonly applied: AppliedManifests;
  /** All our field managers, including those of former names. */
  private readonly managers: readonly string[];
  /**
   * Children that no watch shows any more: they were deleted, or are no longer marked as ours. Bounded by {@link MOST_UNSURE}.
   */
  private readonly unsure = new Set<string>();
  /** Children that we deleted and that somebody's finalizer, or their grace period, keeps for a while, by uid. */
  private readonly leaving = new Set<string>();
  private readonly gone = new ReadyWhenGone();
  private readonly heldEvents = new HeldWatchEvents();

  constructor(private readonly options: ChildStoreOptions) {
    const { client, operator, ownerKind, mostKept } = options;
    const managers = managersOf(operator);
    this.managers = managers;
    this.applied = new AppliedManifests(operator);
    this.store = new Store<ChildFacts>({
      client,
      factsOf: (object) => {
        const owner = provenOwner(object, ownerKind, managers);
        return owner && this.factsOf(object, owner);
      },
      kept: (object) => this.applied.kept(object),
      onChange: (change) => this.changed(change),
      mostKept,
    });
  }

  /** How many children are known now. */
  get size(): number {
    return this.store.size;
  }

  /** The children of an owner, sorted by kind, namespace and name. */
  of(ownerUid: string): Child[] {
    return this.byOwner.of(ownerUid);
  }

  /** How long the children of an owner are together, in characters of JSON. */
  lengthOf(ownerUid: string): number {
    return this.byOwner.lengthOf(ownerUid);
  }

  /** The children of deleted objects that had the owner's name. */
  ofPredecessors(owner: Owner): Child[] {
    return this.byOwner.ofPredecessors(owner);
  }

  /** The owner of the child with that uid. Undefined if it is not a child. */
  ownerOf(childUid: string): Owner | undefined {
    return this.byOwner.ownerOf(childUid);
  }

  /** Every owner of a child. @param isMeant says which children count. @default all */
  owners(isMeant: (child: Child) => boolean = () => true): Owner[] {
    return this.byOwner.owners(isMeant);
  }

  /** The child with that name, of any owner. */
  find(resource: Resource, name: ObjectName): Child | undefined {
    return this.store.find(resource, name);
  }

  /** The child as it is now, without its `managedFields`. Undefined if it is gone. */
  async read(child: Child): Promise<KubernetesObject | undefined> {
    const object = await this.store.read(child);
    return object && withoutManagedFields(object);
  }

  /**
   * Whether a watch stopped showing the child with that name since we last looked. The child may then be there without its marks.
   */
  isUnsure(resource: Resource, name: ObjectName): boolean {
    return this.unsure.has(storeKey(resource, name));
  }

  /** The child with that name may be there without its marks: see {@link isUnsure}. */
  becomeUnsure(resource: Resource, name: ObjectName): void {
    this.unsure.add(storeKey(resource, name));
    dropOldest(this.unsure, MOST_UNSURE);
  }

  /** Those of an owner's desired children that are gone and were ready when they went: see {@link ReadyWhenGone}. */
  readyWhenGone(desired: readonly DesiredChild[], ownerUid: string): DesiredChild[] {
    return this.gone.among(desired, ownerUid);
  }

  /** It is remembered elsewhere that these children were ready when they went. */
  forgetGone(children: readonly DesiredChild[]): void {
    for (const { resource, manifest, ownerUid } of children)
      this.gone.forget(ownerUid, storeKey(resource, manifest.metadata));
  }

  /** Whether an apply of the manifest would change nothing. False if that is not known. */
  isApplied(child: Child, manifest: Manifest): boolean {
    return this.applied.has(child, manifest);
  }

  /**
   * Takes in children that were listed beside the watches. That causes no reconcile.
   * @param ownerUid takes in only the children of this owner. @default of every owner
   */
  learn(resource: Resource, objects: readonly KubernetesObject[], ownerUid?: string): void {
    const { managers } = this;
    const { ownerKind } = this.options;
    const isMeant = (object: KubernetesObject) =>
      ownerUid === undefined || provenOwner(object, ownerKind, managers)?.uid === ownerUid;
    for (const object of objects.filter(isMeant)) this.store.set(resource, object, "handled");
  }

  /** Forgets every child except those with these uids: the lists beside the watches did not have the others. */
  retain(uids: ReadonlySet<string>): void {
    for (const child of [...this.store.values()]) if (!uids.has(child.uid)) this.forget(child);
  }

  /** Forgets a child: a list beside the watches did not have it. */
  forget(child: Child): void {
    this.store.remove(child, "handled");
  }

  /**
   * Runs a write to a child and takes in its result before the watch brings it, so that our own write
   * causes no reconcile.
   * @param manifest what is applied. Undefined for a deletion
   * @param write gives the object that the API server answered. Undefined if the child is gone
   */
  async write<Result extends { object: KubernetesObject | undefined }>(
    resource: Resource,
    name: ObjectName,
    manifest: Manifest | undefined,
    write: () => Promise<Result>,
  ): Promise<Result> {
    const key = storeKey(resource, name);
    return this.heldEvents.during(key, async () => {
      this.unsure.delete(key);
      const before = this.store.find(resource, name);
      // If the answer is lost, the write may have been done. Until an answer comes, we do not know what the object holds.
      if (before) this.applied.forget(before.uid);
      const result = await write();
      if (result.object) {
        this.takeIn(resource, result.object, manifest);
      } else {
        const known = this.store.find(resource, name);
        if (known) this.store.remove(known, "handled");
      }
      return result;
    });
  }

  /** Takes in what a reflector sees of a kind. */
  sink(resource: Resource, namespace: string | undefined): ReflectorSink {
    const inner = this.store.sink(resource, namespace);
    const afterWrites = (object: KubernetesObject, takeIn: () => void) =>
      this.heldEvents.take(storeKey(resource, object.metadata), takeIn);
    return {
      ...inner,
      set: (object, isListed) => {
        // A list may end before a write does. The object that the write sets afterwards must count as listed.
        afterWrites(object, isListed ? inner.see(object) : () => inner.set(object, false));
      },
      remove: (object) => afterWrites(object, () => inner.remove(object)),
    };
  }

  /** Takes in the answer to one of our writes. */
  private takeIn(resource: Resource, object: KubernetesObject, manifest: Manifest | undefined): void {
    const { uid } = object.metadata;
    // The manifest is added before the object is kept, so that our entry in `managedFields` is not kept: see `kept`.
    if (manifest) this.applied.add(uid, manifest, this.applied.ownedIn(object));
    if (this.store.set(resource, object, "handled")?.uid !== uid) this.applied.forget(uid);
  }

  private factsOf(object: KubernetesObject, owner: Owner): ChildFacts {
    const { operator, ownerKind } = this.options;
    const { apiVersion, kind } = ownerKind;
    const { name, namespace } = object.metadata;
    const marks = marksOf({ apiVersion, kind, metadata: owner }, namespace, identityOf(operator));
    const marked = { apiVersion, kind, metadata: { name, ...marks } };
    const isReady = whyNotReady(object) === undefined;
    return { owner, owned: this.applied.ownedIn(object), isMarked: isMarked(object, marked), isReady };
  }

  private changed(change: Change<ChildFacts>): void {
    const { source, before, after, object } = change;
    const isSame = before?.uid === after?.uid && before?.facts.owner.uid === after?.facts.owner.uid;
    if (before && !isSame) this.byOwner.remove(before);
    const gone = before && before.uid !== after?.uid ? before.uid : undefined;
    const applied = before && gone !== undefined ? this.applied.lastOf(before) : undefined;
    if (gone !== undefined) this.applied.forget(gone);
    const isByUs = gone !== undefined && this.leaving.delete(gone);
    if (after) {
      this.byOwner.add(after);
      this.gone.forget(after.facts.owner.uid, storeKey(after.resource, after));
    } else if (before && source !== "handled") {
      this.becomeUnsure(before.resource, before);
      if (!isByUs) this.gone.went(before, object, applied);
    }
    // The children in the first list were there before us, and every object is looked at then anyway.
    if (source === "handled" || source === "initial") return;
    if (isLingering(before, after)) this.leaving.add(after.uid);
    for (const [owner, news] of newsOf(change, isByUs, this.managers)) this.options.onChange?.(owner, news);
  }
}
