import { ReconcileFailure } from "../failure";
import { fingerprint } from "../fingerprint";
import { applyManifest } from "../kubernetes/applyManifest";
import type { KubernetesClient } from "../kubernetes/client";
import { ApiError, isApiError, isBusy, isNamespaceTerminating } from "../kubernetes/errors";
import { formatName, type KubernetesObject, type Manifest } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { ADOPT_ANNOTATION, CHILD_OF_LABEL, DOMAIN, MANAGER_PREFIX } from "../names";
import type { Child, ChildStore } from "./childStore";
import type { DesiredChild } from "./desiredChildren";
import { releaseFormer } from "./former";
import { applyEntry, conflictWith, provenOwner } from "./ownership";

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
  readonly store: ChildStore;
  /** The custom resource's kind. */
  readonly ownerKind: Resource;
  readonly fieldManager: string;
  /** The field managers of the operator's former names. */
  readonly formerManagers: readonly string[];
  /** Whether the runner's rights over children are granted namespace by namespace. @default false */
  readonly isNamespaced?: boolean;
}

/** An object, in the version that was seen. */
interface Seen {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** The object whose children are written. */
export interface WriteScope {
  /** Its requests have the fence of the object: none leaves if the object is gone, or if we no longer lead. */
  readonly client: KubernetesClient;
  /** The object's namespace. Undefined: it has cluster scope. */
  readonly namespace: string | undefined;
  /** Reads the object from the API server. @throws ObjectGoneError if it is gone or being deleted */
  readonly confirmOwner: () => Promise<void>;
}

/**
 * A version that no object has. If an object is applied with it, the API server creates the object, and refuses to touch one
 * that exists. So no foreign object can be taken over between a look and the write.
 */
const MUST_NOT_EXIST = "1";

/** If the object in the way changed this often, another try within one reconcile makes no sense. */
const MOST_TRIES = 5;

/** The field manager that restores the marks of a child which is never updated. */
function markManagerOf(fieldManager: string): string {
  return `${fieldManager}/marks`;
}

/** All field managers that are an operator's own on its children. */
export function ownManagers(fieldManager: string, formerManagers: readonly string[]): string[] {
  return [fieldManager, markManagerOf(fieldManager), ...formerManagers];
}

/**
 * Applies and deletes children.
 *
 * Guarantees, each with a test in tests/integration/hostile:
 * - Only what we applied is changed or deleted, and what was offered for adoption.
 * - A write to an existing child has the version that was seen. If somebody else wrote meanwhile, we look again first.
 * - Marks that a child lost are put back only if its owner is still there: `kubectl delete --cascade=orphan` keeps the child.
 */
export class ChildWriter {
  private readonly managers: readonly string[];

  constructor(private readonly options: ChildWriterOptions) {
    const { fieldManager, formerManagers } = options;
    this.managers = ownManagers(fieldManager, formerManagers);
  }

  /**
   * Makes one child as desired.
   * @returns what was changed. Undefined if nothing was
   * @throws ReconcileFailure `ChildConflict` if the name is taken by an object that is not ours, `ChildRefused` if the
   *   API server does not accept the manifest; ObjectGoneError
   */
  async apply(child: DesiredChild, scope: WriteScope): Promise<ChildChange | undefined> {
    const { store } = this.options;
    const found = store.find(child.resource, child.manifest.metadata);
    const known = found?.facts.owner.uid === child.ownerUid ? found : undefined;
    if (known && this.isAsDesired(known, child)) return undefined;
    if (!known && child.isCreated && !store.isUnsure(child.resource, child.manifest.metadata))
      return undefined;
    try {
      const verb = await this.write(child, known, scope);
      return verb && describe(verb, child.resource, child.manifest.metadata);
    } catch (error) {
      // The next reconcile looks again, and says the same as long as it holds.
      if (child.isCreated) store.doubt(child.resource, child.manifest.metadata);
      throw refusal(error, child, scope, this.options) ?? error;
    }
  }

  /** Deletes a child that is no longer wanted: exactly that object, in the version that was seen to be ours. */
  async delete(child: Child, { client }: Pick<WriteScope, "client">): Promise<ChildChange | undefined> {
    const { store } = this.options;
    for (let current: Child | undefined = child, tries = 1; current; tries++) {
      const { resource, uid, resourceVersion } = current;
      const isDeleted = await store.write(resource, child, undefined, async () => {
        const result = await client.deleteVersion(resource, child, { uid, resourceVersion });
        return { object: undefined, result };
      });
      if (isDeleted.result === "deleted") return describe("deleted", resource, child);
      if (isDeleted.result === "gone" || tries === MOST_TRIES) return undefined;
      current = await this.lookAgain(child, client);
    }
    return undefined;
  }

  /**
   * Deletes a child of an object that is gone, as the garbage collector should. The child must still be marked as that
   * object's and have no other owner. A child that lost its owner by `kubectl delete --cascade=orphan` stays.
   */
  async deleteOrphan(child: Child, scope: Pick<WriteScope, "client">): Promise<ChildChange | undefined> {
    const found = await scope.client.get(child.resource, child);
    const { uid, deletionTimestamp, ownerReferences = [] } = found?.metadata ?? {};
    if (!found || uid !== child.uid || deletionTimestamp || ownerReferences.length > 1) return undefined;
    const owner = provenOwner(found, this.options.ownerKind, this.managers);
    if (owner?.uid !== child.facts.owner.uid) return undefined;
    return this.delete({ ...child, resourceVersion: found.metadata.resourceVersion }, scope);
  }

  /** The child as the API server has it now. Undefined if it is gone, or no longer ours. */
  private async lookAgain(child: Child, client: KubernetesClient): Promise<Child | undefined> {
    const { store } = this.options;
    const found = await client.get(child.resource, child);
    if (found?.metadata.uid !== child.uid || found.metadata.deletionTimestamp) return undefined;
    store.learn(child.resource, [found]);
    const now = store.find(child.resource, child);
    return now?.facts.owner.uid === child.facts.owner.uid ? now : undefined;
  }

  private isAsDesired(known: Child, child: DesiredChild): boolean {
    // A child that is being deleted cannot be changed. Its owner is reconciled again when it is gone.
    if (child.update === "never" || known.deleting) return true;
    return this.options.store.isApplied(known, child.manifest);
  }

  private async write(
    child: DesiredChild,
    known: Child | undefined,
    scope: WriteScope,
  ): Promise<ChildVerb | undefined> {
    let there: Seen | undefined = known && { uid: known.uid, resourceVersion: known.resourceVersion };
    let adopting = false;
    let onlyMarks = false;
    if (!there && child.isCreated) {
      // It was created once, so it is not created again. But it may be there without its marks.
      const found = await scope.client.get(child.resource, child.manifest.metadata);
      if (!found) return undefined;
    }
    for (let attempt = 1; ; attempt++) {
      try {
        if (onlyMarks && there) return await this.restoreMarks(child, there, scope);
        if (!there && child.isCreated && attempt > 1) return undefined;
        const condition = there
          ? { uid: there.uid, resourceVersion: there.resourceVersion }
          : { resourceVersion: MUST_NOT_EXIST };
        const { object, created } = await this.send(child, condition, scope);
        await this.releaseFormer(child, object, scope);
        if (created) return "created";
        if (adopting) return "adopted";
        return object.metadata.resourceVersion === there?.resourceVersion ? undefined : "patched";
      } catch (error) {
        const moved = isAnotherObject(error);
        if (there && !moved && child.update === "recreate" && isApiError(error, 422)) {
          return this.recreate(child, there.uid, error, scope);
        }
        if (!moved || attempt === MOST_TRIES) throw error;
        const found = await scope.client.get(child.resource, child.manifest.metadata);
        there = found && { uid: found.metadata.uid, resourceVersion: found.metadata.resourceVersion };
        if (!found) continue;
        adopting = this.mustAdopt(found, child);
        const owner = provenOwner(found, this.options.ownerKind, this.managers);
        const isOurs = owner?.uid === child.ownerUid;
        if (!isOurs) await scope.confirmOwner();
        if (child.update === "never" && isOurs && isLabelled(found, child)) return undefined;
        onlyMarks = child.update === "never" && !adopting;
      }
    }
  }

  /** Server-side apply, under a condition on the object that exists now. */
  private send(child: DesiredChild, condition: Seen | { resourceVersion: string }, { client }: WriteScope) {
    const { store, fieldManager } = this.options;
    const { resource, manifest } = child;
    const conditional = { ...manifest, metadata: { ...manifest.metadata, ...condition } };
    return store.write(resource, manifest.metadata, manifest, () =>
      applyManifest(client, resource, conditional, { fieldManager, force: true }),
    );
  }

  /** Restores the marks of a child that is never updated, and changes nothing else of it. */
  private async restoreMarks(
    { resource, manifest }: DesiredChild,
    condition: Seen,
    { client }: WriteScope,
  ): Promise<ChildVerb> {
    const { apiVersion, kind, metadata } = manifest;
    const { name, namespace, ownerReferences } = metadata;
    const ours = (map: Record<string, string> | undefined) =>
      Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => key.startsWith(`${DOMAIN}/`)));
    const marks: Manifest = {
      apiVersion,
      kind,
      metadata: {
        name,
        ...(namespace !== undefined && { namespace }),
        ...condition,
        labels: ours(metadata.labels),
        annotations: ours(metadata.annotations),
        ...(ownerReferences && { ownerReferences }),
      },
    };
    const fieldManager = markManagerOf(this.options.fieldManager);
    await this.options.store.write(resource, metadata, undefined, () =>
      client.apply(resource, marks, { fieldManager, force: true }),
    );
    return "patched";
  }

  /** Releases what a former name of the operator applied, so that fields that are no longer applied are removed. */
  private async releaseFormer(
    { resource, manifest }: DesiredChild,
    object: KubernetesObject,
    { client }: WriteScope,
  ): Promise<void> {
    const { store, formerManagers } = this.options;
    if (!formerManagers.some((manager) => applyEntry(object, manager))) return;
    await store.write(resource, manifest.metadata, manifest, async () => ({
      object: await releaseFormer(client, resource, object, formerManagers),
    }));
  }

  /** Whether an object with the child's name must be adopted. @throws ReconcileFailure if it must not be touched */
  private mustAdopt(found: KubernetesObject, child: DesiredChild): boolean {
    const conflict = conflictWith(found, child.ownerUid, this.options.ownerKind, this.managers);
    if (conflict) {
      throw new ReconcileFailure(
        "ChildConflict",
        `${nameOf(child)} is not ours: ${conflict}. ${remedyFor(found, this.managers)}`,
        // It belongs to a custom resource that was deleted and created again. The garbage collector will soon remove it.
        belongsToPredecessor(found, child) ? { retryAfterSeconds: 1 } : {},
      );
    }
    return !found.metadata.managedFields?.some(({ manager = "" }) => this.managers.includes(manager));
  }

  /**
   * Deletes a child that cannot be changed, and creates it again. First the API server must have said that it would accept
   * the new one. If somebody else's finalizer keeps the old child, the new one is created when the old one is gone.
   */
  private async recreate(
    child: DesiredChild,
    uid: string,
    refused: ApiError,
    scope: WriteScope,
  ): Promise<ChildVerb> {
    const { client } = scope;
    const { resource, manifest } = child;
    const trial = {
      ...manifest,
      metadata: { ...manifest.metadata, name: trialName(manifest.metadata.name) },
    };
    await client.create(resource, trial, { dryRun: true }).catch(() => {
      throw refused;
    });
    await this.options.store.write(resource, manifest.metadata, undefined, async () => {
      await client.delete(resource, manifest.metadata, { uid });
      return { object: undefined };
    });
    const condition = { resourceVersion: MUST_NOT_EXIST };
    try {
      await this.send(child, condition, scope);
      return "recreated";
    } catch (error) {
      if (!isApiError(error, 409)) throw error;
      const there = await client.get(resource, manifest.metadata);
      if (there?.metadata.uid === uid) return "deleted";
      if (there) throw error;
      // It has gone between the two requests.
      await this.send(child, condition, scope);
      return "recreated";
    }
  }
}

/** Whether an object has the label by which our watches find it. */
function isLabelled({ metadata }: KubernetesObject, { manifest }: DesiredChild): boolean {
  return metadata.labels?.[CHILD_OF_LABEL] === manifest.metadata.labels?.[CHILD_OF_LABEL];
}

/** Whether a write failed because the object of that name is another one, or has another version, than we expected. */
function isAnotherObject(error: unknown): boolean {
  if (isApiError(error, 409)) return true;
  return (
    isApiError(error, 422) &&
    (error.status.details?.causes ?? []).some(({ field }) => field === "metadata.uid")
  );
}

/** What to do about an object in the way. If an operator of Argosy applied it, that may be this one under a former name. */
function remedyFor(found: KubernetesObject, managers: readonly string[]): string {
  const former = found.metadata.managedFields
    ?.filter(({ manager = "" }) => !managers.includes(manager))
    .filter(({ manager = "" }) => manager.startsWith(MANAGER_PREFIX))
    .map(({ manager = "" }) => manager.slice(MANAGER_PREFIX.length))
    .find((identity) => identity !== "" && !identity.includes("/"));
  const adopt = `Rename or delete it, or annotate it ${ADOPT_ANNOTATION}=true to hand it over.`;
  return former === undefined
    ? adopt
    : `If this operator was called ${former} before, add that to "formerNames" in its definition. Otherwise: ${adopt}`;
}

/** A name that is as valid as the child's own, and free. */
function trialName(name: string): string {
  return `${name.slice(0, 40).replace(/[^a-z0-9]+$/, "")}-${fingerprint(name)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, "")
    .slice(0, 8)}`;
}

function describe(verb: ChildVerb, { kind }: Resource, { namespace, name }: Manifest["metadata"] | Child) {
  return { verb, kind, namespace, name };
}

function nameOf({ manifest }: DesiredChild): string {
  return `${manifest.kind} ${formatName(manifest.metadata)}`;
}

/** Whether an object belongs to another custom resource of the same kind and name as the child's. */
function belongsToPredecessor(found: KubernetesObject, { manifest }: DesiredChild): boolean {
  const [ours] = manifest.metadata.ownerReferences ?? [];
  const theirs = found.metadata.ownerReferences?.find(({ controller }) => controller);
  return ours !== undefined && theirs?.kind === ours.kind && theirs.name === ours.name;
}

/** What to do if the runner has no rights in a namespace that the operator lists. */
export const GRANT_REMEDY =
  "The namespace was probably deleted and created again, which took the runner's RoleBinding along: run `pulumi up --refresh`.";

/** The API server's refusal of a child, as a failure that the author can act on. Undefined for any other error. */
function refusal(
  error: unknown,
  child: DesiredChild,
  scope: WriteScope,
  { isNamespaced }: ChildWriterOptions,
): ReconcileFailure | undefined {
  if (!(error instanceof ApiError) || isBusy(error)) return undefined;
  if (![400, 403, 404, 413, 422, 500].includes(error.code)) return undefined;
  const { namespace } = child.manifest.metadata;
  // The object is deleted with its own namespace. Nothing is reported about it.
  if (isNamespaceTerminating(error) && namespace === scope.namespace) return undefined;
  if (
    isNamespaced &&
    namespace !== undefined &&
    error.code === 403 &&
    /\bcannot \w+ resource\b/.test(error.message)
  ) {
    return new ReconcileFailure("NamespaceNotGranted", `${error.message}. ${GRANT_REMEDY}`, { cause: error });
  }
  const isImmutable =
    child.update === "apply" &&
    error.code === 422 &&
    /immutable|may not change|are forbidden/.test(error.message);
  const remedy = isImmutable
    ? ` Declare update: recreate or never for ${child.resource.kind} in operator.yaml.`
    : "";
  const message = `the API server refused ${nameOf(child)}: ${error.message}.${remedy}`;
  return new ReconcileFailure("ChildRefused", message, { cause: error });
}
