import { fieldManagerOf, formerManagersOf } from "../base/names";
import type { KubernetesObject, Manifest } from "../base/objects";
import type { Resource } from "../base/resource";
import { applyManifest, MUST_NOT_EXIST } from "../kubernetes/applyManifest";
import type { KubernetesClient } from "../kubernetes/client";
import { ApiError, Conflicts, isApiError } from "../kubernetes/errors";
import type { ChildStore } from "../observe/childStore";
import { isMarked } from "../observe/marks";
import type { DesiredChild } from "./desiredChildren";
import {
  dryRunReplacementOf,
  fieldsLeftOut,
  isRefusedName,
  keptFields,
  keptRefusal,
  replacementRefused,
  withFields,
} from "./leftFields";
import { marksTaken, type NamedChild } from "./refusals";

/** A condition on the object that exists. The API server refuses the write if the object does not meet it. */
interface Condition {
  readonly uid?: string;
  readonly resourceVersion: string;
  /** The object, with our entry in `managedFields`. Undefined if no field of it is to be released. */
  readonly object?: KubernetesObject | undefined;
}

/** An object, in the version that was seen. */
export interface Seen extends Condition {
  readonly uid: string;
}

/** Sends the manifests of children by server-side apply, and ensures that no field stays that they no longer have. */
export class ChildSender {
  /** The one with which children are applied. */
  readonly fieldManager: string;
  /** The field managers of the operator's former names. */
  readonly formerManagers: readonly string[];

  constructor(private readonly store: ChildStore) {
    this.fieldManager = fieldManagerOf(store.operator);
    this.formerManagers = formerManagersOf(store.operator);
  }

  /** The field managers with which children are, and were, applied. */
  get managers(): readonly string[] {
    return [this.fieldManager, ...this.formerManagers];
  }

  /** Tries whether the API server would let a child be applied over an object. @throws ApiError, ApiUnreachableError */
  async tryOver(seen: Seen, { resource, manifest }: DesiredChild, client: KubernetesClient): Promise<void> {
    const options = { fieldManager: this.fieldManager, force: true, dryRun: true };
    await client.apply(resource, conditional(manifest, seen), options);
  }

  /**
   * Server-side apply. The fields that the operator applied under a former name stay until they are released. The API server may
   * refuse them together with the new ones: two ports of a Service need names. So if the manifest leaves some of them out, it is
   * applied under the former name first.
   * @param seen the object that exists. Undefined: none does
   * @throws ReconcileFailure as {@link send}; ApiError, also if something stays of what the manifest leaves out
   */
  async sendOver(seen: Seen | undefined, child: DesiredChild, client: KubernetesClient) {
    let now = seen;
    for (const former of this.formerManagers) {
      if (!now?.object || keptFields(child.manifest, now.object, former).length === 0) continue;
      const { object } = await this.sendAs(former, now, child, client);
      now = { ...seenOf(object.metadata), object };
    }
    return this.sendAs(this.fieldManager, now, child, client);
  }

  /**
   * Applies a child as one of our field managers. Something of the old object may be in its way: a default of what was applied
   * before, or the twin of a field that is released. Then an apply that owns these fields comes first, so that the next one
   * removes them: see {@link withFields}.
   */
  private async sendAs(
    manager: string,
    seen: Seen | undefined,
    child: DesiredChild,
    client: KubernetesClient,
  ) {
    for (let now = seen; ; ) {
      try {
        if (now) await this.checkReleased(manager, now, child, client);
        return await this.send(child, now ?? MUST_NOT_EXIST, client, manager);
      } catch (error) {
        if (!now || !isApiError(error, 422) || isAnotherObject(error)) throw error;
        now = await this.prepare(manager, child, error, client);
      }
    }
  }

  /**
   * Checks that nothing stays of what an apply releases. This is known before the child is written, so a child that cannot lose a
   * field keeps all others too, and the next reconcile says the same.
   *
   * Guarantee (tests/integration/hostile/releasedFields.test.ts): for each field of each kind of Kubernetes, the child is then as a new
   * one would be, or this is refused.
   * @throws ApiError 422 with the names of the fields that stay
   */
  private async checkReleased(
    manager: string,
    seen: Seen,
    child: DesiredChild,
    client: KubernetesClient,
  ): Promise<void> {
    const { resource, manifest } = child;
    const { object } = seen;
    if (!object || keptFields(manifest, object, manager).length === 0) return;
    // If the API server refuses it, it refuses the write too.
    const options = { fieldManager: manager, force: true, dryRun: true };
    const tried = await client.apply(resource, conditional(manifest, seen), options).catch(() => undefined);
    // A Service keeps the addresses and ports that it has. A new one would have others, which are as good.
    const after = tried && dryRunReplacementOf(tried.object);
    const kept = after ? keptFields(manifest, object, manager, after) : [];
    if (!after || kept.length === 0) return;
    const trial = dryRunReplacementOf(manifest);
    const fresh: Manifest = await client.create(resource, trial, { dryRun: true }).catch((error: unknown) => {
      // Then that is not known. Most fields that stay are defaults.
      if (error instanceof ApiError && isRefusedName(error)) return after;
      throw replacementRefused(keptRefusal(kept, after), error);
    });
    const left = keptFields(manifest, object, manager, after, fresh);
    if (left.length > 0) throw keptRefusal(left, after, fresh);
  }

  /**
   * Applies the fields that must be ours before an apply can remove them from a child.
   * @returns the child as it is then
   * @throws `refused` if there are no such fields, or if they are ours already
   */
  private async prepare(
    manager: string,
    child: DesiredChild,
    refused: ApiError,
    client: KubernetesClient,
  ): Promise<Seen> {
    const leftOut = fieldsLeftOut(refused, child.manifest);
    if (leftOut.length === 0) throw refused;
    const found = await client.get(child.resource, child.manifest.metadata);
    if (!found || this.store.provenOwner(found)?.uid !== child.ownerUid) throw refused;
    const manifest = withFields(found, leftOut, manager);
    if (!manifest) throw refused;
    const sent = this.send({ ...child, manifest }, seenOf(found.metadata), client, manager);
    const { object } = await sent.catch(() => {
      throw refused;
    });
    if (object.metadata.resourceVersion === found.metadata.resourceVersion) throw refused;
    return { ...seenOf(object.metadata), object };
  }

  /**
   * Server-side apply, under a condition on the object that exists now.
   * @throws ReconcileFailure `ChildRefused` if a webhook removes the marks: we could not find the child again
   */
  async send(
    child: DesiredChild,
    condition: Condition,
    client: KubernetesClient,
    fieldManager = this.fieldManager,
  ) {
    const { resource, manifest } = child;
    const written = await this.store.write(resource, manifest.metadata, manifest, () =>
      applyManifest(
        client,
        resource,
        conditional(manifest, condition),
        { fieldManager, force: true },
        condition.object,
      ),
    );
    if (!isMarked(written.object, manifest)) throw marksTaken(child);
    return written;
  }
}

/** Whether a write failed because the object with that name is another one, or has another version, than we expected. */
export function isAnotherObject(error: unknown): error is ApiError {
  if (isApiError(error, 409)) return true;
  return isApiError(error, 422) && error.causes.some(({ field }) => field === "metadata.uid");
}

/** The manifest, under a condition on the object that exists. */
export function conditional(manifest: Manifest, { object: _, ...version }: Condition): Manifest {
  return { ...manifest, metadata: { ...manifest.metadata, ...version } };
}

/** Only the version of an object. */
export function seenOf({ uid, resourceVersion }: Seen): Seen {
  return { uid, resourceVersion };
}

/**
 * Releases the fields of an object that the operator owned under its former names. Call it when the operator owns all of them
 * under its own name, since the API server removes fields that have no owner.
 * @param isExact whether the release must fail with 409 if another client has written to the object since
 * @returns the object as it is then
 * @throws ApiError, ApiUnreachableError
 */
export async function releaseFormer(
  client: KubernetesClient,
  resource: Resource,
  object: KubernetesObject,
  formerManagers: readonly string[],
  isExact = false,
): Promise<KubernetesObject> {
  const { apiVersion, kind } = resource;
  const { name, namespace, uid, managedFields = [] } = object.metadata;
  const metadata = { name, uid, ...(namespace && { namespace }) };
  let current = object;
  for (const { manager, operation, subresource } of managedFields) {
    if (operation !== "Apply" || manager === undefined || !formerManagers.includes(manager)) continue;
    const options = { fieldManager: manager, force: true, ...(subresource && { subresource }) };
    const { resourceVersion } = current.metadata;
    const nothing = { apiVersion, kind, metadata: { ...metadata, ...(isExact && { resourceVersion }) } };
    current = (await client.apply(resource, nothing, options)).object;
  }
  return current;
}

/** One object, in the version that was seen to be its owner's child. */
export interface SeenChild extends NamedChild {
  readonly uid: string;
  readonly resourceVersion: string;
}

/**
 * Deletes exactly one child, in the version that was seen to be its owner's. If another client has written it since, it is read
 * again first.
 * @param isOwned whether the object as it is now is still its owner's child
 * @param isAwaited whether others wait until the child is gone, with all that it owns. The store shows it until then. @default false
 * @returns "gone" if there was none. Undefined if it is not deleted: it is no longer its owner's, or another client deletes it
 * @throws ApiError 409 if another client keeps writing it; PersistentConflictError if a webhook refuses the deletion by a
 *   conflict; ApiError, ApiUnreachableError
 */
export async function deleteOwned(
  store: ChildStore,
  client: KubernetesClient,
  child: SeenChild,
  isOwned: (object: KubernetesObject) => boolean,
  isAwaited = false,
): Promise<"deleted" | "gone" | undefined> {
  const { resource, uid } = child;
  let { resourceVersion } = child;
  const conflicts = new Conflicts();
  for (;;) {
    const { result, object } = await store.write(resource, child, undefined, async () => {
      try {
        const how = isAwaited ? "Foreground" : "Background";
        const done = await client.deleteVersion(resource, child, { uid, resourceVersion }, how);
        const left = isAwaited && done === "deleted" ? await client.get(resource, child) : undefined;
        const isLeft = left?.metadata.uid === uid && left.metadata.deletionTimestamp !== undefined;
        return { result: done, object: isLeft ? left : undefined };
      } catch (error) {
        if (!isApiError(error, 409)) throw error;
        return { result: error, object: await client.get(resource, child) };
      }
    });
    if (result === "deleted" || result === "gone") return result;
    if (object?.metadata.uid !== uid || object.metadata.deletionTimestamp) return undefined;
    if (!isOwned(object)) return undefined;
    conflicts.met(result, resourceVersion, object.metadata.resourceVersion);
    ({ resourceVersion } = object.metadata);
  }
}
