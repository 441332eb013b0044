import { type KubernetesObject, kindAndName, type ObjectName } from "../base/objects";
import type { Resource, TypeMeta } from "../base/resource";
import type { Child, ChildStore } from "../observe/childStore";
import { following } from "../observe/marks";
import { isStrippedChildOf } from "../observe/ownership";
import { ChildApplier, type ChildVerb, type ClientScope, type WriteScope } from "./childApplier";
import { deleteOwned, type SeenChild } from "./childSender";
import type { DesiredChild } from "./desiredChildren";
import { Outages } from "./outages";
import { childRefused, deletionRefused } from "./refusals";

/** One change that a reconcile made. */
export interface ChildChange extends TypeMeta, ObjectName {
  readonly verb: ChildVerb;
}

/** A child of an object that is gone. */
export interface Orphan extends Child {
  readonly creationTimestamp: string | undefined;
}

/**
 * Applies and deletes children.
 *
 * Guarantees, each with a test in tests/unit/childWriter.test.ts and tests/integration/hostile:
 * - Only what we applied is changed or deleted, and what was offered for adoption.
 * - A write to an existing child has the version that was seen. If another client has written since, we read again first.
 * - The content of a child that the handler was not shown stays, unless it is never updated: only its marks are written.
 * - Marks that a child lost are put back only if its owner still exists: `kubectl delete --cascade=orphan` keeps the child.
 */
export class ChildWriter {
  private readonly applier: ChildApplier;
  private readonly outages: Outages;

  /**
   * @param isNamespaced whether the runner's rights over children are granted namespace by namespace
   * @param now a monotonic clock, in milliseconds. @default performance.now
   */
  constructor(
    private readonly store: ChildStore,
    private readonly isNamespaced = false,
    now?: () => number,
  ) {
    this.applier = new ChildApplier(store);
    this.outages = new Outages("ChildRefused", now);
  }

  /**
   * Makes one child as desired.
   * @returns what was changed. Undefined if nothing was
   * @throws ReconcileFailure `ChildConflict` if the name is taken by an object that we do not own, `ChildRefused` or
   *   `NamespaceNotGranted` if the API server does not accept the manifest, or lacks for long what it needs for that;
   *   ObjectGoneError
   */
  async apply(child: DesiredChild, scope: WriteScope): Promise<ChildChange | undefined> {
    const { isNamespaced } = this;
    const { resource, manifest } = child;
    const what = kindAndName(manifest.kind, manifest.metadata);
    if (this.isDone(child)) {
      // It may have been written although the API server answered that it was not.
      this.outages.ended(what);
      return undefined;
    }
    try {
      const verb = await this.applier.apply(child, this.known(child), scope);
      this.outages.ended(what);
      const { apiVersion, kind } = resource;
      const { namespace, name } = manifest.metadata;
      return verb && { verb, apiVersion, kind, namespace, name };
    } catch (error) {
      // The next reconcile looks again, and fails in the same way as long as the reason lasts.
      if (child.isCreated) this.store.becomeUnsure(resource, manifest.metadata);
      const outage = await this.outages.met(error, what, scope, `write ${what}`);
      throw outage ?? childRefused(error, child, scope, isNamespaced) ?? error;
    }
  }

  /** Whether an apply of the child would do nothing. False if that is not known. */
  isDone(child: DesiredChild): boolean {
    const known = this.known(child);
    if (known) return this.needsNoWrite(known, child);
    // A child that was created once is not created again. It is looked for only if it may exist without its marks.
    return child.isCreated === true && !this.store.isUnsure(child.resource, child.manifest.metadata);
  }

  /** Whether an apply of the child would change nothing, or only what it follows. False if that is not known. */
  isAsWanted(child: DesiredChild): boolean {
    if (this.isDone(child)) return true;
    const follows = this.known(child)?.facts.follows;
    return follows !== undefined && this.isDone({ ...child, manifest: following(child.manifest, follows) });
  }

  /** The child as we know it. Undefined if no object with that name is known to be its owner's. */
  known({ resource, manifest, ownerUid }: DesiredChild): Child | undefined {
    const found = this.store.find(resource, manifest.metadata);
    return found?.facts.owner.uid === ownerUid ? found : undefined;
  }

  /**
   * Deletes a child that is no longer wanted: exactly that object, in the version that was seen to be ours.
   * @param scope its owner. Only a client if the owner is gone, and cannot report why a child cannot be deleted
   * @param isAwaited whether others wait until it is gone, with all that it owns. @default false
   * @returns undefined if the child is gone, or no longer ours
   * @throws ReconcileFailure `ChildRefused` if the API server refuses that, or lacks for long what it needs for that; ApiError 409
   *   if another client keeps writing it
   */
  async delete(
    child: Child,
    scope: WriteScope | ClientScope,
    isAwaited = false,
  ): Promise<ChildChange | undefined> {
    const { uid } = child.facts.owner;
    return this.deleteIf((found) => this.store.provenOwner(found)?.uid === uid, child, scope, isAwaited);
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
    scope: ClientScope,
  ): Promise<ChildChange | undefined> {
    const isOwned = (now: KubernetesObject) =>
      isStrippedChildOf(now, owner, this.store.managers) ||
      this.store.provenOwner(now)?.uid === owner.metadata.uid;
    if (found.metadata.deletionTimestamp) return undefined;
    const { name, namespace, uid, resourceVersion } = found.metadata;
    return this.deleteIf(isOwned, { resource, name, namespace, uid, resourceVersion }, scope);
  }

  /**
   * Deletes a child of an object that is gone, as the garbage collector should: see {@link readOrphan}.
   * @returns undefined if there is nothing to delete
   */
  async deleteOrphan(child: Child, scope: ClientScope): Promise<ChildChange | undefined> {
    const orphan = await this.readOrphan(child, scope);
    return orphan && this.delete(orphan, scope);
  }

  /**
   * The child of an object that is gone, in its present version. Undefined if it is gone or going, is not marked as that object's
   * any more, or has another owner too. A child that lost its owner by `kubectl delete --cascade=orphan` has no owner any more.
   */
  async readOrphan(child: Child, { client }: ClientScope): Promise<Orphan | undefined> {
    const found = await client.get(child.resource, child);
    if (!found || found.metadata.uid !== child.uid) return undefined;
    const { resourceVersion, creationTimestamp, deletionTimestamp, ownerReferences = [] } = found.metadata;
    if (deletionTimestamp || ownerReferences.length > 1) return undefined;
    return this.store.provenOwner(found)?.uid === child.facts.owner.uid
      ? { ...child, resourceVersion, creationTimestamp }
      : undefined;
  }

  private async deleteIf(
    isOwned: (found: KubernetesObject) => boolean,
    child: SeenChild,
    scope: WriteScope | ClientScope,
    isAwaited = false,
  ): Promise<ChildChange | undefined> {
    const { resource, uid, namespace, name } = child;
    const { apiVersion, kind } = resource;
    try {
      const result = await deleteOwned(this.store, scope.client, child, isOwned, isAwaited);
      this.outages.ended(uid);
      return result === "deleted" ? { verb: result, apiVersion, kind, namespace, name } : undefined;
    } catch (error) {
      // By its uid: the child may have been deleted although the API server answered that it was not. Then there is no further
      // try, and another child may take its name.
      const outage =
        "confirmOwner" in scope
          ? await this.outages.met(error, uid, scope, `delete ${kindAndName(kind, child)}`)
          : undefined;
      throw outage ?? deletionRefused(error, child) ?? error;
    }
  }

  /**
   * Whether there is nothing to write to an existing child. One that is never updated may differ from what is desired, except in
   * its marks.
   */
  private needsNoWrite(known: Child, child: DesiredChild): boolean {
    // A child that is being deleted cannot be changed. Its owner is reconciled again when it is gone.
    if (known.deleting) return true;
    // A webhook may change the marks of what is applied. And when the former names of the operator are forgotten, no watch would
    // follow a child with the label of one.
    if (!known.facts.isMarked) return false;
    return child.update === "never" || this.store.isApplied(known, child.manifest);
  }
}
