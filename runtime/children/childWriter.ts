import { ReconcileFailure } from "../failure";
import { fingerprint } from "../fingerprint";
import type { KubernetesClient } from "../kubernetes/client";
import { ApiError, isApiError } from "../kubernetes/errors";
import { formatName, type KubernetesObject, type Manifest } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { ADOPT_ANNOTATION } from "../names";
import type { ChildIndex, ChildRecord } from "./childIndex";
import type { DesiredChild } from "./desiredChildren";
import { applyEntry, conflictWith } from "./ownership";

/** What happened to a child. */
export type ChildVerb = "created" | "patched" | "recreated" | "adopted" | "deleted";

/** One change that a reconcile made. */
export interface ChildChange {
  readonly verb: ChildVerb;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** What a {@link ChildWriter} works with. */
export interface ChildWriterOptions {
  readonly client: KubernetesClient;
  readonly index: ChildIndex;
  readonly fieldManager: string;
  /** Throws where we are no longer the leader. Called before every write. */
  readonly fence: () => void;
}

/**
 * A version that no object has: the API server creates an object that is applied with it and refuses to touch
 * one that exists (tried on 1.34). So no foreign object can be taken over between a look and the write.
 */
const MUST_NOT_EXIST = "1";

/** The object in the way changed hands so often that another try makes no sense within one reconcile. */
const MOST_TRIES = 3;

/** Applies and deletes children: ours alone, each only where something is to be changed. */
export class ChildWriter {
  constructor(private readonly options: ChildWriterOptions) {}

  /**
   * Makes one child as desired.
   * @returns what was changed; undefined where nothing was
   * @throws ReconcileFailure `ChildConflict` where the name is taken by an object that is not ours, `ChildRefused`
   *   where the API server does not accept the manifest
   */
  async apply(child: DesiredChild): Promise<ChildChange | undefined> {
    const record = this.options.index.find(child.resource, child.manifest.metadata);
    const known = record?.owner.uid === child.ownerUid ? record : undefined;
    if (known && this.isAsDesired(known, child)) return undefined;
    try {
      const verb = await this.write(child, known);
      return verb && describe(verb, child.resource, child.manifest.metadata);
    } catch (error) {
      throw refusal(error, child) ?? error;
    }
  }

  /** Deletes a child that is no longer wanted; only that very object, by its uid. */
  async delete(record: ChildRecord): Promise<ChildChange | undefined> {
    const { client, index, fence } = this.options;
    const deleted = await index.write(record.resource, record, undefined, async () => {
      fence();
      return { object: undefined, done: await client.delete(record.resource, record, { uid: record.uid }) };
    });
    return deleted.done ? describe("deleted", record.resource, record) : undefined;
  }

  /**
   * Deletes a child of an object that is gone, as the garbage collector is to: one that we have applied, and that has no
   * other owner. One that was taken from its owner, as by `kubectl delete --cascade=orphan`, stays.
   */
  async deleteLeftover(record: ChildRecord): Promise<ChildChange | undefined> {
    const { client, fieldManager, index } = this.options;
    const found = await client.get(record.resource, record);
    const { uid, deletionTimestamp, ownerReferences = [] } = found?.metadata ?? {};
    if (!found || uid !== record.uid || deletionTimestamp || ownerReferences.length > 1) return undefined;
    if (index.ownerOf(found)?.uid !== record.owner.uid) return undefined;
    return applyEntry(found, fieldManager) && this.delete(record);
  }

  private isAsDesired(record: ChildRecord, child: DesiredChild): boolean {
    // One that is going cannot be mended: its end brings the owner back into the queue.
    if (child.update === "never" || record.deleting) return true;
    const { applied } = record;
    return applied?.manifest === fingerprint(child.manifest) && applied.ownedFields === record.ownedFields;
  }

  private async write(child: DesiredChild, known: ChildRecord | undefined): Promise<ChildVerb | undefined> {
    let uid = known?.uid;
    let before = known?.resourceVersion;
    let adopting = false;
    for (let attempt = 1; ; attempt++) {
      try {
        const { object, created } = await this.send(
          child,
          uid ? { uid } : { resourceVersion: MUST_NOT_EXIST },
        );
        if (created) return "created";
        if (adopting) return "adopted";
        return object.metadata.resourceVersion === before ? undefined : "patched";
      } catch (error) {
        const moved = isAnotherObject(error);
        if (uid && !moved && child.update === "recreate" && isApiError(error, 422)) {
          return this.recreate(child, uid, error);
        }
        if (!moved || attempt === MOST_TRIES) throw error;
        const found = await this.options.client.get(child.resource, child.manifest.metadata);
        adopting = found !== undefined && this.mustAdopt(found, child);
        uid = found?.metadata.uid;
        before = found?.metadata.resourceVersion;
        if (found && !adopting && child.update === "never") return undefined;
      }
    }
  }

  /** Server-side apply, under a condition on the object that is there now. */
  private send(child: DesiredChild, condition: { uid: string } | { resourceVersion: string }) {
    const { client, index, fieldManager, fence } = this.options;
    const { resource, manifest } = child;
    const conditional = { ...manifest, metadata: { ...manifest.metadata, ...condition } };
    return index.write(resource, manifest.metadata, fingerprint(manifest), () => {
      fence();
      return client.apply(resource, conditional, { fieldManager, force: true });
    });
  }

  /** Whether an object that bears the child's name must be taken over, which is only done where it may be. */
  private mustAdopt(found: KubernetesObject, child: DesiredChild): boolean {
    const conflict = conflictWith(found, child.ownerUid, this.options.fieldManager);
    if (conflict) {
      throw new ReconcileFailure(
        "ChildConflict",
        `${nameOf(child)} is not ours: ${conflict}. Rename or delete it, or annotate it ${ADOPT_ANNOTATION}=true to hand it over.`,
        // Of a custom resource that was deleted and created anew: the garbage collector is about to remove it.
        belongsToFormer(found, child) ? { retryAfterSeconds: 1 } : {},
      );
    }
    return !found.metadata.managedFields?.some((entry) => entry.manager === this.options.fieldManager);
  }

  /**
   * Deletes and creates anew what cannot be changed, once the API server has said that it would accept the new one.
   * A child that lingers, by a finalizer of somebody else's, is created when it has gone.
   */
  private async recreate(child: DesiredChild, uid: string, refused: ApiError): Promise<ChildVerb> {
    const { client, index, fence } = this.options;
    const { resource, manifest } = child;
    const trial = {
      ...manifest,
      metadata: { ...manifest.metadata, name: trialName(manifest.metadata.name) },
    };
    await client.create(resource, trial, { dryRun: true }).catch(() => {
      throw refused;
    });
    await index.write(resource, manifest.metadata, undefined, async () => {
      fence();
      await client.delete(resource, manifest.metadata, { uid });
      return { object: undefined };
    });
    try {
      await this.send(child, { resourceVersion: MUST_NOT_EXIST });
      return "recreated";
    } catch (error) {
      if (!isApiError(error, 409)) throw error;
      const there = await client.get(resource, manifest.metadata);
      if (there?.metadata.uid === uid) return "deleted";
      if (there) throw error;
      // It went between the two.
      await this.send(child, { resourceVersion: MUST_NOT_EXIST });
      return "recreated";
    }
  }
}

/** Whether a write failed because the object of that name is not the one that we took it for. */
function isAnotherObject(error: unknown): boolean {
  if (isApiError(error, 409)) return true;
  return (
    isApiError(error, 422) &&
    (error.status.details?.causes ?? []).some(({ field }) => field === "metadata.uid")
  );
}

/** A name that is as valid as the child's own and surely free. */
function trialName(name: string): string {
  return `${name.slice(0, 40).replace(/[^a-z0-9]+$/, "")}-${fingerprint(name)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, "")
    .slice(0, 8)}`;
}

function describe(
  verb: ChildVerb,
  resource: Resource,
  { namespace, name }: ChildRecord | Manifest["metadata"],
) {
  return { verb, kind: resource.kind, namespace, name };
}

function nameOf({ manifest }: DesiredChild): string {
  return `${manifest.kind} ${formatName(manifest.metadata)}`;
}

/** Whether an object belongs to another custom resource of the same kind and name as the child's. */
function belongsToFormer(found: KubernetesObject, { manifest }: DesiredChild): boolean {
  const [ours] = manifest.metadata.ownerReferences ?? [];
  const theirs = found.metadata.ownerReferences?.find(({ controller }) => controller);
  return ours !== undefined && theirs?.kind === ours.kind && theirs.name === ours.name;
}

/** The API server's "no" to a child as a failure that its author can act on; undefined for any other error. */
function refusal(error: unknown, child: DesiredChild): ReconcileFailure | undefined {
  if (!(error instanceof ApiError) || ![400, 403, 404, 409, 413, 422, 500].includes(error.code))
    return undefined;
  const immutable =
    child.update === "apply" &&
    error.code === 422 &&
    /immutable|may not change|are forbidden/.test(error.message);
  const remedy = immutable
    ? ` Declare update: "recreate" or "never" for ${child.resource.kind} in operator.ts.`
    : "";
  const message = `the API server refused ${nameOf(child)}: ${error.message}.${remedy}`;
  return new ReconcileFailure("ChildRefused", message, { cause: error });
}
