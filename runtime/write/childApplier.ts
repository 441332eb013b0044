import { type KubernetesObject, kindAndName, type Manifest, type ObjectName } from "../base/objects";
import { MUST_NOT_EXIST } from "../kubernetes/applyManifest";
import type { KubernetesClient } from "../kubernetes/client";
import { ApiError, Conflicts, isApiError, isMisfit } from "../kubernetes/errors";
import { applyEntry } from "../kubernetes/managedFields";
import type { Child, ChildStore } from "../observe/childStore";
import { isMarked, markManagerOf, marksIn, ownerMarksIn } from "../observe/marks";
import { conflictWith } from "../observe/ownership";
import {
  ChildSender,
  conditional,
  deleteOwned,
  isAnotherObject,
  releaseFormer,
  type Seen,
  seenOf,
} from "./childSender";
import type { DesiredChild } from "./desiredChildren";
import { dryRunReplacementOf, replacementRefused } from "./leftFields";
import type { RequestOwner } from "./outages";
import { adoptionRefused, childConflict, deletionRefused, marksTaken } from "./refusals";

/** What happened to a child. */
export type ChildVerb = "created" | "patched" | "recreated" | "adopted" | "deleted";

/** On whose behalf a request is sent. */
export interface ClientScope {
  /** A client whose requests have the fence of the object: no request leaves if the object is gone, or if we no longer lead. */
  readonly client: KubernetesClient;
}

/** The object whose children are written. */
export interface WriteScope extends ClientScope, RequestOwner {
  /** The object's namespace. Undefined: it has cluster scope. */
  readonly namespace: string | undefined;
  /**
   * Called before a child is deleted to be created again. From then on it must count as one that was never created, since the next
   * run may have to create it. @default no memory says which children were created
   */
  readonly beforeReplacement?: () => Promise<void>;
  /** Whether the handler was asked with this child. @default it was asked with every child that is known */
  readonly isShown?: ((child: Child) => boolean) | undefined;
}

/** The write to make, and the object that it is made to. */
type Target =
  /** Nothing has the child's name. */
  | { readonly how: "create"; readonly seen?: undefined }
  /** The whole child. To adopt is to apply to an object that we have not written before. */
  | { readonly how: "apply" | "adopt"; readonly seen: Seen }
  /** Only the marks, since the child is never updated. */
  | { readonly how: "mark"; readonly seen: Seen }
  /**
   * Only what names the owner, since the handler was asked without this object, and must be asked again, with it: its answer may have
   * another password. `inTheWay` says that, and `isOffered` whether the object is to be adopted.
   */
  | { readonly how: "show"; readonly seen: Seen; readonly isOffered: boolean; readonly inTheWay: ApiError };

/**
 * Applies one child to the object that has its name now: creates it, changes it, takes it over, or puts back its marks. An
 * existing object is written only in the version that was seen. If it has changed since, the applier looks again first.
 */
export class ChildApplier {
  private readonly sender: ChildSender;

  constructor(private readonly store: ChildStore) {
    this.sender = new ChildSender(store);
  }

  /**
   * Makes the child as desired.
   * @param known the child as the store has it. Undefined if no object with that name is known to be this owner's
   * @returns what was done. Undefined if nothing was
   * @throws ReconcileFailure `ChildConflict` if the name is taken by an object that we do not own; ApiError,
   *   ApiUnreachableError; ObjectGoneError. ApiError 409 if the child exists and was not known: it is known from then on
   */
  async apply(
    child: DesiredChild,
    known: Child | undefined,
    scope: WriteScope,
  ): Promise<ChildVerb | undefined> {
    const { store } = this;
    let target: Target | undefined = { how: "create" };
    const { kind, metadata } = child.manifest;
    if (known && child.update === "never") target = { how: "mark", seen: seenOf(known) };
    // A watch has shown it since the handler was asked.
    else if (known && scope.isShown?.(known) === false) throw notKnown(kind, metadata);
    else if (known) {
      const object = await store.readOwned(known);
      const isOffered = object && !this.sender.managers.some((manager) => applyEntry(object, manager));
      target = { how: isOffered ? "adopt" : "apply", seen: { ...seenOf(known), object } };
    }
    // The child was created once, so it is not created again. But it may exist without its marks. No answer replaces one that is
    // never updated.
    else if (child.isCreated)
      target = await this.look(child, scope, child.update === "never" ? undefined : notKnown(kind, metadata));
    // The child may have gone with its owner.
    else if (store.isUnsure(child.resource, metadata)) await scope.confirmOwner();
    let conflicts: Conflicts | undefined;
    while (target) {
      let verb: ChildVerb | undefined;
      try {
        verb = await this.writeOnto(target, child, scope);
      } catch (error) {
        if (!isAnotherObject(error)) return this.refused(error, target, child, scope);
        const { seen, how }: Target = target;
        target = await this.look(child, scope, error, how === "show" ? undefined : seen?.uid);
        conflicts ??= new Conflicts();
        conflicts.met(error, seen?.resourceVersion, target?.seen?.resourceVersion);
        continue;
      }
      if (target.how === "show") throw target.inTheWay;
      return verb;
    }
    return undefined;
  }

  /** Creates a child again that cannot be changed, if its kind is declared so. @throws the refusal otherwise */
  private refused(
    error: unknown,
    target: Target,
    child: DesiredChild,
    scope: WriteScope,
  ): Promise<ChildVerb> {
    const { how, seen } = target;
    if (!seen || !(isFieldRefused(error) || isMisfit(error))) throw error;
    // Nothing is deleted that we did not apply.
    if (how === "adopt" || (how === "show" && target.isOffered)) throw adoptionRefused(child, error, scope);
    if (how === "show" || child.update !== "recreate") throw error;
    return this.recreate(child, seen, error, scope);
  }

  /**
   * Reads the object that has the child's name.
   * @param taken that an object with this name exists, although no child of this owner was known
   * @param shownUid of the object of this name that the handler was shown: it is not in the way. @default it was shown none
   * @returns what to write onto that object. Undefined: nothing
   * @throws ReconcileFailure if the object must not be touched; ObjectGoneError. Throws `taken` if the object is a child of the
   *   owner: the handler was asked without it, and must be asked again
   */
  private async look(
    child: DesiredChild,
    scope: WriteScope,
    taken?: ApiError,
    shownUid?: string,
  ): Promise<Target | undefined> {
    const found = await scope.client.get(child.resource, child.manifest.metadata);
    const inTheWay = found?.metadata.uid === shownUid ? undefined : taken;
    if (!found) {
      if (child.isCreated) return undefined;
      await scope.confirmOwner();
      return { how: "create" };
    }
    const { store } = this;
    const conflict = conflictWith(found, child.ownerUid, store.ownerKind, store.managers);
    // The child has gone, and another client has created an object with its name. If we have written that object, it may be the
    // child itself, without any mark.
    if (conflict && child.isCreated && (conflict.isOfOurKind || !this.hasWritten(found))) return undefined;
    if (conflict) throw childConflict(child, found, conflict, store.managers);
    const isOwned = store.provenOwner(found)?.uid === child.ownerUid;
    if (inTheWay && isOwned && isMarked(found, child.manifest)) {
      this.store.learn(child.resource, [found]);
      throw inTheWay;
    }
    if (!isOwned) await scope.confirmOwner();
    const seen = { ...seenOf(found.metadata), object: found };
    const isNever = child.update === "never";
    if (isNever && isOwned && isMarked(found, child.manifest)) return undefined;
    const isOffered = !this.hasWritten(found);
    if (!inTheWay || isNever) return { how: isOffered ? "adopt" : isNever ? "mark" : "apply", seen };
    return { how: "show", seen, isOffered, inTheWay };
  }

  private async writeOnto(
    target: Target,
    child: DesiredChild,
    scope: WriteScope,
  ): Promise<ChildVerb | undefined> {
    if (target.how === "show") return this.show(target, child, scope);
    if (target.how === "mark") return this.restoreMarks(child, marksIn(child.manifest), target.seen, scope);
    const { seen } = target;
    const { object, created } = await this.sender.sendOver(seen, child, scope.client);
    if (this.sender.formerManagers.length > 0) await this.releaseFormer(child, object, scope);
    if (created) return "created";
    if (target.how === "adopt") return "adopted";
    return object.metadata.resourceVersion === seen?.resourceVersion ? undefined : "patched";
  }

  /** Makes an object a child, and changes nothing else in it. What cannot be changed as the handler wants it stays without marks. */
  private async show(
    { seen, isOffered }: Extract<Target, { how: "show" }>,
    child: DesiredChild,
    scope: WriteScope,
  ): Promise<ChildVerb> {
    if (isOffered) await this.sender.tryOver(seen, child, scope.client);
    return this.restoreMarks(child, ownerMarksIn(child.manifest), seen, scope);
  }

  /** Restores these marks of a child, and changes nothing else in it. */
  private async restoreMarks(
    child: DesiredChild,
    marks: Manifest,
    seen: Seen,
    { client }: WriteScope,
  ): Promise<ChildVerb> {
    const { resource, manifest } = child;
    const fieldManager = markManagerOf(this.sender.fieldManager);
    const { object } = await this.store.write(resource, manifest.metadata, undefined, () =>
      client.apply(resource, conditional(marks, seen), { fieldManager, force: true }),
    );
    if (!isMarked(object, marks)) throw marksTaken(child);
    return "patched";
  }

  /** Releases what a former name of the operator applied, so that fields that are no longer applied are removed. */
  private async releaseFormer(
    { resource, manifest, ownerUid }: DesiredChild,
    object: KubernetesObject,
    { client }: WriteScope,
  ): Promise<void> {
    const { store } = this;
    const { formerManagers } = this.sender;
    let current: KubernetesObject | undefined = object;
    const conflicts = new Conflicts();
    while (current) {
      const owned: KubernetesObject = current;
      if (!formerManagers.some((manager) => applyEntry(owned, manager))) return;
      if (store.provenOwner(owned)?.uid !== ownerUid) return;
      try {
        await store.write(resource, manifest.metadata, manifest, async () => ({
          object: await releaseFormer(client, resource, owned, formerManagers, true),
        }));
        return;
      } catch (error) {
        if (!isApiError(error, 409)) throw error;
        current = await client.get(resource, manifest.metadata);
        conflicts.met(error, owned.metadata.resourceVersion, current?.metadata.resourceVersion);
      }
    }
  }

  private hasWritten({ metadata }: KubernetesObject): boolean {
    return metadata.managedFields?.some(({ manager = "" }) => this.store.managers.includes(manager)) ?? false;
  }

  /**
   * Deletes a child that cannot be changed, and creates it again. First the API server must have said that it would accept the new
   * one. If another controller's finalizer keeps the old child, the new one is created after it.
   * @throws ReconcileFailure `ChildRefused` if the API server refuses the deletion; ApiError 409 if the old child is no longer the
   *   owner's, or if another client keeps writing it
   */
  private async recreate(
    child: DesiredChild,
    seen: Seen,
    refused: ApiError,
    scope: WriteScope,
  ): Promise<ChildVerb> {
    const { client } = scope;
    const { resource, manifest, ownerUid } = child;
    const { store } = this;
    await client.create(resource, dryRunReplacementOf(manifest), { dryRun: true }).catch((error: unknown) => {
      throw replacementRefused(refused, error);
    });
    await scope.beforeReplacement?.();
    const { name, namespace } = manifest.metadata;
    const old = { resource, name, namespace, ...seen };
    const isOwned = (found: KubernetesObject) => store.provenOwner(found)?.uid === ownerUid;
    await deleteOwned(store, client, old, isOwned).catch((error: unknown) => {
      throw deletionRefused(error, old, scope.masked(refused.message)) ?? error;
    });
    try {
      await this.sender.send(child, MUST_NOT_EXIST, client);
      return "recreated";
    } catch (error) {
      if (!isApiError(error, 409)) throw error;
      const there = await client.get(resource, manifest.metadata);
      if (there?.metadata.uid === seen.uid && there.metadata.deletionTimestamp !== undefined)
        return "deleted";
      if (there) throw error;
      // The old child has gone between the two requests.
      await this.sender.send(child, MUST_NOT_EXIST, client);
      return "recreated";
    }
  }
}

/** The handler was asked without a child, and must be asked again, with it. */
export function notKnown(kind: string, name: ObjectName): ApiError {
  return new ApiError(409, { message: `${kindAndName(kind, name)} was not known` }, "GET");
}

/**
 * Whether a write failed because the API server refused the value of a field that cannot be changed. A policy of the cluster or a
 * webhook refuses with 422 too, but names no field. To delete the child then would be worse than the change that is refused.
 */
function isFieldRefused(error: unknown): error is ApiError {
  return isApiError(error, 422) && error.causes.some(({ reason }) => reason?.startsWith("FieldValue"));
}
