import { dropOldest } from "../base/limits";
import { identityOf, type OperatorNames } from "../base/names";
import { type KubernetesObject, type Manifest, type ObjectName, withoutManagedFields } from "../base/objects";
import type { Resource } from "../base/resource";
import type { ObjectReader } from "../kubernetes/client";
import type { ChildKind } from "../operator/definition";
import { type Facts, isLingering, newsOf } from "./childNews";
import {
  AppliedManifests,
  ChildrenByOwner,
  HeldWatchEvents,
  ReadyWhenGone,
  type Wanted,
} from "./childRecords";
import { followedBy, hasMarks, managersOf, marksOf } from "./marks";
import type { Emit } from "./news";
import { type Owner, ownerOfAnotherKind, provenOwner } from "./ownership";
import { readinessOf, type WhyNotReady } from "./readiness";
import { leftOut, type ReflectorSink } from "./reflector";
import { type Change, Store, storeKey } from "./store";
import type { StoredObject } from "./storedObject";

/** What is known about every child. */
export interface ChildFacts extends Facts {
  /** Whether it has every mark of its owner, and not the label of a former name of the operator. */
  readonly isMarked: boolean;
  /** The keys of the children that it follows: see `FOLLOWS_ANNOTATION`. */
  readonly follows: readonly string[];
}

/** What is known about a child. */
export type Child = StoredObject<ChildFacts>;

/** What a {@link ChildStore} holds, and who is called. */
export interface ChildStoreOptions {
  readonly client: ObjectReader;
  /** The operator that applies the children, with the kinds that say when they are ready. */
  readonly operator: OperatorNames & { readonly children?: readonly ChildKind[] };
  /** The kind of the custom resources that own the children. */
  readonly ownerKind: Resource;
  /** @default nothing is reported */
  readonly emit?: Emit | undefined;
  /** A watch reported a child during our own write to it, and the store could not accept the report. @default ignored */
  readonly onRefused?: (resource: Resource, error: Error) => void;
  /** How much content is kept, in characters of JSON: see `Store`. */
  readonly mostKept?: number | undefined;
}

/** How many owners are remembered that were emptied. */
const MOST_EMPTIED = 10_000;
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
export class ChildStore extends ChildrenByOwner<Child> {
  private readonly store: Store<ChildFacts>;
  private readonly applied: AppliedManifests;
  /** The operator that applies the children. */
  readonly operator: OperatorNames;
  /** The kind of the custom resources that own the children. */
  readonly ownerKind: Resource;
  /** All our field managers, including those of former names. */
  readonly managers: readonly string[];
  /** Why a child of the operator is not ready yet. */
  readonly whyNotReady: WhyNotReady;
  /**
   * Children that no watch shows any more: they were deleted, or are no longer marked as ours. Bounded by {@link MOST_UNSURE}.
   */
  private readonly unsure = new Set<string>();
  /** Children that we deleted and that a finalizer or their grace period keeps for a while, by uid. */
  private readonly leaving = new Set<string>();
  private readonly formerKinds = new Set<string>();
  /** The uids of owners that went when all of their children elsewhere had been deleted. */
  private readonly emptiedOwners = new Set<string>();
  private readonly gone: ReadyWhenGone;
  private readonly heldEvents = new HeldWatchEvents();

  constructor(private readonly options: ChildStoreOptions) {
    super();
    const { client, operator, ownerKind, mostKept } = options;
    this.operator = operator;
    this.ownerKind = ownerKind;
    this.managers = managersOf(operator);
    this.whyNotReady = readinessOf(operator.children ?? []);
    this.gone = new ReadyWhenGone(this.whyNotReady);
    this.applied = new AppliedManifests(operator);
    this.store = new Store<ChildFacts>({
      client,
      factsOf: (object) => {
        const owner = this.provenOwner(object);
        if (owner) return this.factsOf(object, owner);
        this.meetFormerKind(object);
        return undefined;
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

  /** The owner of an object that we applied: see {@link provenOwner}. Undefined if it is no child of ours. */
  provenOwner(object: KubernetesObject): Owner | undefined {
    return provenOwner(object, this.ownerKind, this.managers);
  }

  /**
   * An owner goes, and all of its children that no owner reference covers have been deleted. If one of them comes afterwards, it is the
   * late write of a former leader: {@link wasEmptied}.
   */
  emptied(ownerUid: string): void {
    this.emptiedOwners.add(ownerUid);
    dropOldest(this.emptiedOwners, MOST_EMPTIED);
  }

  /** Whether the owner went when all of its children elsewhere had been deleted. False also if that is not known. */
  wasEmptied(ownerUid: string): boolean {
    return this.emptiedOwners.has(ownerUid);
  }

  /** The child with that name, of any owner. */
  find(resource: Resource, name: ObjectName): Child | undefined {
    return this.store.find(resource, name);
  }

  /** The child as it is now, without its `managedFields`. Undefined if it is gone. */
  async readChild(child: Child): Promise<KubernetesObject | undefined> {
    const object = await this.readOwned(child);
    return object && withoutManagedFields(object);
  }

  /** The same with the entries in `managedFields` of what we applied. */
  readOwned(child: Child): Promise<KubernetesObject | undefined> {
    return this.store.read(child);
  }

  /** Whether a watch stopped showing the child with that name since we last looked. The child may then exist without its marks. */
  isUnsure(resource: Resource, name: ObjectName): boolean {
    return this.unsure.has(storeKey(resource, name));
  }

  /** The child with that name may exist without its marks: see {@link isUnsure}. */
  becomeUnsure(resource: Resource, name: ObjectName): void {
    this.unsure.add(storeKey(resource, name));
    dropOldest(this.unsure, MOST_UNSURE);
  }

  /** Those of an owner's desired children that are gone and were ready when they went: see {@link ReadyWhenGone}. */
  readyWhenGone<Desired extends Wanted>(desired: readonly Desired[], ownerUid: string): Desired[] {
    return this.gone.among(desired, ownerUid);
  }

  /** It is remembered elsewhere that these children were ready when they went. */
  forgetGone(children: readonly Wanted[], ownerUid: string): void {
    for (const { resource, manifest } of children)
      this.gone.forgetGone(ownerUid, storeKey(resource, manifest.metadata));
  }

  /** Whether an apply of the manifest would change nothing. False if that is not known. */
  isApplied(child: Child, manifest: Manifest): boolean {
    return this.applied.has(child, manifest);
  }

  /**
   * Stores children that were listed without a watch. That causes no reconcile.
   * @param ownerUid stores only the children of this owner. @default of every owner
   */
  learn(resource: Resource, objects: readonly KubernetesObject[], ownerUid?: string): void {
    const isMeant = (object: KubernetesObject) =>
      ownerUid === undefined || this.provenOwner(object)?.uid === ownerUid;
    for (const object of objects.filter(isMeant)) this.store.set(resource, object, "handled");
  }

  /** Forgets a child: a list without a watch did not have it. */
  forget(child: Child): void {
    this.store.remove(child, "handled");
  }

  /**
   * Runs a write to a child and stores its result before the watch brings it, so that our own write
   * causes no reconcile.
   * @param manifest what is applied. Undefined for a deletion
   * @param write gives the object that the API server answered. Undefined if the child is gone, or is going and the caller does
   *   not wait for that
   */
  async write<Result extends { object: KubernetesObject | undefined }>(
    resource: Resource,
    name: ObjectName,
    manifest: Manifest | undefined,
    write: () => Promise<Result>,
  ): Promise<Result> {
    const key = storeKey(resource, name);
    return this.heldEvents.during(key, async () => {
      const before = this.store.find(resource, name);
      // If the answer is lost, the write may have been done. Until an answer comes, we do not know what the object holds.
      if (before) this.applied.doubt(before.uid);
      const result = await write();
      const { object } = result;
      this.unsure.delete(key);
      if (object) {
        const { uid, resourceVersion } = object.metadata;
        const stored = this.store.set(resource, object, "handled");
        // The store may have a later version, which another client has written.
        const isStored = stored?.uid === uid && stored.resourceVersion === resourceVersion;
        const owned = isStored ? stored.facts.owned : this.applied.ownedIn(object);
        if (stored?.uid !== uid) this.applied.forgetApplied(uid);
        else if (manifest) this.applied.addApplied(uid, manifest, owned);
        else if (stored?.deleting) this.leaving.add(uid);
      } else {
        const known = this.store.find(resource, name);
        if (known) this.forget(known);
      }
      return result;
    });
  }

  /** Stores what a reflector sees of a kind. */
  sink(resource: Resource, namespace: string | undefined): ReflectorSink {
    const inner = this.store.sink(resource, namespace);
    const afterWrites = (object: KubernetesObject, takeIn: () => void) => {
      const onRefused = ({ message }: Error) =>
        this.options.onRefused?.(resource, new Error(leftOut(object, message)));
      this.heldEvents.takeOrHold(storeKey(resource, object.metadata), takeIn, onRefused);
    };
    return {
      ...inner,
      set: (object, isListed) => {
        // A list may end before a write does. The object that the write sets afterwards must count as listed.
        afterWrites(object, isListed ? inner.see(object) : () => inner.set(object, false));
      },
      remove: (object) => afterWrites(object, () => inner.remove(object)),
    };
  }

  private meetFormerKind(object: KubernetesObject): void {
    const { managers, ownerKind, formerKinds, options } = this;
    const { kind, owner } = ownerOfAnotherKind(object, ownerKind, managers) ?? {};
    if (kind === undefined || owner === undefined || formerKinds.has(kind)) return;
    formerKinds.add(kind);
    options.emit?.({ kind: "former kind", owner });
  }

  private factsOf(object: KubernetesObject, owner: Owner): ChildFacts {
    const { apiVersion, kind } = this.ownerKind;
    const { namespace } = object.metadata;
    const marks = marksOf({ apiVersion, kind, metadata: owner }, namespace, identityOf(this.operator));
    return {
      owner,
      owned: this.applied.ownedIn(object),
      isMarked: hasMarks(object, marks),
      follows: followedBy(object),
      isReady: this.whyNotReady(object) === undefined,
    };
  }

  private changed(change: Change<ChildFacts>): void {
    const { source, before, after, object } = change;
    const isSame = before?.uid === after?.uid && before?.facts.owner.uid === after?.facts.owner.uid;
    if (before && !isSame) this.removeChild(before);
    const gone = before && before.uid !== after?.uid ? before.uid : undefined;
    const applied = before && gone !== undefined ? this.applied.lastOf(before) : undefined;
    if (gone !== undefined) this.applied.forgetApplied(gone);
    const isByUs = gone !== undefined && this.leaving.delete(gone);
    if (after) {
      this.addChild(after);
      this.gone.forgetGone(after.facts.owner.uid, storeKey(after.resource, after));
    } else if (before && source !== "handled") {
      this.becomeUnsure(before.resource, before);
      if (!isByUs) this.gone.went(before, object, applied);
    }
    // The children in the first list are older than this process, and every object is looked at then anyway.
    if (source === "handled" || source === "initial") return;
    if (isLingering(before, after)) this.leaving.add(after.uid);
    for (const news of newsOf(change, isByUs, this.managers)) this.options.emit?.(news);
  }
}
