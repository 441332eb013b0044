// Children that no watch shows or no owner reference covers.
import { ReconcileFailure } from "../base/failure";
import { OWNER_UID_LABEL } from "../base/names";
import { formatName, type KubernetesObject } from "../base/objects";
import { isListed, isSameKind, kindKey, kindOfKey, type Resource, scopesOf } from "../base/resource";
import type { KubernetesClient } from "../kubernetes/client";
import { discoverObjects } from "../kubernetes/discovery";
import { ifRefused, isApiError, isRightMissing } from "../kubernetes/errors";
import { lookAtNamespace } from "../kubernetes/namespaces";
import type { Child, ChildStore } from "../observe/childStore";
import { childSelectorOf } from "../observe/marks";
import { canReference, isStrippedChildOf, type RememberedPlaces } from "../observe/ownership";
import type { Operator } from "../operator/definition";
import type { ChildChange, ChildWriter } from "./childWriter";
import { deleteInOrder, isOrdered, isOrphaning } from "./deletionOrder";
import { kindNotGranted, namespacesLeft } from "./refusals";

/** A child that has lost one of the marks that name its owner. */
interface Stripped {
  readonly resource: Resource;
  readonly namespace: string | undefined;
  readonly found: KubernetesObject;
}

/** Where {@link Sweep} lists children of a kind, and what else it finds there. */
interface LearnOptions {
  /** The namespaces. Undefined: all of them, or the kind has none. @default all that the operator lists */
  readonly scopes?: (resource: Resource) => readonly (string | undefined)[];
  /**
   * Called for each listed object: those with the owner's uid label, and children of the operator without any uid label.
   * `isStrippedChildOf` decides.
   */
  readonly onStripped?: (found: KubernetesObject, resource: Resource) => void;
  /** Called with the reason why we may not list in a namespace. @default that is an error */
  readonly onUngranted?: (failure: ReconcileFailure, namespace: string | undefined) => void;
}

/**
 * Finds and deletes children that no watch shows or no owner reference covers: those of kinds that the operator no longer
 * declares, and those in other namespaces than their owner's. Before an object goes, it also deletes those that go in an order.
 *
 * Guarantees, each with a test in tests/unit/sweep.test.ts:
 * - Only children that we applied are deleted, whatever labels others write. One of the two marks that name the owner of a child
 *   elsewhere may be lost.
 * - If a child may be left, the sweep throws or says so, so that the finalizer stays. The deletions until then are in `changes`.
 */
export class Sweep {
  constructor(
    private readonly options: {
      readonly operator: Operator;
      /** The kinds of `operator.children` as the API serves them. */
      readonly childResources: readonly Resource[];
      readonly children: ChildStore;
      readonly writer: ChildWriter;
    },
  ) {}

  /** The remembered kinds that the operator no longer declares in any version. */
  private undeclared(remembered: readonly string[]): string[] {
    return remembered.filter((kind) => !this.isDeclared(kind));
  }

  /** The declared kinds, and the others of an object. @param remembered the kinds of the object's children */
  listed(remembered: readonly string[]): string[] {
    return [...this.options.childResources.map(kindKey), ...this.undeclared(remembered)];
  }

  /**
   * Deletes the object's children of kinds that are no longer declared.
   * @param remembered the kinds of the object's children, by the engine's memory
   * @param changes gets each deletion when it is done
   * @returns the kinds of which children may be left, because the runner has no right to list or delete them any more, each with a
   *   failure `ChildRefused` that names the remedy. The run goes on without these kinds: the memory may be forged, or copied from
   *   another object
   */
  async deleteUndeclared(
    client: KubernetesClient,
    object: KubernetesObject,
    remembered: readonly string[],
    changes: ChildChange[],
  ): Promise<ReadonlyMap<string, ReconcileFailure>> {
    const failures = new Map<string, ReconcileFailure>();
    for (const kind of this.undeclared(remembered)) {
      const resource = await this.learn(client, kind, object, {
        onUngranted: (failure) => failures.set(kind, failure),
      });
      if (!resource) continue;
      const left = this.left(object, (child) => isSameKind(kindKey(child.resource), kind));
      const kept = await this.deleteEach(client, object, left, changes);
      if (kept) failures.set(kind, kindNotGranted(resource));
    }
    return failures;
  }

  /**
   * Deletes the children that no owner reference covers. They are listed, and not only taken from the store: a child that a former
   * leader created a moment ago may not be in the store yet, and would never be deleted later. The store drops a child that has
   * lost one of the marks that name its owner. The mark is not put back while the owner is paused, or is being deleted.
   * @returns why children may be left: we have no rights to them. Undefined if none can be left
   */
  async deleteElsewhere(
    client: KubernetesClient,
    object: KubernetesObject,
    { kinds: remembered, namespaces = [] }: RememberedPlaces,
    changes: ChildChange[],
  ): Promise<ReconcileFailure | undefined> {
    const { children, operator } = this.options;
    const isFar = (namespace: string | undefined) => !canReference(object, namespace);
    const left = new Set<string>();
    const stripped: Stripped[] = [];
    let ungranted: ReconcileFailure | undefined;
    for (const kind of this.listed(remembered)) {
      await this.learn(client, kind, object, {
        scopes: (resource) => scopesOf(operator.namespaces, resource).filter(isFar),
        onStripped: (found, resource) => {
          const { namespace } = found.metadata;
          if (isFar(namespace) && isStrippedChildOf(found, object, children.managers))
            stripped.push({ resource, namespace, found });
        },
        onUngranted: (failure, namespace) => {
          if (namespace === undefined || !this.isDeclared(kind)) ungranted ??= failure;
          else left.add(namespace);
        },
      });
    }
    const far = this.left(object, ({ namespace }) => isFar(namespace));
    const kept = await this.deleteEach(client, object, [...stripped, ...far], changes);
    if (kept) {
      const { resource, namespace } = kept.child;
      const where = operator.namespaces === "all" ? undefined : namespace;
      ungranted ??= kindNotGranted(resource, where, this.isDeclared(kindKey(resource)));
    }
    for (const namespace of namespaces)
      if (!isListed(operator.namespaces, namespace) && !(await isGoing(client, namespace)))
        left.add(namespace);
    return ungranted ?? (left.size > 0 ? namespacesLeft([...left], operator.namespaces) : undefined);
  }

  /**
   * Deletes those of an object's children that follow others, each when none that follows it is left. Children that follow none go
   * afterwards, as without an order.
   *
   * Caveat: they are those that the watches show. A child that a former leader created a moment before goes with the object.
   * @param isFollowed whether a watch shows when a child is gone
   * @param changes gets each deletion when it is done
   * @returns those that still exist, each being deleted or waiting for another one
   * @throws ReconcileFailure \`ChildRefused\` if one cannot be deleted
   */
  async deleteInOrder(
    client: KubernetesClient,
    object: KubernetesObject,
    isFollowed: (child: Child) => boolean,
    changes: ChildChange[],
  ): Promise<readonly Child[]> {
    const { children, operator } = this.options;
    const isToGo = (child: Child) =>
      isOrdered(child) &&
      isFollowed(child) &&
      this.isDeclared(kindKey(child.resource)) &&
      isListed(operator.namespaces, child.namespace) &&
      !(isOrphaning(object) && canReference(object, child.namespace));
    const left = () => children.of(object.metadata.uid).filter(isToGo);
    return deleteInOrder(left, async (next) => {
      const kept = await this.deleteEach(client, object, next, changes, true);
      if (kept) throw kept.failure;
    });
  }

  /**
   * Deletes all children of an object that is no longer watched, whether the object still exists or not. Children that name an
   * owner of another name are not this object's, even if they have its uid.
   * @param isEach whether children of declared kinds are listed too, because no watch shows them
   */
  async deleteAll(
    client: KubernetesClient,
    object: KubernetesObject,
    { kinds, elsewhere }: RememberedPlaces,
    isEach: boolean,
    changes: ChildChange[],
  ): Promise<void> {
    const { operator } = this.options;
    const { namespace } = object.metadata;
    for (const kind of isEach ? this.listed(kinds) : this.undeclared(kinds)) {
      const scopes = (resource: Resource) => {
        const isHere = resource.namespaced && namespace !== undefined && !elsewhere;
        return isHere ? [namespace] : scopesOf(operator.namespaces, resource);
      };
      await this.learn(client, kind, object, { scopes });
    }
    const isIts = ({ facts }: Child) => formatName(facts.owner) === formatName(object.metadata);
    const kept = await this.deleteEach(client, object, this.left(object, isIts), changes);
    if (kept) throw kept.failure;
  }

  /** Those of an object's known children that are meant, and that are not being deleted. */
  private left({ metadata: { uid } }: KubernetesObject, isMeant: (child: Child) => boolean): Child[] {
    return this.options.children.of(uid).filter((child) => !child.deleting && isMeant(child));
  }

  /**
   * Deletes all of these children. If the API server refuses to delete one, the others are still deleted. One in a namespace that is
   * being deleted or is gone counts as deleted: our rights there go first, and perhaps no watch showed that the child went.
   * @param changes gets each deletion when it is done
   * @param isAwaited whether others wait until they are gone. @default false
   * @returns the first one that may not be deleted. Undefined if there is none
   * @throws the first refusal for another reason than a missing right, after the others were deleted, and any other error at once
   */
  private async deleteEach(
    client: KubernetesClient,
    object: KubernetesObject,
    children: readonly (Child | Stripped)[],
    changes: ChildChange[],
    isAwaited = false,
  ): Promise<{ readonly child: Child | Stripped; readonly failure: ReconcileFailure } | undefined> {
    const { writer } = this.options;
    let kept: { child: Child | Stripped; failure: ReconcileFailure } | undefined;
    let refusal: ReconcileFailure | undefined;
    for (const child of children) {
      try {
        const change = await ("found" in child
          ? writer.deleteStripped(child.resource, child.found, object, { client })
          : writer.delete(child, { client }, isAwaited));
        if (change) changes.push(change);
      } catch (error) {
        if (!(error instanceof ReconcileFailure)) throw error;
        if (!isRightMissing(error.cause)) refusal ??= error;
        else if (child.namespace === undefined || !(await isGoing(client, child.namespace)))
          kept ??= { child, failure: error };
      }
    }
    if (refusal) throw refusal;
    return kept;
  }

  /**
   * Lists the object's children of a kind, by the label with its uid: in the declared version, or else in one that the API server
   * serves. If no watch shows the kind, it also forgets those that are gone.
   * @param kind as `kindKey` gives it
   * @returns how the API server serves the kind. Undefined if it does not, so that none is left
   */
  private async learn(
    client: KubernetesClient,
    kind: string,
    object: KubernetesObject,
    how: LearnOptions = {},
  ): Promise<Resource | undefined> {
    const { childResources, operator } = this.options;
    const { scopes = (resource) => scopesOf(operator.namespaces, resource) } = how;
    const listIn = (resource: Resource) => this.list(client, resource, object, scopes(resource), how);
    const declared = childResources.find((each) => kindKey(each) === kind);
    const isServed = declared && (await listIn(declared).then(() => true, ifRefused(404, false)));
    if (isServed) return declared;
    const named = kindOfKey(kind);
    const served = await discoverObjects(client, named.apiVersion, named.kind);
    if (served) await listIn(served);
    else this.forgetGone(object.metadata.uid, kind, undefined);
    return served;
  }

  /**
   * Lists the object's children of a kind in these namespaces.
   * @throws ApiError 404 if the API server does not serve this version of the kind
   */
  private async list(
    client: KubernetesClient,
    resource: Resource,
    object: KubernetesObject,
    scopes: readonly (string | undefined)[],
    { onStripped, onUngranted }: LearnOptions,
  ): Promise<void> {
    const { children, operator } = this.options;
    const { uid } = object.metadata;
    const labelSelector = `${OWNER_UID_LABEL}=${uid}`;
    const withoutUid = `${childSelectorOf(operator)},!${OWNER_UID_LABEL}`;
    for (const namespace of scopes) {
      const there = new Set<string>();
      try {
        await client.list(resource, { labelSelector, namespace }, (items) => {
          children.learn(resource, items, uid);
          for (const item of items) {
            there.add(item.metadata.uid);
            onStripped?.(item, resource);
          }
        });
        this.forgetGone(uid, kindKey(resource), namespace, there);
        if (onStripped)
          await client.list(resource, { labelSelector: withoutUid, namespace }, (items) => {
            for (const item of items) onStripped(item, resource);
          });
      } catch (error) {
        if (!isApiError(error, 403)) throw error;
        // The content of a namespace that is being deleted goes anyway, and our rights in the namespace go first.
        if (namespace !== undefined && (await isGoing(client, namespace))) continue;
        const failure = kindNotGranted(resource, namespace, this.isDeclared(kindKey(resource)));
        if (!onUngranted) throw failure;
        onUngranted(failure, namespace);
      }
    }
  }

  /** Forgets an owner's children of a kind that no watch shows, and that a list did not have. @param namespace undefined: any */
  private forgetGone(
    ownerUid: string,
    kind: string,
    namespace: string | undefined,
    there: ReadonlySet<string> = new Set(),
  ): void {
    const { children, childResources } = this.options;
    if (childResources.some((each) => kindKey(each) === kind)) return;
    for (const child of children.of(ownerUid)) {
      const isHere = namespace === undefined || child.namespace === namespace;
      const isOfKind = isSameKind(kindKey(child.resource), kind);
      if (isOfKind && isHere && !there.has(child.uid)) children.forget(child);
    }
  }

  /** Whether the operator declares a kind, in whatever version. */
  private isDeclared(kind: string): boolean {
    return this.options.childResources.some((each) => isSameKind(kindKey(each), kind));
  }
}

async function isGoing(client: KubernetesClient, name: string): Promise<boolean> {
  return ["going", "gone"].includes(await lookAtNamespace(client, name));
}
