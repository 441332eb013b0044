import { applyManifest, MUST_NOT_EXIST } from "../kubernetes/applyManifest";
import type { KubernetesClient } from "../kubernetes/client";
import { Conflicts } from "../kubernetes/conflicts";
import { type ApiError, isApiError, isMisfit } from "../kubernetes/errors";
import { applyEntry } from "../kubernetes/managedFields";
import type { KubernetesObject, Manifest } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { fieldManagerOf, formerManagersOf, type OperatorNames } from "../names";
import { childConflict } from "./childConflict";
import type { Child, ChildStore } from "./childStore";
import { deleteOwned } from "./deleteOwned";
import type { DesiredChild } from "./desiredChildren";
import { releaseFormer } from "./former";
import { fieldsLeftOut, withDefaults } from "./leftDefaults";
import { isMarked, managersOf, markManagerOf, marksIn } from "./marks";
import { conflictWith, provenOwner } from "./ownership";
import { adoptionRefused, deletionRefused, marksTaken } from "./refusals";
import { dryRunReplacementOf, replacementRefused } from "./rehearsal";

/** What happened to a child. */
export type ChildVerb = "created" | "patched" | "recreated" | "adopted" | "deleted";

/** What a {@link ChildApplier} works with. */
export interface ChildApplierOptions {
  readonly store: ChildStore;
  readonly operator: OperatorNames;
  /** The custom resource's kind. */
  readonly ownerKind: Resource;
}

/** The object whose children are written. */
export interface WriteScope {
  /** A client whose requests have the fence of the object: no request leaves if the object is gone, or if we no longer lead. */
  readonly client: KubernetesClient;
  /** The object's namespace. Undefined: it has cluster scope. */
  readonly namespace: string | undefined;
  /** Reads the object from the API server. @throws ObjectGoneError if it is gone or being deleted */
  readonly confirmOwner: () => Promise<void>;
  /** A text without the values of Secrets. Mask a text before it is shortened, because half of a value is not recognised. */
  readonly masked: (text: string) => string;
  /**
   * Called before a child is deleted to be created again. From then on it must count as one that was never created, since the next
   * run may have to create it. @default nobody remembers which children were created
   */
  readonly beforeReplacement?: () => Promise<void>;
}

/** An object, in the version that was seen. */
interface Seen {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** A condition on the object that exists. The API server refuses the write if the object does not meet it. */
type Condition = Seen | { readonly resourceVersion: string };

/** What to write, and onto what. */
type Target =
  /** Nothing has the child's name. */
  | { readonly how: "create"; readonly seen?: undefined }
  /** The whole child. To adopt is to apply to an object that we have not written before. */
  | { readonly how: "apply" | "adopt"; readonly seen: Seen }
  /** Only the marks, since the child is never updated. */
  | { readonly how: "mark"; readonly seen: Seen };

/**
 * Applies one child to the object that has its name now: creates it, changes it, takes it over, or puts back its marks. An
 * existing object is written only in the version that was seen. If it has changed since, the applier looks again first.
 */
export class ChildApplier {
  private readonly fieldManager: string;
  private readonly formerManagers: readonly string[];
  /** All our field managers, including those of former names. */
  private readonly managers: readonly string[];

  constructor(private readonly options: ChildApplierOptions) {
    const { operator } = options;
    this.fieldManager = fieldManagerOf(operator);
    this.formerManagers = formerManagersOf(operator);
    this.managers = managersOf(operator);
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
    const { store } = this.options;
    let target: Target | undefined = { how: "create" };
    if (known) target = { how: child.update === "never" ? "mark" : "apply", seen: seenOf(known) };
    // The child was created once, so it is not created again. But it may be there without its marks.
    else if (child.isCreated) target = await this.look(child, scope);
    // The child may have gone with its owner.
    else if (store.isUnsure(child.resource, child.manifest.metadata)) await scope.confirmOwner();
    const conflicts = new Conflicts();
    while (target) {
      try {
        return await this.writeOnto(target, child, scope);
      } catch (error) {
        if (isAnotherObject(error)) {
          const { seen }: Target = target;
          target = await this.look(child, scope, seen ? undefined : error);
          conflicts.met(error, seen?.resourceVersion, target?.seen?.resourceVersion);
        } else if (!target.seen || !(isFieldRefused(error) || isMisfit(error))) throw error;
        // Nothing is deleted that we did not apply.
        else if (target.how === "adopt") throw adoptionRefused(child, error, scope);
        else if (child.update === "recreate") return this.recreate(child, target.seen, error, scope);
        else throw error;
      }
    }
    return undefined;
  }

  /**
   * Reads the object that has the child's name.
   * @param inTheWay that an object with this name exists, although no child of this owner was known
   * @returns what to write onto that object. Undefined: nothing
   * @throws ReconcileFailure if the object must not be touched; ObjectGoneError. Throws `inTheWay` if the object is a child of the
   *   owner: the handler was asked without it, and must be asked again
   */
  private async look(
    child: DesiredChild,
    scope: WriteScope,
    inTheWay?: ApiError,
  ): Promise<Target | undefined> {
    const found = await scope.client.get(child.resource, child.manifest.metadata);
    if (!found) {
      if (child.isCreated) return undefined;
      await scope.confirmOwner();
      return { how: "create" };
    }
    const { ownerKind } = this.options;
    const conflict = conflictWith(found, child.ownerUid, ownerKind, this.managers);
    // The child has gone, and somebody else has given its name to an object. If we have written that object, it may be the child
    // itself, without any mark.
    if (conflict && child.isCreated && (conflict.isOfOurKind || !this.hasWritten(found))) return undefined;
    if (conflict) throw childConflict(child, found, conflict, this.managers);
    const isOwned = provenOwner(found, ownerKind, this.managers)?.uid === child.ownerUid;
    if (inTheWay && isOwned && isMarked(found, child.manifest)) {
      this.options.store.learn(child.resource, [found]);
      throw inTheWay;
    }
    if (!isOwned) await scope.confirmOwner();
    const seen = seenOf(found.metadata);
    const isNever = child.update === "never";
    if (isNever && isOwned && isMarked(found, child.manifest)) return undefined;
    if (!this.hasWritten(found)) return { how: "adopt", seen };
    return { how: isNever ? "mark" : "apply", seen };
  }

  private async writeOnto(
    target: Target,
    child: DesiredChild,
    scope: WriteScope,
  ): Promise<ChildVerb | undefined> {
    if (target.how === "mark") return this.restoreMarks(child, target.seen, scope);
    const { seen } = target;
    const { object, created } = await this.sendOver(seen, child, scope);
    await this.releaseFormer(child, object, scope);
    if (created) return "created";
    if (target.how === "adopt") return "adopted";
    return object.metadata.resourceVersion === seen?.resourceVersion ? undefined : "patched";
  }

  /**
   * Server-side apply. The fields that the operator applied under a former name stay until they are released. The API server may
   * refuse them together with the new ones: two ports of a Service need names. Then the manifest is applied under the former name
   * first. Defaults of what was applied before stay too: see {@link withDefaults}.
   */
  private async sendOver(seen: Seen | undefined, child: DesiredChild, scope: WriteScope) {
    try {
      return await this.send(child, seen ?? MUST_NOT_EXIST, scope);
    } catch (error) {
      if (!seen || !isApiError(error, 422) || isAnotherObject(error)) throw error;
      const { formerManagers, fieldManager } = this;
      const leftOut = fieldsLeftOut(error, child.manifest);
      if (formerManagers.length === 0 && leftOut.length === 0) throw error;
      const found = await scope.client.get(child.resource, child.manifest.metadata);
      if (!found || provenOwner(found, this.options.ownerKind, this.managers)?.uid !== child.ownerUid)
        throw error;
      const former = formerManagers.find((manager) => applyEntry(found, manager));
      const manifest = former
        ? child.manifest
        : leftOut.length > 0 && withDefaults(found, leftOut, fieldManager);
      if (!manifest) throw error;
      const before = { ...child, manifest };
      const { object } = await this.send(before, seenOf(found.metadata), scope, former).catch(() => {
        throw error;
      });
      return this.send(child, seenOf(object.metadata), scope);
    }
  }

  /**
   * Server-side apply, under a condition on the object that exists now.
   * @throws ReconcileFailure `ChildRefused` if a webhook takes the marks away: we could not find the child again
   */
  private async send(
    child: DesiredChild,
    condition: Condition,
    { client }: WriteScope,
    fieldManager = this.fieldManager,
  ) {
    const { store } = this.options;
    const { resource, manifest } = child;
    const written = await store.write(resource, manifest.metadata, manifest, () =>
      applyManifest(client, resource, conditional(manifest, condition), { fieldManager, force: true }),
    );
    if (!isMarked(written.object, manifest)) throw marksTaken(child);
    return written;
  }

  /** Restores the marks of a child that is never updated, and changes nothing else in it. */
  private async restoreMarks(child: DesiredChild, seen: Seen, { client }: WriteScope): Promise<ChildVerb> {
    const { resource, manifest } = child;
    const fieldManager = markManagerOf(this.fieldManager);
    const marks = conditional(marksIn(manifest), seen);
    const { object } = await this.options.store.write(resource, manifest.metadata, undefined, () =>
      client.apply(resource, marks, { fieldManager, force: true }),
    );
    if (!isMarked(object, manifest)) throw marksTaken(child);
    return "patched";
  }

  /** Releases what a former name of the operator applied, so that fields that are no longer applied are removed. */
  private async releaseFormer(
    { resource, manifest, ownerUid }: DesiredChild,
    object: KubernetesObject,
    { client }: WriteScope,
  ): Promise<void> {
    const { store, ownerKind } = this.options;
    const { formerManagers } = this;
    let current: KubernetesObject | undefined = object;
    const conflicts = new Conflicts();
    while (current) {
      const owned: KubernetesObject = current;
      if (!formerManagers.some((manager) => applyEntry(owned, manager))) return;
      if (provenOwner(owned, ownerKind, this.managers)?.uid !== ownerUid) return;
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
    return metadata.managedFields?.some(({ manager = "" }) => this.managers.includes(manager)) ?? false;
  }

  /**
   * Deletes a child that cannot be changed, and creates it again. First the API server must have said that it would accept
   * the new one. If somebody else's finalizer keeps the old child, the new one is created when the old one is gone.
   * @throws ReconcileFailure `ChildRefused` if the API server refuses the deletion; ApiError 409 if the old child is no longer the
   *   owner's, or if somebody else writes it all the time
   */
  private async recreate(
    child: DesiredChild,
    seen: Seen,
    refused: ApiError,
    scope: WriteScope,
  ): Promise<ChildVerb> {
    const { client } = scope;
    const { resource, manifest, ownerUid } = child;
    const { store, ownerKind } = this.options;
    await client.create(resource, dryRunReplacementOf(manifest), { dryRun: true }).catch((error: unknown) => {
      throw replacementRefused(refused, error);
    });
    await scope.beforeReplacement?.();
    const { name, namespace } = manifest.metadata;
    const old = { resource, name, namespace, ...seen };
    const isOwned = (found: KubernetesObject) =>
      provenOwner(found, ownerKind, this.managers)?.uid === ownerUid;
    await deleteOwned(store, client, old, isOwned).catch((error: unknown) => {
      throw deletionRefused(error, old, scope.masked(refused.message)) ?? error;
    });
    try {
      await this.send(child, MUST_NOT_EXIST, scope);
      return "recreated";
    } catch (error) {
      if (!isApiError(error, 409)) throw error;
      const there = await client.get(resource, manifest.metadata);
      if (there?.metadata.uid === seen.uid && there.metadata.deletionTimestamp !== undefined)
        return "deleted";
      if (there) throw error;
      // The old child has gone between the two requests.
      await this.send(child, MUST_NOT_EXIST, scope);
      return "recreated";
    }
  }
}

/** Whether a write failed because the object with that name is another one, or has another version, than we expected. */
function isAnotherObject(error: unknown): error is ApiError {
  if (isApiError(error, 409)) return true;
  return isApiError(error, 422) && error.causes.some(({ field }) => field === "metadata.uid");
}

/**
 * Whether a write failed because the API server refused the value of a field that cannot be changed. A policy of the cluster or a
 * webhook refuses with 422 too, but names no field. To delete the child then would be worse than the change that is refused.
 */
function isFieldRefused(error: unknown): error is ApiError {
  return isApiError(error, 422) && error.causes.some(({ reason }) => reason?.startsWith("FieldValue"));
}

function conditional(manifest: Manifest, condition: Condition): Manifest {
  return { ...manifest, metadata: { ...manifest.metadata, ...condition } };
}

function seenOf({ uid, resourceVersion }: Seen): Seen {
  return { uid, resourceVersion };
}
