import { type KubernetesObject, kindAndName, type Manifest } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { ChildApplier, type ChildApplierOptions, type ChildVerb, type WriteScope } from "./childApplier";
import type { Child } from "./childStore";
import { deleteOwned, type SeenChild } from "./deleteOwned";
import type { DesiredChild } from "./desiredChildren";
import { managersOf } from "./marks";
import { Outages } from "./outages";
import { isStrippedChildOf, provenOwner } from "./ownership";
import { childRefused, deletionRefused } from "./refusals";

/** One change that a reconcile made. */
export interface ChildChange {
  readonly verb: ChildVerb;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** A child of an object that is gone. */
export interface Orphan extends Child {
  readonly creationTimestamp: string | undefined;
}

/** What a {@link ChildWriter} works with. */
export interface ChildWriterOptions extends ChildApplierOptions {
  /** Whether the runner's rights over children are granted namespace by namespace. @default false */
  readonly isNamespaced?: boolean;
  /** A monotonic clock, in milliseconds. @default performance.now */
  readonly now?: () => number;
}

/**
 * Applies and deletes children.
 *
 * Guarantees, each with a test in tests/unit/childWriter.test.ts and tests/integration/hostile:
 * - Only what we applied is changed or deleted, and what was offered for adoption.
 * - A write to an existing child has the version that was seen. If somebody else wrote meanwhile, we look again first.
 * - Marks that a child lost are put back only if its owner still exists: `kubectl delete --cascade=orphan` keeps the child.
 */
export class ChildWriter {
  private readonly applier: ChildApplier;
  private readonly managers: readonly string[];
  private readonly outages: Outages;

  constructor(private readonly options: ChildWriterOptions) {
    this.applier = new ChildApplier(options);
    this.outages = new Outages("ChildRefused", options.now);
    this.managers = managersOf(options.operator);
  }

  /**
   * Makes one child as desired.
   * @returns what was changed. Undefined if nothing was
   * @throws ReconcileFailure `ChildConflict` if the name is taken by an object that we do not own, `ChildRefused` or
   *   `NamespaceNotGranted` if the API server does not accept the manifest, or lacks for long what it needs for that;
   *   ObjectGoneError
   */
  async apply(child: DesiredChild, scope: WriteScope): Promise<ChildChange | undefined> {
    const { store, isNamespaced = false } = this.options;
    const { resource, manifest } = child;
    const name = kindAndName(manifest.kind, manifest.metadata);
    if (this.isDone(child)) {
      // It may have been written although the API server answered that it was not.
      this.outages.ended(name);
      return undefined;
    }
    try {
      const verb = await this.applier.apply(child, this.known(child), scope);
      this.outages.ended(name);
      return verb && describe(verb, resource, manifest.metadata);
    } catch (error) {
      // The next reconcile looks again, and fails in the same way as long as the reason lasts.
      if (child.isCreated) store.becomeUnsure(resource, manifest.metadata);
      const outage = await this.outages.met(error, name, scope, `write ${name}`);
      throw outage ?? childRefused(error, child, scope, isNamespaced) ?? error;
    }
  }

  /** Whether an apply of the child would do nothing. False if that is not known. */
  isDone(child: DesiredChild): boolean {
    const known = this.known(child);
    return known ? this.needsNoWrite(known, child) : this.isLeftAlone(child);
  }

  /** The child as we know it. Undefined if no object with that name is known to be its owner's. */
  known({ resource, manifest, ownerUid }: DesiredChild): Child | undefined {
    const found = this.options.store.find(resource, manifest.metadata);
    return found?.facts.owner.uid === ownerUid ? found : undefined;
  }

  /**
   * Deletes a child that is no longer wanted: exactly that object, in the version that was seen to be ours.
   * @param scope its owner. Only a client if the owner is gone, and cannot report why a child cannot be deleted
   * @returns undefined if the child is gone, or no longer ours
   * @throws ReconcileFailure `ChildRefused` if the API server refuses that, or lacks for long what it needs for that; ApiError
   *   409 if somebody else writes it all the time
   */
  async delete(
    child: Child,
    scope: WriteScope | Pick<WriteScope, "client">,
  ): Promise<ChildChange | undefined> {
    const { uid } = child.facts.owner;
    return this.deleteIf((found) => this.ownerOf(found)?.uid === uid, child, scope);
  }

  /**
   * Deletes a child of this owner that has lost one of the marks that name the owner.
   * @param found as `isStrippedChildOf` has recognized it
   * @returns undefined if it is no such child any more, or is gone
   * @throws as {@link delete} does
   */
  async deleteStripped(
    resource: Resource,
    found: KubernetesObject,
    owner: KubernetesObject,
    scope: Pick<WriteScope, "client">,
  ): Promise<ChildChange | undefined> {
    const isOwned = (now: KubernetesObject) =>
      isStrippedChildOf(now, owner, this.managers) || this.ownerOf(now)?.uid === owner.metadata.uid;
    if (found.metadata.deletionTimestamp) return undefined;
    const { name, namespace, uid, resourceVersion } = found.metadata;
    return this.deleteIf(isOwned, { resource, name, namespace, uid, resourceVersion }, scope);
  }

  /**
   * Deletes a child of an object that is gone, as the garbage collector should: see {@link readOrphan}.
   * @returns undefined if there is nothing to delete
   */
  async deleteOrphan(child: Child, scope: Pick<WriteScope, "client">): Promise<ChildChange | undefined> {
    const orphan = await this.readOrphan(child, scope);
    return orphan && this.delete(orphan, scope);
  }

  /**
   * The child of an object that is gone, in its present version. Undefined if it is gone or going, is not marked as that object's any
   * more, or has another owner too. A child that lost its owner by `kubectl delete --cascade=orphan` is nobody's.
   */
  async readOrphan(child: Child, { client }: Pick<WriteScope, "client">): Promise<Orphan | undefined> {
    const found = await client.get(child.resource, child);
    if (!found || found.metadata.uid !== child.uid) return undefined;
    const { resourceVersion, creationTimestamp, deletionTimestamp, ownerReferences = [] } = found.metadata;
    if (deletionTimestamp || ownerReferences.length > 1) return undefined;
    return this.ownerOf(found)?.uid === child.facts.owner.uid
      ? { ...child, resourceVersion, creationTimestamp }
      : undefined;
  }

  private async deleteIf(
    isOwned: (found: KubernetesObject) => boolean,
    child: SeenChild,
    scope: WriteScope | Pick<WriteScope, "client">,
  ): Promise<ChildChange | undefined> {
    const { resource, uid } = child;
    const name = kindAndName(resource.kind, child);
    try {
      const result = await deleteOwned(this.options.store, scope.client, child, isOwned);
      this.outages.ended(uid);
      return result === "deleted" ? describe("deleted", resource, child) : undefined;
    } catch (error) {
      // By its uid: if it was deleted although the API server answered that it was not, nobody tries again, and another child may
      // take its name.
      const outage =
        "confirmOwner" in scope ? await this.outages.met(error, uid, scope, `delete ${name}`) : undefined;
      throw outage ?? deletionRefused(error, child) ?? error;
    }
  }

  private ownerOf(found: KubernetesObject) {
    return provenOwner(found, this.options.ownerKind, this.managers);
  }

  /**
   * Whether there is nothing to write to an existing child. One that is never updated may differ from what is desired, except in
   * its marks.
   */
  private needsNoWrite(known: Child, child: DesiredChild): boolean {
    // A child that is being deleted cannot be changed. Its owner is reconciled again when it is gone.
    if (known.deleting) return true;
    // A webhook may change the marks of what is applied. And when the former names of the operator are forgotten, nobody would
    // follow a child with the label of one.
    if (!known.facts.isMarked) return false;
    return child.update === "never" || this.options.store.isApplied(known, child.manifest);
  }

  /** A child that was created once is not created again. The writer looks for it only if it may be there without its marks. */
  private isLeftAlone({ isCreated, resource, manifest }: DesiredChild): boolean {
    return isCreated === true && !this.options.store.isUnsure(resource, manifest.metadata);
  }
}

function describe(
  verb: ChildVerb,
  { kind }: Resource,
  { namespace, name }: Manifest["metadata"] | SeenChild,
) {
  return { verb, kind, namespace, name };
}
